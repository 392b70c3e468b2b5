"""A message that goes back: when it comes again."""

from functions.core.retry_policy import RetrySettings
from functions.embed.job import Returned
from tests.builders import make_message

MESSAGE = make_message(receive_count=2)


def test_message_that_the_run_had_no_time_for_comes_again_soon() -> None:
    """R20: doubled with each receive, less up to a half."""
    retry = RetrySettings()

    assert Returned.soon(MESSAGE, retry, jitter=0.0) == Returned(MESSAGE, 8.0)
    assert Returned.soon(MESSAGE, retry, jitter=0.5) == Returned(MESSAGE, 6.0)


def test_message_without_a_ledger_comes_again_later() -> None:
    """R31: tripled with each receive, less up to a half."""
    assert Returned.later(MESSAGE, jitter=0.0) == Returned(MESSAGE, 12.0)
    assert Returned.later(MESSAGE, jitter=0.5) == Returned(MESSAGE, 9.0)
