"""`make storm`: everything around the stack fails; afterwards nothing may be missing.

Documents are written, edited and deleted while the provider throttles, fails, hangs and answers
nonsense, the index goes away and comes back, and function processes are killed. Then table,
ledger, index and events are compared: exit code 1 on any difference.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import SystemRandom

from benchmarks.storm.plan import make_plan
from benchmarks.storm.run import Limits, run_storm
from benchmarks.storm.settle import NotSettledError
from benchmarks.storm.tempo import Tempo
from benchmarks.storm.world import storm_world

OPERATIONS = 1000
KILLS = 50
CALM_SECONDS = 900.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a storm on a stack of its own; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.storm", description=__doc__)
    parser.add_argument("--operations", type=int, default=OPERATIONS)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=None, help="replays the same schedule")
    parser.add_argument("--keep", action="store_true", help="keep logs and events in any case")
    chosen = parser.parse_args(arguments)
    seed = SystemRandom().randrange(1_000_000) if chosen.seed is None else chosen.seed
    plan = make_plan(seed=seed, operations=chosen.operations, kills=chosen.kills)
    _say(
        f"seed {seed}: {chosen.operations:,} operations and {chosen.kills:,} kills over about"
        f" {plan.seconds:.0f} s"
    )
    folder = Path(tempfile.mkdtemp(prefix="embedq-storm-"))
    # OpenSearch runs as a user of its own.
    folder.chmod(0o755)
    limits = Limits(storm_seconds=3 * plan.seconds + CALM_SECONDS, calm_seconds=CALM_SECONDS)
    try:
        with storm_world(folder, tempo=Tempo(), log=_say) as world:
            result = run_storm(world, plan, limits=limits, say=_say)
    except NotSettledError as error:
        _say(f"The storm of seed {seed} did not end: {error}\nlogs: {folder}")
        return 1
    for line in result.lines():
        _say(line)
    if chosen.keep or result.violations():
        _say(f"logs and events: {folder}")
    else:
        shutil.rmtree(folder)
    return 1 if result.violations() else 0


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
