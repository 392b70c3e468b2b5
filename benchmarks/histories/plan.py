"""Seed -> a history as data: what happens, and how often something comes between. Pure."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# One history in four has a budget: about two documents a day, and none of the bulk lane.
BUDGETED_SEEDS = 4
TOKENS_PER_DAY = 20
MIN_STEPS, MAX_STEPS = 5, 60  # of one history: in a long one a later write hides what went wrong


@dataclass(frozen=True)
class Step:
    """One action, with the seed of all that is left to chance in it."""

    action: str
    seed: int


@dataclass(frozen=True)
class Rates:
    """How often what happens in one history; each history has its own.

    With the same rates for all, what needs many of one action, or none of another, never comes.
    """

    weights: Mapping[str, float]  # of the actions, compared with each other
    kill: float = 0.02  # before and after each call of a run
    failure: float = 0.02
    interleave: float = 0.07
    throttle: float = 0.2  # for each request of the provider
    back: float = 0.4  # a write that restores the text before: A, B, A
    delete: float = 0.25  # of the writes
    documents: int = 2
    tokens_per_day: int = 0  # the target's budget; 0: it has none


# How often each action is taken on the average, compared with the others.
WEIGHTS = {
    "write": 16,
    "deliver": 12,
    "embed": 24,
    "catch_up": 6,
    "overtake": 12,
    "next_message": 6,
    "wait": 4,
    "sweep": 5,
    "reconcile": 3,
    "redeliver": 3,
    "lose_answer": 3,
    "copy": 4,
    "redrive": 2,
    "requeue": 2,
    "recover": 1,
    "lose_messages": 1,
    "forget_deletes": 3,
    "foreign_key": 1,
    "expire": 1,
}


# An action that only some histories have: the others stay as they are known.
BACKFILL = "backfill"


@dataclass(frozen=True)
class History:
    """What happens, and how often something comes between."""

    rates: Rates
    steps: Sequence[Step]


def plan(seed: int) -> History:
    """Choose the rates and the steps of a history; the same seed gives the same ones."""
    chooser = random.Random(seed)
    # Not both often: with ten runs that record nothing, SQS moves any message.
    kill, failure = chooser.choice([(0, 0), (0.02, 0.02), (0.1, 0), (0, 0.05)])
    rates = Rates(
        weights={name: weight * chooser.choice([0, 1, 4]) for name, weight in WEIGHTS.items()}
        | {"write": WEIGHTS["write"], "embed": WEIGHTS["embed"]},
        kill=kill,
        failure=failure,
        interleave=chooser.choice([0.02, 0.07, 0.25]),
        throttle=chooser.choice([0, 0.2, 0.6]),
        back=chooser.choice([0, 0.4, 0.8]),
        delete=chooser.choice([0.1, 0.25, 0.6]),
        documents=chooser.choice([1, 2]),
        tokens_per_day=TOKENS_PER_DAY if seed % BUDGETED_SEEDS == 0 else 0,
    )
    actions = choose(chooser, rates, chooser.randint(MIN_STEPS, MAX_STEPS))
    return History(rates, [Step(action, chooser.getrandbits(64)) for action in actions])


def choose(chooser: random.Random, rates: Rates, number: int) -> list[str]:
    """Choose actions by their weights."""
    return chooser.choices(list(rates.weights), list(rates.weights.values()), k=number)


def with_backfills(history: History, seed: int) -> History:
    """Let an operator start backfills in between."""
    chooser = random.Random(seed)
    steps = list(history.steps)
    for _ in range(chooser.randint(1, 4)):
        steps.insert(chooser.randint(0, len(steps)), Step(BACKFILL, chooser.getrandbits(64)))
    return History(history.rates, steps)
