"""cocoindex: rows of a PostgreSQL table to rows with vectors and an HNSW index, one catch-up.

https://cocoindex.io/docs/examples/postgres-source/
"""

import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import asyncpg
import cocoindex as coco
import numpy as np
from cocoindex.connectors import postgres
from cocoindex.ops.litellm import LiteLLMEmbedder
from cocoindex.resources.schema import VectorSchema
from numpy.typing import NDArray
from ready import note_begin

PEER = json.loads(os.environ["PEER"])
POOL = coco.ContextKey[asyncpg.Pool]("pool")
EMBEDDER = LiteLLMEmbedder(
    f"openai/{PEER['model']}",
    api_base=PEER["provider"],
    api_key="any",
    dimensions=PEER["dimensions"],
)


@dataclass
class Row:
    """A document."""

    id: str
    body: str


@dataclass
class Embedded:
    """A document with its vector."""

    id: str
    body: str
    embedding: Annotated[
        NDArray[np.float32], VectorSchema(dtype=np.dtype(np.float32), size=PEER["dimensions"])
    ]


@coco.lifespan
async def lifespan(builder: Any) -> AsyncIterator[None]:
    """Name the folder of its own state, and connect."""
    builder.settings.db_path = Path(PEER["folder"], "state")
    async with asyncpg.create_pool(PEER["database"]) as pool:
        builder.provide(POOL, pool)
        yield


@coco.fn(memo=True)
async def embed(row: Row, table: postgres.TableTarget[Embedded]) -> None:
    """Declare the row of one document."""
    vector = await EMBEDDER.embed(row.body)
    table.declare_row(row=Embedded(row.id, row.body, vector))


@coco.fn
async def app_main() -> None:
    """Declare the table, its index and all rows."""
    table = await postgres.mount_table_target(
        POOL,
        table_name="embedded",
        table_schema=await postgres.TableSchema.from_class(Embedded, primary_key=["id"]),
    )
    table.declare_vector_index(column="embedding", metric="cosine", method="hnsw")
    source = postgres.PgTableSource(coco.use_context(POOL), table_name="documents", row_type=Row)
    await coco.mount_each(embed, source.fetch_rows().items(lambda row: row.id), table)


app = coco.App(coco.AppConfig(name="peers"), app_main)

if __name__ == "__main__":
    note_begin(PEER)
    app.update_blocking()
