"""Differences -> lanes: each document under a new version, which reads the item once more."""

from collections.abc import Sequence

from functions.backfill.compare import Difference
from functions.backfill.owe import Owe
from functions.core.owing import Owed, OweResult, owing_lane
from functions.core.verification import Kind, Pair


def owed_for(difference: Difference, pair: Pair) -> Owed:
    """Return what is owed for a difference, above the version that the index holds."""
    return Owed(
        document_id=difference.document_id,
        key=difference.key,
        lane=owing_lane(pair.source, is_gone=difference.kind is Kind.ORPHANED),
        above_version=difference.seen.entry.version if difference.seen.entry else 0,
    )


def repair_all(owed: Sequence[Owed], pair: Pair, owe: Owe) -> int:
    """Send the documents of one pair again; return how many are on their way."""
    results = owe.send(owed, pair, since_ms=owe.clock())
    owe.telemetry.count("DocumentsRepaired", results[OweResult.OWED])
    return results.total()
