"""A table that is full before the stack: filled in while an application writes and functions die.

Items are written while no stream is read. Then a backfill brings them into the index, beside live
writes, with its function (and embed, if asked for) killed now and then. Every document must be
there once, paid once, and live writes must be about as fresh as without a backfill. In the end
entries are damaged in every way that verify knows, found, and mended. Exit code 1 if not.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.load import BATCH_WRITE_LIMIT, percentile
from functions.adapters.dynamodb_values import to_dynamodb
from functions.adapters.opensearch_http import OpenSearchHttp, segment
from functions.core.backfill_job import JobState, Only
from functions.core.batches import batches
from functions.core.identity import DocumentId, entry_id, row_key
from functions.core.ledger_row import Group, LedgerRow
from functions.core.verification import Kind
from local.specs import FunctionSpec, StackSpec
from local.stack import LocalStack, local_stack
from ops.backfilling import start
from ops.demo.provider import Provider
from ops.deployment import Deployment
from ops.estimate import estimate
from ops.jobs import list_jobs
from ops.stack import local_deployment
from ops.verification import comparison, pairs, verify

DIMENSIONS = 64
LOOK_SECONDS = 1.0
STALL_SECONDS = 600.0
KILL_EVERY_SECONDS = 4.0
DAMAGED_OF_EACH_KIND = 5
WORDS = 40
MAX_PAID_SHARE = 1.02
MAX_FRESHNESS_SHARE = 1.5


class StalledError(Exception):
    """Nothing moved for a long time."""


@dataclass
class LiveWrites:
    """An application that writes at a steady rate, and how fresh its documents were."""

    deployment: Deployment
    per_second: float
    written_ms: dict[str, int] = field(default_factory=dict)

    def go_on_while(self, goes_on: Callable[[], bool], prefix: str) -> None:
        """Write new documents as long as it is asked for."""
        client = self.deployment.client("dynamodb")
        table = self.deployment.source(None).table
        began = time.monotonic()
        number = 0
        while goes_on():
            name = f"{prefix}-{number:06}"
            self.written_ms[name] = time.time_ns() // 1_000_000
            client.put_item(TableName=table, Item=_item(name))
            number += 1
            time.sleep(max(0.0, began + number / self.per_second - time.monotonic()))

    def freshness_seconds(self, prefix: str) -> list[float]:
        """Return how long each write took from the table to the index."""
        names = [name for name in self.written_ms if name.startswith(prefix)]
        rows = _rows(self.deployment, names)
        return [
            ((row.outcome.completed_ms or 0) - self.written_ms[row.task.document_id]) / 1000
            for row in rows
        ]


@dataclass(frozen=True)
class Figures:
    """What a run came to."""

    documents: int
    live: int
    seconds: float
    backfill_kills: int
    embed_kills: int
    chunks: int
    paid: int
    p95_before: float
    p95_meanwhile: float
    searchable: int
    sent: int
    differences: int
    planted: dict[str, int]
    found: dict[str, int]
    left: int
    verify_seconds: float
    verify_megabytes: float

    def mistakes(self) -> Iterator[str]:
        """Name everything that must not be."""
        if self.searchable != self.documents + self.live:
            yield f"{self.searchable:,} of {self.documents + self.live:,} documents can be found"
        most = self.chunks * (MAX_PAID_SHARE if self.embed_kills else 1)
        if self.paid > most:
            yield f"{self.paid:,} inputs were paid for {self.chunks:,} chunks"
        if self.p95_meanwhile > MAX_FRESHNESS_SHARE * self.p95_before:
            yield "live writes were not fresh enough"
        if self.differences:
            yield f"{self.differences} documents differ after the backfill"
        if self.found != self.planted:
            yield "verify did not find what was planted"
        if self.left:
            yield f"{self.left} documents differ after the repair"

    def lines(self) -> Iterator[str]:
        """Write the figures for people."""
        rate = self.documents / self.seconds
        share = self.paid / self.chunks
        yield f"{self.documents:,} old items, {self.live:,} live writes meanwhile"
        yield f"  backfill    {self.seconds:.0f} s, {rate:.0f} documents/s, {self.sent:,} sent"
        yield f"  kills       {self.backfill_kills} of backfill, {self.embed_kills} of embed"
        yield f"  provider    {self.paid:,} inputs for {self.chunks:,} chunks: {share:.4f}"
        yield f"  freshness   p95 {self.p95_before:.2f} s without, {self.p95_meanwhile:.2f} s with"
        yield f"  searchable  {self.searchable:,}, differences {self.differences}"
        yield f"  damage      planted {sum(self.planted.values())}: {self.planted}"
        yield f"              found   {sum(self.found.values())}: {self.found}"
        yield f"              left after the repair {self.left}"
        yield f"  verify      {self.verify_seconds:.0f} s, {self.verify_megabytes:.1f} MB at most"
        yield from (f"WRONG: {one}" for one in self.mistakes())


def run(stack: LocalStack, chosen: argparse.Namespace) -> Figures:
    """Fill the table, then read the stream, backfill beside live writes, and compare."""
    deployment = local_deployment(stack.endpoint_url)
    provider = Provider(stack.model_origin)
    names = [f"old-{number:06}" for number in range(chosen.documents)]
    _fill(deployment, names)
    _say(f"{len(names):,} items written; no stream was read")
    [mapping] = [one.mapping_id for one in stack.spec.stream_mappings]
    stack.runner.set_enabled(mapping, True)
    live = LiveWrites(deployment, chosen.writes)
    _first_write(deployment, live)
    end = time.monotonic() + chosen.before_seconds
    live.go_on_while(lambda: time.monotonic() < end, "before")
    _until_idle(deployment)
    p95_before = percentile(live.freshness_seconds("before"), 95)
    _say(f"freshness without a backfill: p95 {p95_before:.2f} s")

    [pair] = pairs(deployment, None, None)
    found = estimate(comparison(deployment, pair), Only.MISSING)
    _say(f"estimate: {found}")
    began = time.monotonic()
    start(deployment, pair, Only.MISSING, found, reason="benchmark")
    is_over = threading.Event()
    writer = threading.Thread(
        target=live.go_on_while, args=(lambda: not is_over.is_set(), "meanwhile")
    )
    kills = Kills(stack, {"backfill": chosen.kills, "embed": chosen.embed_kills}, is_over)
    writer.start()
    kills.start()
    try:
        _until_done(deployment)
        _until_idle(deployment)
        seconds = time.monotonic() - began
    finally:
        is_over.set()
        writer.join()
        kills.join()
    rows = _ended(deployment, [*names, *live.written_ms])
    _say(f"all sent and worked after {seconds:.0f} s")
    [job] = list_jobs(deployment).jobs
    figures = Figures(
        documents=len(names),
        live=len(live.written_ms),
        seconds=seconds,
        backfill_kills=kills.done["backfill"],
        embed_kills=kills.done["embed"],
        chunks=sum(row.indexed.chunks_total for row in rows),
        paid=provider.chunks_paid(),
        p95_before=p95_before,
        p95_meanwhile=percentile(live.freshness_seconds("meanwhile"), 95),
        sent=job.sent,
        searchable=_searchable(deployment),
        differences=sum(verify(deployment).counts.values()),
        planted={},
        found={},
        left=0,
        verify_seconds=0,
        verify_megabytes=0,
    )
    return _damaged(stack, deployment, names, figures)


def _damaged(
    stack: LocalStack, deployment: Deployment, names: Sequence[str], figures: Figures
) -> Figures:
    """Damage entries in every way, let verify find them, and mend them."""
    planted = damage(stack, deployment, names, random.Random(1))
    tracemalloc.start()
    began = time.monotonic()
    found = verify(deployment)
    seconds = time.monotonic() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    repaired = verify(deployment, repair=True, yes=True)
    _say(f"{repaired.sent} sent again")
    _until_idle(deployment)
    seen = {one.document: str(one.kind) for one in found.differences}
    right = {name for name, kind in planted.items() if seen.get(name) == kind}
    return replace(
        figures,
        planted=_counted(planted.values()),
        found=_counted(kind for name, kind in seen.items() if name in right)
        | ({"wrong": len(seen) - len(right)} if len(seen) > len(right) else {}),
        left=sum(verify(deployment).counts.values()),
        verify_seconds=seconds,
        verify_megabytes=peak / 1_000_000,
    )


def damage(
    stack: LocalStack, deployment: Deployment, names: Sequence[str], chance: random.Random
) -> dict[str, str]:
    """Spoil some entries behind the stack's back; return which, and how."""
    source, target = deployment.source(None), deployment.target(None)
    http = OpenSearchHttp(stack.opensearch_url, credentials=None, region="none")
    kinds = [kind for kind in Kind for _ in range(DAMAGED_OF_EACH_KIND)]
    planted = dict(zip(chance.sample(names, len(kinds)), kinds, strict=True))
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


class Kills(threading.Thread):
    """Kills functions in the middle of their work, so many times each."""

    def __init__(self, stack: LocalStack, wanted: dict[str, int], is_over: threading.Event) -> None:
        super().__init__()
        self._stack = stack
        self._wanted = wanted
        self._is_over = is_over
        self._chance = random.Random(0)
        self.done = dict.fromkeys(wanted, 0)

    def run(self) -> None:
        """Kill now and then, until all is over."""
        while not self._is_over.wait(KILL_EVERY_SECONDS):
            for folder, wanted in self._wanted.items():
                if self.done[folder] < wanted:
                    self.done[folder] += self._kill(folder)

    def _kill(self, folder: str) -> bool:
        """Wait for a run in the middle of its work; tell whether it was ended."""
        deadline = time.monotonic() + KILL_EVERY_SECONDS
        before = self._stack.runner.killed_invocations
        while time.monotonic() < deadline and not self._is_over.is_set():
            if self._stack.runner.kill_busy(folder, self._chance):
                time.sleep(1)
                return self._stack.runner.killed_invocations > before
            time.sleep(0.02)
        return False


def quick_to_notice(spec: StackSpec, *, embed_seconds: int, backfill_seconds: int) -> StackSpec:
    """Begin without the stream, with runs whose crashes are noticed sooner."""
    timeouts = {"embed": embed_seconds, "backfill": backfill_seconds}
    return replace(
        spec,
        functions=[
            replace(one, timeout_seconds=timeouts.get(one.folder, one.timeout_seconds))
            for one in spec.functions
        ],
        stream_mappings=[
            replace(one, enabled=False, starting_position="LATEST") for one in spec.stream_mappings
        ],
    )


def with_dimensions(spec: StackSpec, dimensions: int) -> StackSpec:
    """Ask for smaller vectors, everywhere: they are not what is measured."""
    asked = {"dimensions": dimensions, "send_dimensions": True}

    def changed(text: str) -> str:
        known = json.loads(text)
        several = isinstance(known, list)
        return json.dumps([{**one, **asked} for one in known] if several else {**known, **asked})

    def environment(function: FunctionSpec) -> dict[str, str]:
        names = () if function.folder == "breaker" else ("TARGET", "TARGETS")
        return {
            name: changed(value) if name in names else value
            for name, value in function.environment.items()
        }

    return replace(
        spec,
        functions=[replace(one, environment=environment(one)) for one in spec.functions],
        custom_resources=[{**one, "Dimensions": dimensions} for one in spec.custom_resources],
        outputs={
            name: changed(value) if name == "TargetDefaultSettings" else value
            for name, value in spec.outputs.items()
        },
    )


def _first_write(deployment: Deployment, live: LiveWrites) -> None:
    """Write until the stream is read for sure: the first records may be before its beginning."""
    for number in range(600):
        name = f"first-{number:03}"
        live.go_on_while(iter([True, False]).__next__, name)
        time.sleep(3 * LOOK_SECONDS)
        if _rows(deployment, [f"{name}-000000"]):
            break
        del live.written_ms[f"{name}-000000"]
        deployment.client("dynamodb").delete_item(
            TableName=deployment.source(None).table, Key={"id": {"S": f"{name}-000000"}}
        )


def _fill(deployment: Deployment, names: Sequence[str]) -> None:
    table = deployment.source(None).table
    client = deployment.client("dynamodb")
    for part in batches(names, BATCH_WRITE_LIMIT):
        left: Any = {table: [{"PutRequest": {"Item": _item(name)}} for name in part]}
        while left:
            left = client.batch_write_item(RequestItems=left)["UnprocessedItems"]


def _item(name: str) -> dict[str, Any]:
    words = random.Random(name)
    text = " ".join(f"word{words.randrange(5000)}" for _ in range(WORDS))
    return to_dynamodb({"id": name, "title": name, "body": text})


def _rows(deployment: Deployment, names: Sequence[str]) -> list[LedgerRow]:
    source, target = deployment.source(None).name, deployment.target(None).name
    keys = [row_key(target, source, DocumentId(name)) for name in names]
    return list(deployment.ledger.read(keys).values())


def _searchable(deployment: Deployment) -> int:
    target = deployment.target(None).name
    deployment.ask_index(target, "_refresh")
    return deployment.count_searchable(target)


def _until_done(deployment: Deployment) -> None:
    """Wait until the job has ended, and say how far it is."""
    said = moved = -1
    since = time.monotonic()
    while True:
        [job] = list_jobs(deployment).jobs
        if job.state is not JobState.RUNNING:
            return
        if job.scanned // 1000 != said:
            said = job.scanned // 1000
            _say(f"  {job.line}")
        if job.scanned != moved:
            moved, since = job.scanned, time.monotonic()
        elif time.monotonic() - since > STALL_SECONDS:
            raise StalledError(f"the backfill does not move: {job}")
        time.sleep(LOOK_SECONDS)


def _until_idle(deployment: Deployment) -> None:
    """Wait until no old document is open; live ones come and go."""
    fewest, since = 10**9, time.monotonic()
    while True:
        rows = [
            row
            for row in deployment.listed([Group.OPEN, Group.PARKED])
            if "/meanwhile-" not in row.row_key
        ]
        if not rows:
            return
        if len(rows) < fewest:
            fewest, since = len(rows), time.monotonic()
            _say(f"  {fewest:,} documents are open")
        elif time.monotonic() - since > STALL_SECONDS:
            raise StalledError(f"{len(rows)} documents stay open, such as {rows[0]}")
        time.sleep(LOOK_SECONDS)


def _ended(deployment: Deployment, names: Sequence[str]) -> list[LedgerRow]:
    """Wait until each of these documents has come to its end; return their rows."""
    end = time.monotonic() + STALL_SECONDS
    while True:
        rows = [row for row in _rows(deployment, names) if not row.status.is_open]
        if len(rows) == len(names):
            return rows
        if time.monotonic() > end:
            raise StalledError(f"{len(names) - len(rows)} documents do not come to an end")
        time.sleep(LOOK_SECONDS)


def _counted(kinds: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for kind in kinds:
        counts[str(kind)] = counts.get(str(kind), 0) + 1
    return dict(sorted(counts.items()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run on a stack of its own; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.backfill", description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=10, help="of the function backfill")
    parser.add_argument("--embed-kills", type=int, default=0)
    parser.add_argument("--writes", type=float, default=10.0, help="live ones, per second")
    parser.add_argument("--before-seconds", type=float, default=60.0)
    parser.add_argument("--dimensions", type=int, default=DIMENSIONS)
    chosen = parser.parse_args(arguments)

    def change(spec: StackSpec) -> StackSpec:
        quick = quick_to_notice(spec, embed_seconds=60, backfill_seconds=30)
        return with_dimensions(quick, chosen.dimensions)

    with tempfile.TemporaryDirectory() as name:
        # OpenSearch runs as a user of its own.
        Path(name).chmod(0o755)
        with local_stack(
            Path(name),
            log=_say,
            vectors="hashed",
            in_memory=True,
            change=change,
        ) as stack:
            figures = run(stack, chosen)
    for line in figures.lines():
        _say(line)
    return 1 if list(figures.mistakes()) else 0


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
