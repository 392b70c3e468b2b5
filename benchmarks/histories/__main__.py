"""`make simulate SEEDS=N`: play N random histories; `--rules` removes each rule in turn."""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from benchmarks.histories.removed_rules import REMOVED_RULES, seeds_to_find
from benchmarks.histories.run import play, play_side_by_side, shrink_seed
from benchmarks.histories.world import plan


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if no history failed and every removed rule was found."""
    parser = argparse.ArgumentParser(prog="make simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many histories (1000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--replay", type=int, help="play one seed again, made shorter if it fails")
    parser.add_argument(
        "--rules",
        type=int,
        default=0,
        metavar="N",
        help="also remove each rule of"
        " the protocol in turn, N times, and count the seeds until that is found",
    )
    given = parser.parse_args(arguments)
    if given.replay is not None:
        return _replay(given.replay)
    failed = _histories(given.first, given.seeds)
    missed = _rules(given.rules, given.seeds) if given.rules else 0
    return int(bool(failed or missed))


def _histories(first: int, seeds: int) -> int:
    began = time.monotonic()
    result = play_side_by_side(first, seeds)
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
    return len(result.failed)


def _rules(times: int, seeds: int) -> int:
    missed = 0
    print("\nrule removed: median number of seeds until a history failed")
    find = partial(seeds_to_find, times=times, limit=seeds)
    with ProcessPoolExecutor() as pool:
        counts = pool.map(find, range(len(REMOVED_RULES)))
        for rule, found in zip(REMOVED_RULES, counts, strict=True):
            missed += found is None
            print(f"  {rule.name:58} {'not found' if found is None else found}", flush=True)
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
