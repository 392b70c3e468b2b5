"""What becomes of a stream's batch after a run that failed: pure rules.

https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from local.runner.mapping import Record
from local.runner.stream_event import created_seconds
from local.specs import StreamMappingSpec

FOR_EVER = -1


@dataclass(frozen=True)
class Part:
    """Records that are given to the function together."""

    records: Sequence[Record]
    failed_runs: int = 0  # those that count against MaximumRetryAttempts
    runs: int = 0


@dataclass(frozen=True)
class Split:
    """Go on at once with smaller parts, in order; the records before them are done."""

    done: Sequence[Record]
    parts: Sequence[Part]


@dataclass(frozen=True)
class Retry:
    """Run the part again after a wait; the records before it are done."""

    done: Sequence[Record]
    part: Part


@dataclass(frozen=True)
class Discard:
    """Give the part up; the records before it are done."""

    done: Sequence[Record]
    part: Part


Step: TypeAlias = Split | Retry | Discard


def after_failure(part: Part, first_failed: int, spec: StreamMappingSpec) -> Step:
    """Decide how to go on when the records from first_failed on were not done.

    With bisect a batch is split where the function said, or in two where it said nothing of use.
    Splitting does not spend the retry quota.
    """
    part = replace(part, runs=part.runs + 1)
    done, left = part.records[:first_failed], part.records[first_failed:]
    if spec.bisects and done:
        return Split(done, [replace(part, records=left)])
    if spec.bisects and len(left) > 1:
        middle = len(left) // 2
        halves = (left[:middle], left[middle:])
        return Split((), [replace(part, records=half) for half in halves])
    rest = replace(part, records=left, failed_runs=part.failed_runs + 1)
    if spec.max_retries != FOR_EVER and rest.failed_runs > spec.max_retries:
        return Discard(done, rest)
    return Retry(done, rest)


def too_old(part: Part, spec: StreamMappingSpec, now_seconds: float) -> int:
    """Return how many records at the head are older than the mapping still takes."""
    if spec.max_age_seconds == FOR_EVER:
        return 0
    oldest = now_seconds - spec.max_age_seconds
    for count, record in enumerate(part.records):
        if created_seconds(record) >= oldest:
            return count
    return len(part.records)
