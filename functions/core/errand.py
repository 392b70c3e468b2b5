"""A message of the function backfill to itself: a segment of a job, or the proof of a pair."""

import json
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter, ValidationError


@dataclass(frozen=True)
class SegmentErrand:
    """Go on with a segment."""

    job: str
    segment: int


@dataclass(frozen=True)
class ProofErrand:
    """Go on with the proof of a pair, target/source."""

    proof: str


Errand = SegmentErrand | ProofErrand
_ERRAND: TypeAdapter[Errand] = TypeAdapter(Errand)


class MalformedErrandError(ValueError):
    """A message of the queue is none of the function's own."""


def to_json(errand: Errand) -> str:
    return json.dumps(asdict(errand))


def parse_errand(body: str) -> Errand:
    """Read a message body, or refuse it."""
    try:
        return _ERRAND.validate_json(body)
    except ValidationError:
        raise MalformedErrandError("the message is no errand of the function backfill") from None
