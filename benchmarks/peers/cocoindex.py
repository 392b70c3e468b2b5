"""cocoindex: each row is a component with a memory of its own inputs, kept in a folder."""

from benchmarks.peers.in_postgres import PostgresPeer, make_database
from benchmarks.peers.program import Program
from benchmarks.peers.protocol import Entrant, Site


def make(site: Site, story: str) -> PostgresPeer:
    """Make one for a story."""
    name = f"cocoindex_{story}"
    folder = site.folder / name
    folder.mkdir()
    settings = site.settings | {"database": make_database(site, name)}
    program = Program("peers", "with_cocoindex.py", folder, settings)
    return PostgresPeer(site, name, program, "select id, body from embedded")


ENTRANT = Entrant(
    name="cocoindex",
    store="PostgreSQL",
    package=("peers", "cocoindex"),
    restart="an update again, over all rows",
    make=make,
)
