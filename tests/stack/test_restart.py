"""A stack on disk whose processes are killed in the middle of work: started again, it completes.

Queues live in memory here, so this shows that the ledger alone brings every open task back.
"""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import background
from local.engines.records import Record, read_record, wait_for
from local.model.faults import Fault, FaultKind
from ops.deployment import local_deployment
from ops.verification import differences
from tests.stack.articles import LIMIT_SECONDS, Articles, until

OWNER = "owner"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Return the folder of a stack that is down when the tests are over."""
    # Not pytest's own folder: OpenSearch's user could not enter it.
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
        background.down(folder=Path(name))


def up(folder: Path) -> Articles:
    """Start the stack, or find it."""
    running = background.up(lambda _: None, folder=folder, vectors="hashed")
    return Articles(local_deployment(running.endpoint_url), running.model_origin)


def record(folder: Path) -> Record:
    """Return who runs on the folder."""
    found = read_record(folder / background.ENGINES)
    assert found is not None
    return found


def kill(found: Record, victim: str) -> None:
    """Kill the whole stack's process, or one engine, and wait until it is gone."""
    engines = {one.name: one.engine for one in found.engines}
    process = found.owner if victim == OWNER else engines[victim]
    os.kill(process.pid, signal.SIGKILL)
    assert wait_for(lambda: not process.is_alive(), LIMIT_SECONDS)


@pytest.mark.parametrize("victim", [OWNER, "OpenSearch", "DynamoDB Local", "ElasticMQ"])
def test_work_goes_on_after_a_kill(folder: Path, victim: str) -> None:
    """R40 R48 R82: what was under way completes by itself, and the index equals the table."""
    articles = up(folder)
    done = articles.new_name("before")
    articles.indexed(done, "Indexed before the kill.")
    articles.break_provider(Fault(FaultKind.LATENCY, seconds=60))
    names = [articles.new_name("open") for _ in range(25)]
    for name in names:
        articles.put(name, f"A text of {name}.")
    until(lambda: len(articles.rows(names)) == len(names), "all are in the ledger")
    dying = record(folder)

    kill(dying, victim)
    if victim != OWNER:
        background.down(folder=folder)

    assert wait_for(lambda: not any(p.is_alive() for p in dying.processes()), LIMIT_SECONDS)
    articles = up(folder)
    articles.wait(*names)
    assert differences(articles.deployment) == []
