"""The smallest OpenSearch domain that holds so many vectors, and what it costs."""

from dataclasses import dataclass
from math import ceil

from infrastructure.config.prices import USD_PER_GB_MONTH, USD_PER_HOUR

HOURS_PER_MONTH = 730.5
# Memory and cores of each type, smallest first.
_GIB_AND_CORES = {
    "t3.small.search": (2, 2),
    "t3.medium.search": (4, 2),
    "r6g.large.search": (16, 2),
    "r6g.xlarge.search": (32, 4),
    "r6g.2xlarge.search": (64, 8),
    "r6g.4xlarge.search": (128, 16),
    "r6g.8xlarge.search": (256, 32),
    "r6g.12xlarge.search": (384, 48),
}
MOST_NODES = 80
# Of types that cost about the same, fewer nodes are less to look after.
PRICE_SLACK = 1.05
# Half of a node is the heap; graphs and vectors are read from what is left to the file cache.
CACHED_SHARE = 0.5
# A graph of 16 neighbours, in its lowest layer twice as many, each a number of four bytes.
GRAPH_BYTES = 140
# Of each chunk: its text, its words, its place in the document.
TEXT_BYTES = 3000
# Segments are merged into new ones, and a node that is nearly full takes no more.
DISK_SHARE = 0.6
LEAST_DISK_GB = 10
# Measured on two cores that did all else too: 365 vectors of 1,536 numbers a second.
NUMBERS_PER_CORE_SECOND = 280_000


@dataclass(frozen=True)
class Domain:
    """Data nodes of one type."""

    instance_type: str
    count: int
    volume_gb: int  # of each
    vectors_per_second: float

    @property
    def dollars_per_month(self) -> float:
        instance = USD_PER_HOUR[self.instance_type] * HOURS_PER_MONTH
        return self.count * (instance + self.volume_gb * USD_PER_GB_MONTH["opensearch_gp3"])


def domain_for(vectors: float, dimensions: int, *, replicas: int = 1) -> Domain:
    """Choose the cheapest type and number of nodes that keep all vectors in memory.

    One node has no copy of its data; from the second type on there are at least two.
    """
    each = 4 * dimensions + GRAPH_BYTES
    gib = vectors * each / 2**30
    small, _ = _GIB_AND_CORES["t3.small.search"]
    if gib <= small * CACHED_SHARE:
        return _domain("t3.small.search", 1, vectors, dimensions, copies=1)
    copies = 1 + replicas
    largest = list(_GIB_AND_CORES)[-1]
    found = []
    for name, (memory, _) in _GIB_AND_CORES.items():
        count = max(2 * ceil(copies * gib / (memory * CACHED_SHARE) / 2), 2)
        # What is too large for one domain is planned with the largest nodes all the same.
        if (count <= MOST_NODES and not name.startswith("t3.")) or name == largest:
            found.append(_domain(name, count, vectors, dimensions, copies=copies))
    cheapest = min(one.dollars_per_month for one in found)
    near = [one for one in found if one.dollars_per_month <= PRICE_SLACK * cheapest]
    return min(near, key=lambda one: one.count)


def _domain(name: str, count: int, vectors: float, dimensions: int, *, copies: int) -> Domain:
    stored_bytes = copies * vectors * (4 * dimensions + GRAPH_BYTES + TEXT_BYTES)
    _, cores = _GIB_AND_CORES[name]
    volume = ceil(stored_bytes / DISK_SHARE / count / 1e9)
    return Domain(
        name,
        count,
        max(volume, LEAST_DISK_GB),
        # Each copy of an entry builds its own graph.
        count * cores * NUMBERS_PER_CORE_SECOND / dimensions / copies,
    )
