"""Functions and mappings of the real stack: killed, switched off and on again."""

import pytest

from functions.core.ledger_row import Status
from local.provider.faults import Fault, FaultKind
from local.stack import LocalStack
from tests.stack.articles import Articles
from tests.stack.mappings import disabled

# Embed's timeout, the 30 seconds after which its end is noticed, and time for the work itself.
NOTICED_SECONDS = 120 + 30 + 60


@pytest.mark.timeout(2 * NOTICED_SECONDS)
def test_work_of_a_killed_function_is_done_again(articles: Articles, stack: LocalStack) -> None:
    """R31 R34 R81: its messages come back half a minute after the end of its time."""
    embed = articles.deployment.outputs["TargetDefaultEmbedFunction"]
    articles.break_provider(Fault(FaultKind.LATENCY, seconds=60))
    name = articles.new_name()
    articles.put(name, "hello")
    articles.wait(name, status=Status.PROCESSING)
    articles.break_provider()

    assert stack.runner.kill_one(embed)

    [row] = articles.wait(name, limit_seconds=NOTICED_SECONDS)
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
