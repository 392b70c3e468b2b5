"""A table that is full before the stack: filled in while an application writes and functions die.

Items are written while no stream is read. A plan is made from a sample of them. Then a backfill
brings them into the index, beside live writes, with its function (and embed, if asked for) killed
now and then. Every document must be there once, paid once, live writes must be about as fresh as
without a backfill, and the plan must be near what was metered. In the end entries are damaged in
every way that verify knows: verify finds and mends them, and the hourly proof does so without a
person. Exit code 1 if not.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.backfill.damage import mended_by_proof, mended_by_verify
from benchmarks.backfill.figures import Loaded, Mended
from benchmarks.backfill.run import load
from benchmarks.backfill.table import say
from local.specs import StackSpec
from local.stack import local_stack
from local.template.stage import LocalModel
from ops.stack import local_deployment

DIMENSIONS = 64
# Half of what is deployed, or less: a crash is noticed sooner.
TIMEOUTS_SECONDS = {"embed": 60, "backfill": 40}
# A slice an hour: the fewest slices that a stage can have.
PROOF = {"days": 1, "repair": True}


def prepared(spec: StackSpec) -> StackSpec:
    """Begin without the stream, notice crashes soon, and let the proof mend what it finds."""
    functions = [
        replace(
            one,
            timeout_seconds=TIMEOUTS_SECONDS.get(one.folder, one.timeout_seconds),
            environment={
                name: json.dumps(PROOF) if name == "VERIFY" else value
                for name, value in one.environment.items()
            },
        )
        for one in spec.functions
    ]
    mappings = [
        replace(one, enabled=False, starting_position="LATEST") for one in spec.stream_mappings
    ]
    return replace(spec, functions=functions, stream_mappings=mappings)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run on a stack of its own; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.backfill", description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=10, help="of the function backfill")
    parser.add_argument("--embed-kills", type=int, default=0)
    parser.add_argument("--writes", type=float, default=10.0, help="live ones, per second")
    parser.add_argument("--before-seconds", type=float, default=60.0)
    parser.add_argument("--dimensions", type=int, default=DIMENSIONS)
    chosen = parser.parse_args(arguments)
    names = [f"old-{number:06}" for number in range(chosen.documents)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # OpenSearch runs as a user of its own.
        folder.chmod(0o755)
        with local_stack(
            folder,
            log=say,
            vectors="hashed",
            model=LocalModel("text-embedding-3-small", chosen.dimensions),
            in_memory=True,
            change=prepared,
        ) as stack:
            deployment = local_deployment(stack.endpoint_url)
            return _printed(
                load(stack, names, chosen, folder),
                mended_by_verify(stack, deployment, names),
                mended_by_proof(stack, deployment, names, folder),
            )


def _printed(*parts: Loaded | Mended) -> int:
    """Print the figures, and what is wrong; return the exit code."""
    for part in parts:
        for line in part.lines():
            say(line)
    mistakes = [one for part in parts for one in part.mistakes()]
    for one in mistakes:
        say(f"WRONG: {one}")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
