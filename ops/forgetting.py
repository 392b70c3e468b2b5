"""Ledger rows of a target or a source that is no longer in cdk.json: exported, then removed."""

import base64
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from functions.core.names import CONTROL_PREFIX, tenant_item
from ops.frame import Noun
from ops.output import Answer, UsageError, progress
from ops.proposal import Proposal

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("State")

Item = dict[str, Any]


class Forgotten(Answer):
    """What was removed from the ledger, and where it was written before."""

    what: str
    rows: int
    file: str | None

    def view(self) -> Iterable[str]:
        if self.file is None:
            return [f"the ledger has no row of {self.what}"]
        return [f"{self.rows} rows of {self.what} removed; they are in {self.file}"]


@NOUN.change_command(
    click.Option(["--target"], metavar="NAME", help="The target that is gone."),
    click.Option(["--source"], metavar="NAME", help="The source that is gone."),
    click.Option(
        ["--export"],
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Where the rows are written first; left out: forgotten-NAME.jsonl in this folder.",
    ),
    asks=True,
    examples=[
        "forget --target old --stage prod",
        "forget --source drafts --export drafts.jsonl --stage prod",
    ],
)
def forget(
    deployment: "Deployment",
    *,
    target: str | None = None,
    source: str | None = None,
    export: Path | None = None,
) -> Proposal[Forgotten]:
    """Remove the ledger rows of a target or source that is no longer in cdk.json."""
    what = _described(deployment, target, source)
    counts = Counter(
        str(item["status"]["S"]) if "status" in item else "breakers"
        for item in _items(deployment, target, source)
    )
    rows = counts.total()
    name = "-".join(filter(None, [target, source]))
    file = export or Path(f"forgotten-{name}.jsonl")
    if rows and file.exists():
        raise UsageError(f"{file} exists: name another file with --export")
    states = ", ".join(f"{number} {state}" for state, number in sorted(counts.items())) or "none"
    doing = f"write the rows of {what} ({states}) to {file}, and remove them"

    def act() -> Forgotten:
        if not rows:
            return Forgotten(what=what, rows=0, file=None)
        keys = _export(file, _items(deployment, target, source))
        _remove(deployment, keys)
        return Forgotten(what=what, rows=len(keys), file=str(file))

    return Proposal(doing, rows, act, (f"{doing[:1].upper()}{doing[1:]}?",) if rows else ())


def _described(deployment: "Deployment", target: str | None, source: str | None) -> str:
    """Name what is to be forgotten; what is deployed is not."""
    if not target and not source:
        raise UsageError("which one? name it with --target or --source")
    named = [f"target {target}"] if target else []
    what = " and ".join(named + ([f"source {source}"] if source else []))
    for one, fed_by in deployment.pairs:
        if target in (None, one) and source in (None, fed_by):
            raise UsageError(
                f"{what} is deployed: its rows are in use. First remove it from cdk.json, and"
                " deploy"
            )
    return what


def _items(deployment: "Deployment", target: str | None, source: str | None) -> Iterator[Item]:
    """Read the whole ledger: rows of completed documents are in no index."""
    pages = deployment.client("dynamodb").get_paginator("scan")
    for page in pages.paginate(TableName=deployment.outputs["LedgerTable"], ConsistentRead=True):
        yield from (item for item in page["Items"] if _is_of(item, target, source))


def _is_of(item: Item, target: str | None, source: str | None) -> bool:
    key: str = item["row_key"]["S"]
    first, _, rest = key.partition("/")
    if first == CONTROL_PREFIX:
        # The breakers of a target and what its tenants spent go with it; others are the sweep's.
        is_of = rest == target or rest.startswith(tenant_item(target or "", ""))
        return source is None and target is not None and is_of
    return target in (None, first) and source in (None, rest.partition("/")[0])


def _export(file: Path, items: Iterable[Item]) -> list[str]:
    """Write each item as DynamoDB spells it, one a line, and only then return their keys."""
    keys = []
    with file.open("x", encoding="utf-8") as lines:
        for item in items:
            lines.write(json.dumps(item, ensure_ascii=False, default=_encoded) + "\n")
            keys.append(item["row_key"]["S"])
        lines.flush()
        os.fsync(lines.fileno())
    return keys


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _remove(deployment: "Deployment", keys: Sequence[str]) -> None:
    resource = deployment.session.resource("dynamodb", endpoint_url=deployment.endpoint_url)
    with resource.Table(deployment.outputs["LedgerTable"]).batch_writer() as writer:
        for key in progress(keys, "removing"):
            writer.delete_item(Key={"row_key": key})
