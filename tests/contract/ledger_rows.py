"""Any ledger row that there can be, for properties."""

from hypothesis import strategies as st

from functions.core.change import Position
from functions.core.identity import DocumentId
from functions.core.lane import Lane
from functions.core.ledger_row import MAX_ERRORS, ErrorRecord, LedgerRow, Status

# Any character that UTF-8 can carry: half a surrogate pair is refused at the border.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
COUNT = st.integers(0, 2**40)
MILLISECONDS = st.integers(0, 2**52)
MAYBE_MILLISECONDS = st.none() | MILLISECONDS

ROWS = st.builds(
    LedgerRow,
    target=NAME,
    source=NAME,
    document_id=st.builds(DocumentId, NAME),
    key=st.dictionaries(NAME, st.dictionaries(st.sampled_from("SNB"), TEXT, max_size=1)),
    version=MILLISECONDS,
    position=st.builds(Position.of, TEXT, st.integers(0, 10**40 - 1).map(str)),
    lane=st.sampled_from(Lane),
    created_ms=MILLISECONDS,
    queued_ms=MILLISECONDS,
    written_ms=MILLISECONDS,
    revision=st.just(0),
    type=TEXT,
    operation=st.sampled_from(["upsert", "delete"]),
    status=st.sampled_from(Status),
    attempts=COUNT,
    max_attempts=COUNT,
    receive_count=COUNT,
    last_attempt_ms=MAYBE_MILLISECONDS,
    next_attempt_ms=MAYBE_MILLISECONDS,
    waits=COUNT,
    parked=st.booleans(),
    sent=st.booleans(),
    heals=COUNT,
    failing_since_ms=MAYBE_MILLISECONDS,
    completed_ms=MAYBE_MILLISECONDS,
    failed_ms=MAYBE_MILLISECONDS,
    reason=st.none() | TEXT,
    errors=st.lists(st.builds(ErrorRecord, MILLISECONDS, TEXT, TEXT), max_size=MAX_ERRORS).map(
        tuple
    ),
    chunks_total=COUNT,
    chunks_done=COUNT,
    chunks_failed=COUNT,
    content_hash=st.none() | TEXT,
    model=TEXT,
    tokens=COUNT,
    trace_id=TEXT,
    stashed=st.booleans(),
    expires_at=st.none() | COUNT,
)
