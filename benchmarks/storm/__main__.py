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
from functools import partial
from math import inf
from pathlib import Path
from random import SystemRandom

from benchmarks.storm.backlog import StoryError, StoryResult
from benchmarks.storm.outage_story import outage
from benchmarks.storm.plan import make_plan
from benchmarks.storm.run import Limits, run_storm
from benchmarks.storm.settle import NotSettledError
from benchmarks.storm.tempo import Tempo, as_deployed, hurried
from benchmarks.storm.throttled_story import throttled
from benchmarks.storm.world import storm_world

OPERATIONS = 1000
KILLS = 50
CALM_SECONDS = 900.0
# With the template's own timeouts: that of embed, the time after which a crash is noticed, and
# a minute. The time in which embed is at work is not counted: that is the machine's.
SETTLED_SECONDS = 240.0
# A run's first call tells SQS when to deliver its messages again. One that is killed before has
# them back after the queue's own six timeouts, which is for AWS to decide and no delay of ours.
KILL_AFTER_SECONDS = 0.3
STORIES = {"throttled": throttled, "outage": outage}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run on a stack of its own; return the exit code."""
    chosen = _parser().parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="embedq-storm-"))
    # OpenSearch runs as a user of its own.
    folder.chmod(0o755)
    try:
        result = STORIES[chosen.story](folder, say=_say) if chosen.story else _storm(chosen, folder)
    except (NotSettledError, StoryError) as error:
        result = StoryResult([f"It did not come to its end: {error}"], ["no end"])
    for line in result.lines:
        _say(line)
    if chosen.keep or result.violations:
        _say(f"logs and events: {folder}")
    else:
        shutil.rmtree(folder)
    return 1 if result.violations else 0


def _storm(chosen: argparse.Namespace, folder: Path) -> StoryResult:
    seed = SystemRandom().randrange(1_000_000) if chosen.seed is None else chosen.seed
    plan = make_plan(seed=seed, operations=chosen.operations, kills=chosen.kills)
    _say(
        f"seed {seed}: {chosen.operations:,} operations and {chosen.kills:,} kills over about"
        f" {plan.seconds:.0f} s"
    )
    limits = Limits(
        storm_seconds=3 * plan.seconds + CALM_SECONDS,
        calm_seconds=CALM_SECONDS,
        waited_seconds=SETTLED_SECONDS if chosen.as_deployed else inf,
        kill_after_seconds=KILL_AFTER_SECONDS if chosen.as_deployed else 0.0,
    )
    change = as_deployed if chosen.as_deployed else partial(hurried, tempo=Tempo())
    with storm_world(folder, change=change, log=_say) as world:
        storm = run_storm(world, plan, limits=limits, say=_say)
    return StoryResult(list(storm.lines()), storm.violations())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.storm", description=__doc__)
    add = parser.add_argument
    add("--operations", type=int, default=OPERATIONS, help="writes of the application")
    add("--kills", type=int, default=KILLS, help="invocations to be killed")
    add("--seed", type=int, help="replays the same schedule (default: another one each time)")
    add(
        "--as-deployed",
        action="store_true",
        help="with the template's own timeouts; settled within 4 minutes after the last kill,"
        " but for the time that the work itself needs",
    )
    add("--story", choices=STORIES, help="one scripted run instead of a storm")
    add("--keep", action="store_true", help="keep logs and events in any case")
    return parser


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
