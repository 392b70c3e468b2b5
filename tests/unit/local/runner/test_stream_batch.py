"""The rules after a failed run on stream records."""

import pytest

from local.runner.stream_batch import Discard, Part, Retry, Split, after_failure, too_old
from tests.unit.local.runner.stream_samples import NOW, make_event_record, make_spec

FOUR = [make_event_record(number) for number in range(4)]


def test_bisect_cuts_where_the_function_said() -> None:
    """R82: what came before the lowest reported record is done, the rest runs again at once."""
    step = after_failure(Part(FOUR), 1, make_spec())

    assert step == Split(FOUR[:1], [Part(FOUR[1:], runs=1)])


def test_bisect_cuts_in_two_where_nothing_was_done() -> None:
    """R82: splitting spends no retry."""
    step = after_failure(Part(FOUR, failed_runs=1), 0, make_spec())

    assert step == Split((), [Part(FOUR[:2], 1, runs=1), Part(FOUR[2:], 1, runs=1)])


def test_a_single_record_is_retried_and_then_given_up() -> None:
    """R82: MaximumRetryAttempts counts runs after the first."""
    alone = Part(FOUR[:1])

    again = after_failure(alone, 0, make_spec(max_retries=1))
    assert again == Retry([], Part(FOUR[:1], failed_runs=1, runs=1))
    assert isinstance(again, Retry)
    end = after_failure(again.part, 0, make_spec(max_retries=1))
    assert end == Discard([], Part(FOUR[:1], failed_runs=2, runs=2))


def test_without_bisect_the_rest_runs_again_and_is_given_up_whole() -> None:
    """R82: from the lowest reported record on, everything comes again."""
    spec = make_spec(bisects=False, max_retries=0)

    assert after_failure(Part(FOUR), 2, spec) == Discard(FOUR[:2], Part(FOUR[2:], 1, runs=1))


def test_no_limit_means_for_ever() -> None:
    """R82: -1 is Lambda's default."""
    tired = Part(FOUR[:1], failed_runs=10_000)

    assert isinstance(after_failure(tired, 0, make_spec(max_retries=-1)), Retry)


@pytest.mark.parametrize(
    ("ages", "limit", "old"),
    [
        ([100, 50, 10], 60, 1),
        ([100, 90], 60, 2),
        ([60, 10], 60, 0),
        ([10_000], -1, 0),
    ],
)
def test_records_over_the_age_are_found(ages: list[int], limit: int, old: int) -> None:
    """R82: MaximumRecordAgeInSeconds; the oldest stand first."""
    records = [make_event_record(number, NOW - age) for number, age in enumerate(ages)]

    assert too_old(Part(records), make_spec(max_age_seconds=limit), NOW) == old
