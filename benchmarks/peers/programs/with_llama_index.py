"""LlamaIndex: an ingestion pipeline with a document store that upserts and deletes.

https://developers.llamaindex.ai/python/framework/module_guides/loading/ingestion_pipeline/
"""

import json
import os
from pathlib import Path

from llama_index.core import Document
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.vector_stores.opensearch import OpensearchVectorClient, OpensearchVectorStore
from ready import note_begin


def main() -> None:
    """Bring the store to the state of the source, once."""
    peer = json.loads(os.environ["PEER"])
    note_begin(peer)
    client = OpensearchVectorClient(
        peer["opensearch"],
        peer["index"],
        peer["dimensions"],
        method={"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"},
    )
    embedding = OpenAIEmbedding(
        model=peer["model"], dimensions=peer["dimensions"], api_base=peer["provider"]
    )
    pipeline = IngestionPipeline(
        transformations=[SentenceSplitter(), embedding],
        vector_store=OpensearchVectorStore(client),
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
    )
    state = Path(peer["folder"], "pipeline")
    if state.exists():
        pipeline.load(str(state))
    source = json.loads(Path(peer["source"]).read_text())
    pipeline.run(documents=[Document(text=text, id_=name) for name, text in source.items()])
    pipeline.persist(str(state))


if __name__ == "__main__":
    main()
