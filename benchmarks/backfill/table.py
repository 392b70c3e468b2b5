"""The table of the benchmark: its items, their ledger rows, and waiting for them."""

import random
import time
from collections.abc import Sequence
from functools import cache
from typing import Any

from benchmarks.load import BATCH_WRITE_LIMIT
from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.backfill_job import JobState
from functions.core.batches import batches
from functions.core.identity import DocumentId, row_key
from functions.core.ledger_row import Group, LedgerRow
from ops.demo.corpus import fables
from ops.deployment import Deployment
from ops.jobs import list_jobs

LOOK_SECONDS = 1.0
STALL_SECONDS = 600.0
WORDS = 40
# Of live writes that go on while others are waited for.
MEANWHILE = "meanwhile"


class StalledError(Exception):
    """Nothing moved for a long time."""


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def fill(deployment: Deployment, names: Sequence[str]) -> None:
    table = deployment.source(None).table
    client = deployment.client("dynamodb")
    for part in batches(names, BATCH_WRITE_LIMIT):
        left: Any = {table: [{"PutRequest": {"Item": make_item(name)}} for name in part]}
        while left:
            left = client.batch_write_item(RequestItems=left)["UnprocessedItems"]


def make_item(name: str) -> dict[str, Any]:
    text = " ".join(random.Random(name).choices(_vocabulary(), k=WORDS))
    return to_dynamodb({"id": name, "title": name, "body": text})


@cache
def _vocabulary() -> list[str]:
    """Return words of real texts: of made-up ones nobody agrees how many tokens they are."""
    return sorted({word for fable in fables() for word in fable["body"].split()})


def rows_of(deployment: Deployment, names: Sequence[str]) -> list[LedgerRow]:
    source, target = deployment.source(None).name, deployment.target(None).name
    keys = [row_key(target, source, DocumentId(name)) for name in names]
    return list(deployment.ledger.read(keys).values())


def searchable(deployment: Deployment) -> int:
    target = deployment.target(None).name
    deployment.ask_index(target, "_refresh")
    return deployment.count_searchable(target)


def until_done(deployment: Deployment) -> None:
    """Wait until the job has ended, and say how far it is."""
    said = moved = -1
    since = time.monotonic()
    while True:
        [job] = list_jobs(deployment).jobs
        if job.state is not JobState.RUNNING:
            return
        if job.scanned // 1000 != said:
            said = job.scanned // 1000
            say(f"  {job.line}")
        if job.scanned != moved:
            moved, since = job.scanned, time.monotonic()
        elif time.monotonic() - since > STALL_SECONDS:
            raise StalledError(f"the backfill does not move: {job}")
        time.sleep(LOOK_SECONDS)


def until_idle(deployment: Deployment) -> None:
    """Wait until no old document is open; live ones come and go."""
    fewest, since = 10**9, time.monotonic()
    while True:
        rows = [
            row
            for row in deployment.listed([Group.OPEN, Group.PARKED])
            if f"/{MEANWHILE}-" not in row.row_key
        ]
        if not rows:
            return
        if len(rows) < fewest:
            fewest, since = len(rows), time.monotonic()
            say(f"  {fewest:,} documents are open")
        elif time.monotonic() - since > STALL_SECONDS:
            raise StalledError(f"{len(rows)} documents stay open, such as {rows[0]}")
        time.sleep(LOOK_SECONDS)


def ended(deployment: Deployment, names: Sequence[str]) -> list[LedgerRow]:
    """Wait until each of these documents has come to its end; return their rows."""
    end = time.monotonic() + STALL_SECONDS
    while True:
        rows = [row for row in rows_of(deployment, names) if not row.status.is_open]
        if len(rows) == len(names):
            return rows
        if time.monotonic() > end:
            raise StalledError(f"{len(names) - len(rows)} documents do not come to an end")
        time.sleep(LOOK_SECONDS)
