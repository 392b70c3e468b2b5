"""LangChain: `index()` compares the source with its record manager, and cleans up at the end."""

from benchmarks.peers.in_opensearch import OpenSearchPeer
from benchmarks.peers.protocol import Entrant, Site


def make(site: Site, story: str) -> OpenSearchPeer:
    """Make one for a story."""
    return OpenSearchPeer(
        site,
        "with_langchain.py",
        f"langchain-{story}",
        lambda entry: (entry["metadata"]["source"], entry["text"]),
    )


ENTRANT = Entrant(
    name="LangChain",
    store="OpenSearch",
    package=("peers", "langchain-core"),
    restart="index() again, over all documents",
    make=make,
)
