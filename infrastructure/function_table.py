"""The functions, once for all: how Lambda runs each, by its folder under functions/."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tick:
    """A job that is run every so many minutes."""

    job: str
    minutes: int


@dataclass(frozen=True)
class FunctionSpec:
    """How Lambda runs functions/<folder>/handler.py."""

    folder: str
    timeout_seconds: int
    memory_mb: int
    effect: str  # what a person notices while it fails
    ticks: tuple[Tick, ...] = ()
    reserved_concurrency: int | None = None
    may_feed_itself: bool = False


_SPECS = (
    FunctionSpec(
        "enqueue",
        timeout_seconds=60,
        memory_mb=512,
        effect="Changes wait in the stream, up to 24 hours.",
    ),
    # One for each target, which may have other sizes.
    FunctionSpec(
        "embed",
        timeout_seconds=120,
        memory_mb=1024,
        effect="Tasks wait in their lanes and are tried again.",
        # Embed sends tasks to lanes that it reads itself (a deleted document that is back again).
        # Lambda would take that for a runaway loop and stop it after 16 rounds:
        # https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
        may_feed_itself=True,
    ),
    FunctionSpec(
        "index_setup",
        timeout_seconds=120,
        memory_mb=256,
        effect="A deployment waits for it or was rolled back.",
    ),
    FunctionSpec(
        "sweep",
        timeout_seconds=240,
        memory_mb=512,
        effect="Parked, stuck and healing documents wait until it runs again.",
        ticks=(Tick("due", minutes=1), Tick("maintenance", minutes=15)),
        # A run of due that outlasts its minute, the next one, and maintenance. A tick that finds
        # all taken is dropped: its work is being done, and runs that overlap requeue nothing twice.
        reserved_concurrency=3,
    ),
    FunctionSpec(
        "backfill",
        timeout_seconds=60,
        memory_mb=512,
        effect="Backfills do not move on, and tables are not compared with their indexes.",
        ticks=(Tick("jobs", minutes=5), Tick("proof", minutes=60)),
        # It sends itself what it goes on with, for as long as a table is large.
        may_feed_itself=True,
    ),
    FunctionSpec(
        "breaker",
        timeout_seconds=120,  # It waits for the probes that it sends.
        memory_mb=256,
        effect="Lanes are neither paused in an outage nor brought back after one.",
        ticks=(Tick("reconcile", minutes=1),),
        reserved_concurrency=1,  # Two at once would switch the same mappings.
    ),
    FunctionSpec(
        "query",
        timeout_seconds=30,
        memory_mb=256,
        effect="The commands stats and verify get no answer.",
    ),
    FunctionSpec(
        "search",
        timeout_seconds=30,
        memory_mb=1024,  # It imports the provider's SDK: half a second less at a cold start.
        effect="Applications and the command search get no answer.",
    ),
)
FUNCTIONS = {spec.folder: spec for spec in _SPECS}
