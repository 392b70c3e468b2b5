"""What a table's documents add up to, bucket by bucket, to find where an index differs. Pure."""

from array import array
from collections.abc import Mapping

from functions.core.entry_shape import BucketSum
from functions.core.identity import BUCKETS, bucket_of, check_of, entry_id, version_bits
from functions.core.verification import Pair, Sighting


class Sums:
    """Number, checks and versions of a table's documents by bucket: as large for any table."""

    def __init__(self) -> None:
        self._counts = array("q", [0]) * BUCKETS
        self._checks = array("Q", [0]) * BUCKETS
        self._versions = array("Q", [0]) * BUCKETS
        # Buckets with a document whose version the ledger does not say: its row has expired.
        self._unsaid = bytearray(BUCKETS)

    def add(self, seen: Sighting, pair: Pair) -> None:
        """Count a document by its item and its row, if it asks for an entry."""
        wanted = seen.wanted_hash(pair)
        if wanted is None:
            return
        name = entry_id(pair.source.name, seen.document_id)
        bucket = bucket_of(name)
        self._counts[bucket] += 1
        self._checks[bucket] += check_of(name, wanted)
        if seen.row is not None and seen.row.status.is_searchable:
            self._versions[bucket] += version_bits(seen.row.task.version)
        else:
            self._unsaid[bucket] = True

    @property
    def documents(self) -> int:
        return sum(self._counts)

    def unequal(self, index: Mapping[int, BucketSum]) -> set[int]:
        """Return the buckets in which the index holds something else."""
        foreign = {bucket for bucket, found in index.items() if bucket not in range(BUCKETS)}
        return foreign | {
            bucket
            for bucket in range(BUCKETS)
            if not self._equals(bucket, index.get(bucket, BucketSum()))
        }

    def _equals(self, bucket: int, found: BucketSum) -> bool:
        if not self._unsaid[bucket] and self._versions[bucket] != found.versions:
            return False
        wanted = (self._counts[bucket], self._checks[bucket], 0)
        return wanted == (found.count, found.check, found.without_vectors)
