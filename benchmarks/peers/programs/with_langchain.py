"""LangChain: `index()` with its SQL record manager and `full` cleanup, into OpenSearch.

https://docs.langchain.com/oss/python/integrations/vectorstores (indexing API)
"""

import json
import os
from pathlib import Path

from langchain_classic.indexes import SQLRecordManager, index
from langchain_community.vectorstores import OpenSearchVectorSearch
from langchain_core.documents import Document
from langchain_openai import OpenAIEmbeddings
from ready import note_begin


def main() -> None:
    """Bring the store to the state of the source, once."""
    peer = json.loads(os.environ["PEER"])
    note_begin(peer)
    embeddings = OpenAIEmbeddings(
        model=peer["model"],
        dimensions=peer["dimensions"],
        base_url=peer["provider"],
        # Texts instead of tokens: the way for providers that are not OpenAI itself.
        check_embedding_ctx_length=False,
    )
    store = OpenSearchVectorSearch(peer["opensearch"], peer["index"], embeddings, engine="lucene")
    records = SQLRecordManager(peer["index"], db_url=f"sqlite:///{peer['folder']}/records.db")
    records.create_schema()
    source = json.loads(Path(peer["source"]).read_text())
    index(
        [Document(page_content=text, metadata={"source": name}) for name, text in source.items()],
        records,
        store,
        cleanup="full",
        source_id_key="source",
        key_encoder="sha256",
        upsert_kwargs={"space_type": "cosinesimil"},
    )


if __name__ == "__main__":
    main()
