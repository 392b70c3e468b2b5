"""Any ledger row that there can be, for properties."""

from hypothesis import strategies as st

from functions.core.change import Operation, Position
from functions.core.failure import FailureKind
from functions.core.identity import DocumentId
from functions.core.lane import Lane
from functions.core.ledger_row import (
    ErrorRecord,
    IndexedContent,
    LedgerRow,
    Outcome,
    Progress,
    Quarantine,
    Status,
)
from functions.core.task import Task
from functions.core.transitions import MAX_ERRORS

# Any character that UTF-8 can carry: half a surrogate pair is refused at the border.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
COUNT = st.integers(0, 2**40)
MILLISECONDS = st.integers(0, 2**52)
MAYBE_MILLISECONDS = st.none() | MILLISECONDS

KINDS = st.sampled_from(FailureKind)

ROWS = st.builds(
    LedgerRow,
    task=st.builds(
        Task,
        target=NAME,
        source=NAME,
        document_id=st.builds(DocumentId, NAME),
        key=st.dictionaries(NAME, st.dictionaries(st.sampled_from("SNB"), TEXT, max_size=1)),
        version=MILLISECONDS,
        lane=st.sampled_from(Lane),
        trace_id=TEXT,
        tenant=TEXT,
        copy=TEXT,
    ),
    position=st.builds(Position.of, TEXT, st.integers(0, 10**40 - 1).map(str)),
    operation=st.sampled_from(Operation),
    status=st.sampled_from(Status),
    created_ms=MILLISECONDS,
    queued_ms=MILLISECONDS,
    written_ms=MILLISECONDS,
    revision=st.just(0),
    type=TEXT,
    progress=st.builds(
        Progress,
        attempts=COUNT,
        max_attempts=COUNT,
        free_retries=COUNT,
        provider_failures=COUNT,
        throttles=COUNT,
        message_id=TEXT,
        receive_count=COUNT,
        sent_ms=MILLISECONDS,
        quarantine=st.sampled_from(Quarantine),
        crashes=COUNT,
        last_attempt_ms=MAYBE_MILLISECONDS,
        next_attempt_ms=MAYBE_MILLISECONDS,
        parked=st.booleans(),
        over_budget=st.booleans(),
        sent=st.booleans(),
        heals=COUNT,
        failing_since_ms=MAYBE_MILLISECONDS,
    ),
    outcome=st.builds(
        Outcome,
        completed_ms=MAYBE_MILLISECONDS,
        failed_ms=MAYBE_MILLISECONDS,
        reason=st.none() | TEXT,
        content_hash=st.none() | TEXT,
        expires_at=st.none() | COUNT,
    ),
    indexed=st.builds(
        IndexedContent,
        chunks_done=COUNT,
        chunks_failed=COUNT,
        tokens=COUNT,
        model=TEXT,
        index_uuid=TEXT,
    ),
    stashed=st.booleans(),
    errors=st.lists(st.builds(ErrorRecord, MILLISECONDS, KINDS, TEXT), max_size=MAX_ERRORS).map(
        tuple
    ),
)
