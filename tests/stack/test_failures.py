"""What fails on the real stack: it fails alone, with its reason, and comes back."""

import os
import subprocess
import sys
from pathlib import Path

from functions.core.ledger_row import Status
from local.aws_client import CREDENTIALS
from local.provider.faults import Fault, FaultKind
from local.stack import LocalStack
from tests.stack.articles import Articles
from tests.stack.mappings import disabled
from tests.waiting import until

AWS = Path(sys.executable).with_name("aws")
POISON = "xyzzy"
REFUSES_POISON = Fault(FaultKind.POISON, marker=POISON)


def dead_letters_arn(articles: Articles) -> str:
    """Return the ARN of the FIFO dead letters."""
    found = articles.sqs.get_queue_attributes(
        QueueUrl=articles.dead_letters, AttributeNames=["QueueArn"]
    )
    return str(found["Attributes"]["QueueArn"])


def run_aws(stack: LocalStack, *arguments: str) -> str:
    """Run the real aws command line against the stack's endpoint."""
    done = subprocess.run(
        [str(AWS), *arguments, "--endpoint-url", stack.endpoint_url, "--region", "us-east-1"],
        env={**os.environ, **CREDENTIALS},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_poison_in_a_batch_of_ten_fails_alone_with_its_reason(
    articles: Articles, stack: LocalStack
) -> None:
    """R10 R24 R41: nine complete in the same invocation; one dead letter, redriven, completes."""
    articles.break_provider(REFUSES_POISON)
    good = [articles.new_name("good") for _ in range(9)]
    bad = articles.new_name("bad")
    with disabled(stack, articles, "normal"):
        for name in good:
            articles.put(name, f"A harmless text of {name}.")
        articles.put(bad, f"The provider refuses {POISON}.")
        until(lambda: articles.depth("normal")[0] == 10, "ten tasks wait")

    rows = articles.wait(*good)
    [row] = articles.wait(bad, status=Status.FAILED)
    # One invocation has taken all ten, and each of the nine at its first attempt.
    starts = [one.progress.last_attempt_ms or 0 for one in (*rows, row)]
    assert max(starts) - min(starts) < 2000
    assert {one.progress.attempts for one in rows} == {1}
    assert "invalid_input" in (row.outcome.reason or "")
    assert articles.entry(bad) is None
    until(lambda: articles.deployment.depth(articles.dead_letters)[0] == 1, "it is a dead letter")

    articles.break_provider()
    articles.sqs.start_message_move_task(SourceArn=dead_letters_arn(articles))

    articles.wait(bad)
    assert POISON in (articles.text(bad) or "")


def test_aws_command_line_brings_a_dead_letter_back(articles: Articles, stack: LocalStack) -> None:
    """R41 R82: sqs start-message-move-task on the FIFO DLQ, and the document completes."""
    articles.break_provider(REFUSES_POISON)
    name = articles.new_name()
    articles.put(name, f"The provider refuses {POISON} for a while.")
    articles.wait(name, status=Status.FAILED)
    arn = dead_letters_arn(articles)
    until(
        lambda: articles.deployment.depth(articles.dead_letters)[0] == 1, "the dead letter arrives"
    )
    articles.break_provider()

    run_aws(stack, "sqs", "start-message-move-task", "--source-arn", arn)

    [row] = articles.wait(name)
    # After a redrive attempts start again.
    assert row.progress.attempts == 1
    assert POISON in (articles.text(name) or "")
    until(
        lambda: articles.deployment.depth(articles.dead_letters)[0] == 0, "no dead letter is left"
    )


def test_provider_outage_loses_nothing(articles: Articles) -> None:
    """R20 R28: what was written in the dark is indexed when the provider is back."""
    articles.break_provider(Fault(FaultKind.SERVER_ERROR, status=503))
    names = [articles.new_name("dark") for _ in range(5)]
    for name in names:
        articles.put(name, f"A text of {name}.")
    until(
        lambda: sum(bool(row.errors) for row in articles.rows(names)) == len(names),
        "every document has failed once",
    )

    articles.break_provider()

    rows = articles.wait(*names)
    assert {row.errors[0].kind for row in rows} == {"provider_error"}
    assert min(row.progress.attempts for row in rows) >= 2


def test_deleted_document_leaves_the_search_while_the_provider_is_down(
    articles: Articles,
) -> None:
    """R15: deletes have a lane of their own, and need no provider."""
    name = articles.new_name()
    articles.indexed(name, "hello")
    articles.break_provider(Fault(FaultKind.SERVER_ERROR, status=503))

    articles.delete(name)

    articles.wait(name, status=Status.DELETED)
    assert articles.text(name) is None


def test_rate_limit_spends_no_attempt(articles: Articles) -> None:
    """R23: two 429 and then a vector is one attempt."""
    articles.break_provider(Fault(FaultKind.RATE_LIMITED, requests=2, seconds=1))
    name = articles.new_name()

    articles.put(name, "hello")

    [row] = articles.wait(name)
    # The run has waited itself: nothing failed.
    assert (row.progress.attempts, row.errors) == (1, ())


def test_foreign_message_ends_in_the_dead_letters_and_harms_nobody(articles: Articles) -> None:
    """R10: what is not ours is not lost, and its neighbour is indexed."""
    name = articles.new_name()
    articles.sqs.send_message(
        QueueUrl=articles.lane("normal"),
        MessageBody="not ours",
        MessageGroupId="foreign",
        MessageDeduplicationId=articles.new_name("foreign"),
    )

    articles.indexed(name, "hello")

    assert articles.take_dead_letters(1) == ["not ours"]
