"""Peers that write into PostgreSQL: their source is a table of the same database."""

from collections.abc import Collection

from benchmarks.peers.counting import Stored
from benchmarks.peers.documents import Texts
from benchmarks.peers.program import Program, ProgramWork
from benchmarks.peers.protocol import Site

TABLE = "create table documents (id text primary key, body text not null)"
# Only rows that change, as an application writes them.
WRITE = """
begin;
insert into documents select key, value from json_each_text(:'puts')
on conflict (id) do update set body = excluded.body;
delete from documents where id in (select json_array_elements_text(:'deletes'));
commit
"""


class PostgresPeer:
    """One program with a database of its own."""

    def __init__(self, site: Site, database: str, program: Program, stored: str) -> None:
        self._site = site
        self._database = database
        self._program = program
        self._stored = stored  # a query for id and body

    def write(self, puts: Texts, deletes: Collection[str]) -> None:
        values = {"puts": dict(puts), "deletes": sorted(deletes)}
        self._site.postgres.run(self._database, WRITE, **values)

    def start(self) -> ProgramWork:
        return self._program.start()

    def stored(self) -> list[Stored]:
        rows = self._site.postgres.rows(self._database, self._stored)
        return [(row["id"], row["body"]) for row in rows]

    def store_cpu_seconds(self) -> float:
        return self._site.postgres.cpu_seconds()


def make_database(site: Site, name: str, *statements: str) -> str:
    """Make a database with the source's table; return its address."""
    url = site.postgres.create(name)
    for statement in (TABLE, *statements):
        site.postgres.run(name, statement)
    return url
