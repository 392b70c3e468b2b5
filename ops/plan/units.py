"""What a new document costs in calls and units when every batch is full.

Counted on the steps themselves: tests/contract/test_units.py fails where they need more or less.
"""

from dataclasses import dataclass

# What SQS takes and gives in one call.
CALL_MESSAGES = 10
# A consistent read of an item counts 4 KB a unit; a scan reads two of them for one.
READ_UNIT_BYTES = 4096
# Lambda's own calls for each message that it takes from a lane: it receives, and it deletes.
POLLER_CALLS = 2


@dataclass(frozen=True)
class Units:
    """Of one document, on one way into the index."""

    write_units: float  # of the ledger, with its sparse index
    index_units: float  # of them, those of the sparse index
    ledger_reads: float  # consistent ones, a unit each
    item_reads: float  # consistent ones, by the item's size
    item_scans: float  # by the item's size, at half the price
    messages: float  # that functions send or hide, in calls of ten
    events: float  # completion events
    log_lines: float

    def read_units(self, item_bytes: float) -> float:
        """Return the read units of a document of this size."""
        item_units = max(1, -(-item_bytes // READ_UNIT_BYTES))
        return self.ledger_reads + item_units * (self.item_reads + self.item_scans / 2)

    def queue_calls(self, batch: float) -> float:
        """Return the calls to SQS where so many documents come together."""
        together = min(max(batch, 1), CALL_MESSAGES)
        return (self.messages + POLLER_CALLS) / together


# A write that the stream brings, through a live lane.
LIVE = Units(
    write_units=5,
    index_units=2,
    ledger_reads=1,
    item_reads=1,
    item_scans=0,
    messages=2,
    events=1,
    log_lines=3,
)
# An item that was there before, through backfill and the bulk lane.
BULK = Units(
    write_units=5,
    index_units=2,
    ledger_reads=3,
    item_reads=1,
    item_scans=1,
    messages=2,
    events=1,
    log_lines=3,
)
