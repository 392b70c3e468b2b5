"""Entries spoiled behind the stack's back: found by verify or by the hourly proof, and mended."""

import json
import random
import time
import tracemalloc
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.backfill.figures import Mended
from benchmarks.backfill.table import LOOK_SECONDS, STALL_SECONDS, StalledError, say, until_idle
from functions.adapters.dynamodb_jobs import DynamoDbProofs
from functions.adapters.opensearch_http import OpenSearchHttp, segment
from functions.core.identity import DocumentId, entry_id
from functions.core.proof import SLICES_PER_DAY
from functions.core.verification import Kind
from local.stack import LocalStack
from ops.deployment import Deployment
from ops.local_logs import log_lines
from ops.verification import pairs, verify

DAMAGED_OF_EACH_KIND = 5
DRIFTED_OF_EACH_KIND = 1


def mended_by_verify(stack: LocalStack, deployment: Deployment, names: Sequence[str]) -> Mended:
    """Let verify find the damage, and mend it."""
    planted = damage(stack, deployment, names, DAMAGED_OF_EACH_KIND)
    tracemalloc.start()
    began = time.monotonic()
    found = verify(deployment)
    seconds = time.monotonic() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    repaired = verify(deployment, repair=True, yes=True)
    say(f"{repaired.sent} sent again")
    return Mended(
        by="verify",
        planted=_counted(planted.values()),
        found=_matching(planted, {one.document: str(one.kind) for one in found.differences}),
        left=_left(deployment),
        seconds=seconds,
        megabytes=peak / 1_000_000,
    )


def mended_by_proof(
    stack: LocalStack, deployment: Deployment, names: Sequence[str], folder: Path
) -> Mended:
    """Let the hours of a day pass: the proof finds the damage, and mends it without a person."""
    planted = damage(stack, deployment, names, DRIFTED_OF_EACH_KIND)
    [pair] = pairs(deployment, None, None)
    proofs = DynamoDbProofs(deployment.dynamodb, deployment.outputs["LedgerTable"])
    [function] = [one.name for one in stack.spec.functions if one.folder == "backfill"]
    began = time.monotonic()
    for _ in range(SLICES_PER_DAY):
        number = _slice(proofs, pair.name)
        stack.runner.invoke(function, json.dumps({"job": "proof"}).encode())
        _until_moved(proofs, pair.name, number)
        say(f"  slice {number} of {SLICES_PER_DAY} was compared")
    seconds = time.monotonic() - began
    lines = (json.loads(one.line) for one in log_lines(folder) if "document_drifted" in one.line)
    seen = {one["document_id"]: str(one["difference"]) for one in lines}
    return Mended(
        by="proof",
        planted=_counted(planted.values()),
        found=_matching(planted, seen),
        left=_left(deployment),
        seconds=seconds,
    )


def _slice(proofs: DynamoDbProofs, pair: str) -> int:
    known = proofs.read(pair)
    return 0 if known is None else known.number


def _until_moved(proofs: DynamoDbProofs, pair: str, number: int) -> None:
    end = time.monotonic() + STALL_SECONDS
    while _slice(proofs, pair) == number:
        if time.monotonic() > end:
            raise StalledError(f"slice {number} is not compared")
        time.sleep(LOOK_SECONDS / 10)


def _left(deployment: Deployment) -> int:
    until_idle(deployment)
    return sum(verify(deployment).counts.values())


def _matching(planted: Mapping[str, str], seen: Mapping[str, str]) -> dict[str, int]:
    """Count what was found as it was planted, by kind, and all else as wrong."""
    right = [kind for name, kind in seen.items() if planted.get(name) == kind]
    wrong = {"wrong": len(seen) - len(right)} if len(seen) > len(right) else {}
    return _counted(right) | wrong


def damage(
    stack: LocalStack, deployment: Deployment, names: Sequence[str], of_each: int
) -> dict[str, str]:
    """Spoil so many entries in each way; return which, and how."""
    source, target = deployment.source(None), deployment.target(None)
    http = OpenSearchHttp(stack.opensearch_url, credentials=None, region="none")
    kinds = [kind for kind in Kind for _ in range(of_each)]
    planted = dict(zip(random.Random(of_each).sample(names, len(kinds)), kinds, strict=True))
    changes: dict[Kind, dict[str, Any]] = {
        Kind.STALE: {"content_hash": "of another text", "check": 1},
        Kind.WRONG_MODEL: {"content_hash": "x", "check": 1, "model": "another"},
        Kind.WITHOUT_VECTORS: {"chunks": [{"text": "hello"}]},
        Kind.WRONG_VERSION: {"version_bits": 1},
    }
    result: dict[str, str] = {}
    for name, kind in planted.items():
        path = f"{segment(target.index)}/_doc/{segment(entry_id(source.name, DocumentId(name)))}"
        known = http.call("GET", path)
        if kind is Kind.MISSING:
            http.call("DELETE", path)
        elif kind is Kind.ORPHANED:
            # An entry of a document that no item has ever had.
            name = f"ghost-of-{name}"
            id_ = segment(entry_id(source.name, DocumentId(name)))
            body = {**known["_source"], "document_id": name}
            http.call("PUT", f"{segment(target.index)}/_doc/{id_}", body)
        else:
            query = {"version": str(known["_version"] + 1), "version_type": "external"}
            http.call("PUT", path, {**known["_source"], **changes[kind]}, query=query)
        result[name] = str(kind)
    return result


def _counted(kinds: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for kind in kinds:
        counts[str(kind)] = counts.get(str(kind), 0) + 1
    return dict(sorted(counts.items()))
