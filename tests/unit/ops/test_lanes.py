"""What is in work, counted from rows: the sparse index does not tell."""

import pytest

from functions.core.identity import DocumentId
from functions.core.lane import Lane
from functions.core.ledger_row import Status
from ops import lanes
from ops.deployment import Deployment
from ops.lanes import in_work
from ops.statistics import census
from tests.builders import NOW_MS, make_row


@pytest.fixture
def busy(deployment: Deployment) -> Deployment:
    """Return a stack with four open documents, two of them in work."""
    deployment.ledger.write(
        [
            make_row(
                document_id=DocumentId(f"{number}"),
                lane=lane,
                status=status,
                queued_ms=NOW_MS + number,
                revision=0,
            )
            for number, (lane, status) in enumerate(
                [
                    (Lane.NORMAL, Status.PROCESSING),
                    (Lane.NORMAL, Status.PENDING),
                    (Lane.BULK, Status.PENDING),
                    (Lane.BULK, Status.PROCESSING),
                ]
            )
        ]
    )
    return deployment


def test_documents_in_work_are_counted_by_lane(busy: Deployment) -> None:
    """R40: a run has begun with them; the others wait in their lanes."""
    expected = {("default", "normal"): 1, ("default", "bulk"): 1}

    assert in_work(busy) == expected

    found = census(busy)["default"]
    assert found.in_work == expected
    assert found.counts == {"pending": 2, "processing": 2}


def test_only_the_oldest_of_a_lane_are_looked_up(
    busy: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R40: the number in work is a lower bound where a lane has a large backlog."""
    monkeypatch.setattr(lanes, "MOST_READ", 1)

    assert in_work(busy) == {("default", "normal"): 1}
