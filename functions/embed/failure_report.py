"""One line per cause and run: a failure of many documents is told once, not a hundred times."""

from collections import Counter

from functions.core.failure import Failure, FailureKind
from functions.core.ports import Telemetry

# So many documents with one cause in one run: it is not them.
BULK_DOCUMENTS = 5


class FailureReport:
    """Counts what failed in a run, by cause."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._causes: Counter[tuple[FailureKind, str]] = Counter()

    def note(self, failure: Failure) -> None:
        self._causes[failure.kind, failure.message] += 1

    def tell(self) -> None:
        """Report the run's failures, and start anew."""
        for (kind, message), documents in self._causes.items():
            self._telemetry.count(f"Failures.{kind}", documents)
            is_bulk = documents >= BULK_DOCUMENTS
            self._telemetry.count("BulkFailures", int(is_bulk))
            self._telemetry.event(
                "failure_bulk" if is_bulk else "failure_isolated",
                failure=str(kind),
                reason=message,
                documents=documents,
            )
        self._causes.clear()
