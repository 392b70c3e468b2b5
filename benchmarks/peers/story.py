"""One program's stories: a load in peace, and a load and a round of changes with kills."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.peers.counting import Difference, Sales, compare
from benchmarks.peers.documents import Round, Texts, load, update
from benchmarks.peers.program import ProgramError
from benchmarks.peers.protocol import Entrant, Peer, Site, Work
from local.processes import wait_for

# Longer than a lane hides a message whose run was killed before it could set a shorter time.
LIMIT_SECONDS = 600.0
LOOK_SECONDS = 0.01
OVER_SECONDS = 2.0
# A kill comes up to so long after its moment, so that it meets every step of the work.
SPREAD_SECONDS = 0.3


class NotOverError(Exception):
    """A program did not end its work."""


@dataclass(frozen=True)
class Peace:
    """A load that nothing disturbed."""

    documents: int
    seconds: float  # after its program was loaded
    sales: Sales
    own_cpu_seconds: float
    store_cpu_seconds: float


@dataclass(frozen=True)
class Killed:
    """A round with kills, after the program said that all is done, or refused to start again."""

    name: str
    needed: int
    kills: int
    sales: Sales
    difference: Difference
    missing: int  # documents that were there, and that no search found after the last kill
    seconds: float | None  # from the last kill to the end; None: it does not start again


def in_peace(site: Site, entrant: Entrant, *, documents: int, seed: int) -> Peace:
    """Load without a kill."""
    peer = entrant.make(site, "peace")
    wanted = load(documents, seed)
    before, store = site.sales(), peer.store_cpu_seconds()
    peer.write(wanted.puts, wanted.deletes)
    work = peer.start()
    _wait(work.is_over)
    begin, now = work.begin(), time.monotonic()
    return Peace(
        documents=documents,
        seconds=now - begin.at,
        sales=site.sales() - before,
        own_cpu_seconds=work.cpu_seconds() - begin.cpu_seconds,
        store_cpu_seconds=peer.store_cpu_seconds() - store,
    )


def with_kills(
    site: Site, entrant: Entrant, *, documents: int, kills: int, seed: int
) -> list[Killed]:
    """Load and change the documents, with so many kills in each round."""
    peer = entrant.make(site, "kills")
    chance = random.Random(seed)
    first = load(documents, seed)
    second = update(first.after, seed)
    rounds = [_killed("load", site, peer, {}, first, kills, chance)]
    if rounds[0].seconds is not None:
        rounds.append(_killed("changes", site, peer, first.after, second, kills, chance))
    return rounds


def _killed(
    round_name: str,
    site: Site,
    peer: Peer,
    old: Texts,
    wanted: Round,
    kills: int,
    chance: random.Random,
) -> Killed:
    before = site.sales()
    peer.write(wanted.puts, wanted.deletes)
    work = peer.start()
    # What was there before, and should be there in any text.
    kept = {name: text for name, text in old.items() if name in wanted.after}
    done, missing, last = 0, 0, time.monotonic()
    starts_again = True
    try:
        for number in range(1, kills + 1):
            answered = before.answered + wanted.needed * number // (kills + 1)
            _wait_for_answers(site, work, answered)
            time.sleep(chance.uniform(0, SPREAD_SECONDS))
            if not work.kill():
                break
            done, last = done + 1, time.monotonic()
            missing = compare(kept, peer.stored()).lost if kept else 0
            work = peer.start()
        _wait(work.is_over)
    except ProgramError:
        if not done:
            raise
        starts_again = False
    seconds = time.monotonic() - last
    difference = compare(wanted.after, peer.stored())
    sales = site.sales() - before
    return Killed(
        name=round_name,
        needed=wanted.needed,
        kills=done,
        sales=sales,
        difference=difference,
        missing=missing,
        seconds=seconds if starts_again else None,
    )


def _wait_for_answers(site: Site, work: Work, answered: int) -> None:
    """Return soon after the provider has answered so many texts, or when the work is over."""
    began = asked = time.monotonic()
    while site.sales().answered < answered:
        now = time.monotonic()
        if now - began > LIMIT_SECONDS:
            raise NotOverError(f"no more texts are sent, {answered} were expected")
        # Seldom: it takes embedq longer to answer than others, and its kills would come later.
        if now - asked > OVER_SECONDS:
            if work.is_over():
                return
            asked = time.monotonic()
        time.sleep(LOOK_SECONDS)


def _wait(is_over: Callable[[], bool]) -> None:
    if not wait_for(is_over, LIMIT_SECONDS):
        raise NotOverError(f"it does not end within {LIMIT_SECONDS:.0f} s")
