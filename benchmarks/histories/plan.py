"""Seed -> a history as data: what happens, and how often something comes between. Pure."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

# One history in four has a budget: about two documents a day, and none of the bulk lane.
BUDGETED_SEEDS = 4
TOKENS_PER_DAY = 20
# One in eight is about a backfill alone, one about two runs of one message, one about a document
# that comes back while it is forgotten.
KINDS = 8
BACKFILL, OVERLAP, PURGE = 1, 5, 7  # of KINDS
MIN_STEPS, MAX_STEPS = 5, 60  # of one history
# In a long history a later write hides what went wrong: two in three are short, with one document
# and runs that overlap, some of them once or twice only.
LONG_SEEDS = 3
MIN_SHORT_STEPS, MAX_SHORT_STEPS = 2, 10


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
    interleavings: int = 400  # at most, in one history
    throttle: float = 0.2  # for each request of the provider
    back: float = 0.4  # a write that restores the text before: A, B, A
    delete: float = 0.25  # of the writes
    harmful: float = 0.1  # of the texts: poison, or one that ends its runs
    documents: int = 2
    tokens_per_day: int = 0  # the target's budget; 0: it has none


# How often each action is taken on the average, compared with the others.
WEIGHTS = {
    "write": 16,
    "deliver": 12,
    "embed": 24,
    "overtaken_embed": 2,
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
    "pass_day": 0.5,
    "pass_month": 0.5,
    "delete": 1,
    "overtaken_sweep": 1,
    "backfill": 1,
}
# Nothing happens by chance.
CALM = Rates(WEIGHTS, kill=0, failure=0, interleave=0, throttle=0, delete=0, harmful=0, documents=1)
# Nothing comes after a run that was overtaken but the stream.
OVERLAP_ACTIONS = ("write", "deliver", "overtaken_embed")
PURGE_ACTIONS = ("write", "catch_up", "delete", "catch_up", "pass_day", "overtaken_sweep")


@dataclass(frozen=True)
class History:
    """What happens, and how often something comes between."""

    rates: Rates
    steps: Sequence[Step]


def plan(seed: int) -> History:
    """Choose the rates and the steps of a history; the same seed gives the same ones."""
    chooser = random.Random(seed)
    if seed % KINDS == BACKFILL:
        return _plan_backfill(chooser)
    if seed % KINDS == OVERLAP:
        return _history(chooser, CALM, OVERLAP_ACTIONS)
    if seed % KINDS == PURGE:
        return _history(chooser, CALM, PURGE_ACTIONS)
    is_long = seed % LONG_SEEDS == 0
    # Not both often: with ten runs that record nothing, SQS moves any message.
    kill, failure = chooser.choice([(0, 0), (0.02, 0.02), (0.1, 0), (0, 0.05)])
    interleave, interleavings = chooser.choice([(0.25, 400), (0.1, 1), (0.1, 2)])
    rates = Rates(
        weights={name: weight * chooser.choice([0, 1, 4]) for name, weight in WEIGHTS.items()}
        | {"write": WEIGHTS["write"], "embed": WEIGHTS["embed"]},
        kill=kill,
        failure=failure,
        interleave=chooser.choice([0.02, 0.07, 0.25]) if is_long else interleave,
        interleavings=400 if is_long else interleavings,
        throttle=chooser.choice([0, 0.2, 0.6]),
        back=chooser.choice([0, 0.4, 0.8]),
        delete=chooser.choice([0.1, 0.25, 0.6]),
        harmful=0.1 if is_long else chooser.choice([0, 0.1, 0.5]),
        documents=chooser.choice([1, 2]) if is_long else 1,
        tokens_per_day=TOKENS_PER_DAY if seed % BUDGETED_SEEDS == 0 else 0,
    )
    bounds = (MIN_STEPS, MAX_STEPS) if is_long else (MIN_SHORT_STEPS, MAX_SHORT_STEPS)
    return _history(chooser, rates, choose(chooser, rates, chooser.randint(*bounds)))


def _plan_backfill(chooser: random.Random) -> History:
    """Let a backfill be killed, and little come after it: most steps would heal its fault."""
    rates = replace(CALM, kill=0.01, documents=2)
    return _history(chooser, rates, ("write", "catch_up", "next_message", "backfill", "write"))


def _history(chooser: random.Random, rates: Rates, actions: Sequence[str]) -> History:
    return History(rates, [Step(action, chooser.getrandbits(64)) for action in actions])


def choose(chooser: random.Random, rates: Rates, number: int) -> list[str]:
    """Choose actions by their weights."""
    return chooser.choices(list(rates.weights), list(rates.weights.values()), k=number)
