"""pgai: triggers of the table fill a queue in the database, its worker empties it."""

import subprocess

from benchmarks.peers.environments import environment
from benchmarks.peers.in_postgres import PostgresPeer, make_database
from benchmarks.peers.program import Program, ProgramError
from benchmarks.peers.protocol import Entrant, Site

# Without TimescaleDB's scheduler pgai makes no index by itself: it is made before the load.
VECTORIZER = """
select ai.create_vectorizer(
    'documents'::regclass,
    name => 'documents',
    loading => ai.loading_column('body'),
    embedding => ai.embedding_openai('{model}', {dimensions}, base_url => '{provider}'),
    chunking => ai.chunking_none(),
    formatting => ai.formatting_python_template('$chunk'),
    indexing => ai.indexing_none(),
    scheduling => ai.scheduling_none(),
    destination => ai.destination_table('documents_embedding')
);
create index on documents_embedding_store using hnsw (embedding vector_cosine_ops)
"""
STORED = "select id, chunk as body from documents_embedding_store"


def make(site: Site, story: str) -> PostgresPeer:
    """Make one for a story."""
    name = f"pgai_{story}"
    folder = site.folder / name
    folder.mkdir()
    url = make_database(site, name)
    command = str(environment("peers_pgai") / "bin/pgai")
    installed = subprocess.run(
        [command, "install", "-d", url], capture_output=True, text=True, check=False
    )
    if installed.returncode != 0:
        raise ProgramError(f"pgai install: {installed.stderr}")
    site.postgres.run(name, VECTORIZER.format(**site.settings))
    program = Program("peers_pgai", "with_pgai.py", folder, site.settings | {"database": url})
    return PostgresPeer(site, name, program, STORED)


ENTRANT = Entrant(
    name="pgai",
    store="PostgreSQL",
    package=("peers_pgai", "pgai"),
    restart="its worker again",
    make=make,
)
