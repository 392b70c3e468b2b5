"""LlamaIndex: a pipeline embeds all that changed, then writes, then saves what it knows."""

from benchmarks.peers.in_opensearch import OpenSearchPeer
from benchmarks.peers.protocol import Entrant, Site


def make(site: Site, story: str) -> OpenSearchPeer:
    """Make one for a story."""
    return OpenSearchPeer(
        site,
        "with_llama_index.py",
        f"llama-index-{story}",
        lambda entry: (entry["metadata"]["ref_doc_id"], entry["content"]),
    )


ENTRANT = Entrant(
    name="LlamaIndex",
    store="OpenSearch",
    package=("peers", "llama-index-core"),
    restart="the pipeline again, over all documents",
    make=make,
)
