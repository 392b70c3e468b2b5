"""Play random histories of the protocol in memory: the index must end equal to the table.

examples:
  make simulate SEEDS=5000                         # about a million steps
  make simulate SEEDS=5000 ARGS="--first 5000"     # the next ones
  make simulate ARGS="--replay 42"                 # one of them again, made shorter if it fails
  make simulate SEEDS=100 ARGS="--rules 3"         # and each rule removed: is that found?
"""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from benchmarks.histories.plan import plan
from benchmarks.histories.removed_rules import REMOVED_RULES, seeds_to_find
from benchmarks.histories.run import Result, play, play_side_by_side, shrink_seed

RULE_SEEDS = 5000


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if no history failed and every removed rule was found."""
    parser = argparse.ArgumentParser(
        prog="make simulate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=1000, help="how many histories (1000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--replay", type=int, help="play one seed again, made shorter if it fails")
    parser.add_argument(
        "--rules",
        type=int,
        default=0,
        metavar="N",
        help="also remove each rule of the protocol in turn, N times, and count the seeds until"
        f" that is found: at most {RULE_SEEDS:,}",
    )
    given = parser.parse_args(arguments)
    if given.replay is not None:
        return _replay(given.replay)
    failed = _histories(given.first, given.seeds)
    missed = _rules(given.rules) if given.rules else 0
    return int(bool(failed or missed))


def _histories(first: int, seeds: int) -> int:
    began = time.monotonic()
    result = Result()
    for part in play_side_by_side(first, seeds):
        result.add(part)
        print(
            f"{result.histories:,} of {seeds:,} histories, {result.steps:,} steps,"
            f" {len(result.failed)} failed",
            file=sys.stderr,
        )
    seconds = time.monotonic() - began
    print(f"seeds       {first} to {first + seeds - 1}")
    print(
        f"steps       {result.steps:,} in {seconds:.0f} s, {result.steps / seconds:,.0f} a second"
    )
    for fault, times in sorted(result.faults.items()):
        print(f"fault       {fault}: {times:,}")
    for seed, found in result.failed.items():
        print(f"failed      seed {seed}: {'; '.join(found)}")
        print(f"            play it again: make simulate ARGS='--replay {seed}'")
    print(f"{len(result.failed)} of {result.histories:,} histories failed")
    for seed in list(result.failed)[:1]:
        print("\nthe first one that failed, made shorter")
        _replay(seed)
    return len(result.failed)


def _rules(times: int) -> int:
    missed = 0
    print("\nrule removed: median number of seeds until a history failed")
    find = partial(seeds_to_find, times=times, limit=RULE_SEEDS)
    names = [rule.name for rule in REMOVED_RULES]
    with ProcessPoolExecutor() as pool:
        for name, found in zip(names, pool.map(find, names), strict=True):
            missed += found is None
            print(f"  {name:58} {'not found' if found is None else found}", flush=True)
    return missed


def _replay(seed: int) -> int:
    history = plan(seed)
    _, found = play(history)
    if found:
        history = shrink_seed(seed)
        _, found = play(history)
    steps = [step.action for step in history.steps]
    print(f"seed {seed}: {len(steps)} steps: {', '.join(steps)}")
    print(history.rates)
    print("\n".join(found) or "no violation")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
