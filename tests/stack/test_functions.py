"""Functions and mappings of the real stack: killed, switched off and on again."""

from functions.core.ledger_row import Status
from local.provider.faults import Fault, FaultKind
from local.stack import LocalStack
from tests.stack.articles import Articles
from tests.stack.conftest import EMBED_SECONDS
from tests.stack.mappings import disabled
from tests.waiting import until

# Embed's timeout, the 30 seconds after which its end is noticed, and time for the work itself.
NOTICED_SECONDS = EMBED_SECONDS + 30 + 60


def spent(articles: Articles) -> int:
    """Return what is counted against the day's budget."""
    return articles.deployment.control.read("default").spent.tokens


def test_work_of_a_killed_function_is_done_again(articles: Articles, stack: LocalStack) -> None:
    """R19 R31 R34 R81: its messages come back half a minute after the end of its time."""
    embed = articles.deployment.outputs["TargetDefaultEmbedFunction"]
    articles.break_provider(Fault(FaultKind.LATENCY, seconds=60))
    name = articles.new_name()
    before = spent(articles)
    articles.put(name, "hello")
    articles.wait(name, status=Status.PROCESSING)
    until(lambda: spent(articles) > before, "the request is reserved")
    articles.break_provider()

    assert stack.runner.kill_one(embed)

    estimate = spent(articles) - before
    [row] = articles.wait(name, limit_seconds=NOTICED_SECONDS)
    assert row.progress.receive_count == 2
    # What the killed run had reserved stays counted, beside what the second one has paid.
    assert spent(articles) > before + estimate > before


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
