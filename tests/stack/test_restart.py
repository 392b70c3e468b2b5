"""A stack on disk whose processes are killed in the middle of work: started again, it completes.

Queues live in memory here, so this shows that the ledger alone brings every open task back.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from functions.core.ledger_row import Status
from local.provider.faults import Fault, FaultKind
from ops.verification import differences
from tests.stack.disk_stack import OWNER, DiskStack
from tests.waiting import until


@pytest.fixture(scope="module")
def disk_stack() -> Iterator[DiskStack]:
    """Return a stack on disk that is down when the tests are over."""
    # Not pytest's own folder: OpenSearch's user could not enter it.
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        found = DiskStack(Path(name))
        try:
            yield found
        finally:
            found.down()


def test_only_their_owner_reads_the_files_of_a_stack(disk_stack: DiskStack) -> None:
    """R82: documents, vectors and logs, also where another user runs an engine."""
    articles = disk_stack.up()
    articles.indexed(articles.new_name(), "A text for no other user.")

    assert disk_stack.open_to_others() == []


@pytest.mark.parametrize("victim", [OWNER, "OpenSearch", "DynamoDB Local", "ElasticMQ"])
def test_work_goes_on_after_a_kill(disk_stack: DiskStack, victim: str) -> None:
    """R31 R41 R82: what was under way completes, dead letters are back, at the same address."""
    articles = disk_stack.up()
    address = articles.deployment.endpoint_url
    articles.indexed(articles.new_name("before"), "Indexed before the kill.")
    rejected = articles.new_name("rejected")
    articles.put(rejected, {"not": "a text"})
    [given_up] = articles.wait(rejected, status=Status.FAILED)
    articles.break_provider(Fault(FaultKind.LATENCY, seconds=60))
    names = [articles.new_name("open") for _ in range(25)]
    for name in names:
        articles.put(name, f"A text of {name}.")
    until(lambda: sum(articles.depth("normal")) == len(names), "all are in the lane")
    until(lambda: Status.PROCESSING in {r.status for r in articles.rows(names)}, "work goes on")

    disk_stack.kill(victim)

    articles = disk_stack.up()
    articles.wait(*names)
    assert differences(articles.deployment) == []
    assert articles.deployment.endpoint_url == address
    # The queues were in memory; the dead letter is there again, untried, and knows its lane: a
    # text that cannot be read needs no provider, so that is a standard one.
    assert articles.row(rejected) == given_up
    _, standard = articles.deployment.dead_letter_urls(given_up.task.target)
    [letter] = articles.sqs.receive_message(
        QueueUrl=standard, MessageSystemAttributeNames=["DeadLetterQueueSourceArn"]
    )["Messages"]
    assert json.loads(letter["Body"])["document_id"] == rejected
    lane = articles.lane(given_up.task.queue).rpartition("/")[2]
    assert letter["Attributes"]["DeadLetterQueueSourceArn"].endswith(f":{lane}")
    articles.delete(rejected)
    articles.wait(rejected, status=Status.DELETED)
