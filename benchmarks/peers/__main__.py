"""`make bench-peers`: embedq, LangChain, LlamaIndex, cocoindex and pgai do the same work here.

The same documents, provider and dimensions; each is killed on the way. Afterwards each store is
compared with its source, and what the provider answered with what was needed.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers import cocoindex, embedq, langchain, llama_index, pgai
from benchmarks.peers.environments import NotInstalledError, environment, locked_version
from benchmarks.peers.postgres import PostgresError, postgres
from benchmarks.peers.program import ProgramError
from benchmarks.peers.protocol import DIMENSIONS, Entrant, Site
from benchmarks.peers.report import Result, lines
from benchmarks.peers.story import NotOverError, in_peace, with_kills
from embedq import __version__
from local.provider.faults import Fault, FaultKind
from local.stack import local_stack
from local.stages import ChosenStage
from ops.demo.provider import Provider

DOCUMENTS = 300
KILLS = 1  # half way
LATENCY_SECONDS = 0.2  # of each answer of the provider
STAGE = ChosenStage(Path(__file__).with_name("stage.json"), "local")
ENTRANTS = {
    one.name: one
    for one in (
        embedq.ENTRANT,
        langchain.ENTRANT,
        llama_index.ENTRANT,
        cocoindex.ENTRANT,
        pgai.ENTRANT,
    )
}
CANNOT_RUN = (NotInstalledError, NotOverError, PostgresError, ProgramError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all of them, one after the other; return 1 if one could not."""
    chosen = _parser().parse_args(arguments)
    peers = environment("peers")
    began = time.monotonic()
    results = []
    with tempfile.TemporaryDirectory(prefix="embedq-peers-") as name:
        folder = Path(name)
        # OpenSearch and PostgreSQL run as a user of their own.
        folder.chmod(0o755)
        with (
            postgres(peers, folder / "postgresql") as database,
            local_stack(folder, log=_say, stage=STAGE, vectors="hashed", in_memory=True) as stack,
        ):
            site = Site(folder, stack, database, Provider(stack.model_origin))
            site.provider.set_faults(Fault(FaultKind.LATENCY, seconds=LATENCY_SECONDS))
            for entrant in [ENTRANTS[name] for name in chosen.programs or ENTRANTS]:
                _say(f"{entrant.name} ...")
                try:
                    results.append(_measure(site, entrant, chosen))
                except CANNOT_RUN as error:
                    _say(f"{entrant.name} could not run: {error}")
                    continue
    _say(
        f"\n{chosen.documents:,} documents of one chunk, {DIMENSIONS:,} dimensions, answers of the"
        f" provider after {LATENCY_SECONDS} s, {chosen.kills} kill(s) in each round, seed"
        f" {chosen.seed}; {time.monotonic() - began:.0f} s in all\n"
    )
    for line in lines(results, LATENCY_SECONDS):
        _say(line)
    return int(len(results) < len(chosen.programs or ENTRANTS))


def _measure(site: Site, entrant: Entrant, chosen: argparse.Namespace) -> Result:
    number = locked_version(*entrant.package) if entrant.package else __version__
    peace = in_peace(site, entrant, documents=chosen.documents, seed=chosen.seed)
    rounds = with_kills(
        site, entrant, documents=chosen.documents, kills=chosen.kills, seed=chosen.seed
    )
    return Result(entrant.name, number, entrant.store, entrant.restart, peace, rounds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    add = parser.add_argument
    add("programs", nargs="*", help=f"some of {', '.join(ENTRANTS)}; without one, all of them")
    add("--documents", type=int, default=DOCUMENTS)
    add("--kills", type=int, default=KILLS, help="in each round")
    add("--seed", type=int, default=1, help="of the texts and of the moments of the kills")
    return parser


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
