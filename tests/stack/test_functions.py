"""Functions and mappings of the real stack: killed, switched off and on again."""

from collections.abc import Iterator
from contextlib import contextmanager

from functions.core.ledger_row import Status
from local.provider.faults import Fault, FaultKind
from local.stack import LocalStack
from tests.stack.articles import Articles
from tests.stack.mappings import disabled


@contextmanager
def visibility(articles: Articles, lane: str, seconds: int) -> Iterator[None]:
    """Give what is received from a lane so long until it comes back."""
    url = articles.lane(lane)
    name = "VisibilityTimeout"
    before = articles.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"]
    articles.sqs.set_queue_attributes(QueueUrl=url, Attributes={name: str(seconds)})
    yield
    articles.sqs.set_queue_attributes(QueueUrl=url, Attributes=before)


def test_work_of_a_killed_function_is_done_again(articles: Articles, stack: LocalStack) -> None:
    """R31 R81: the message comes back when its visibility timeout is over."""
    [embed] = [found.name for found in stack.spec.functions if found.folder == "embed"]
    articles.break_provider(Fault(FaultKind.LATENCY, seconds=60))
    name = articles.new_name()
    with visibility(articles, "normal", 3):
        articles.put(name, "hello")
        articles.wait(name, status=Status.PROCESSING)
        articles.break_provider()

        assert stack.runner.kill_one(embed)

        [row] = articles.wait(name)
    assert row.progress.receive_count == 2


def test_mapping_that_is_disabled_rests_until_it_is_enabled(
    articles: Articles, stack: LocalStack
) -> None:
    """R25 R82: switched through the Lambda API, lane by lane; no receive is burnt."""
    waiting, working = articles.new_name(), articles.new_name()
    with disabled(stack, articles, "normal"):
        articles.put(waiting, "in the lane that rests")
        articles.put(working, "in the lane that works", priority="high")

        articles.wait(working)
        assert articles.row(waiting).status is Status.PENDING
        assert articles.depth("normal") == (1, 0)

    [row] = articles.wait(waiting)
    assert row.progress.receive_count == 1
