"""The fault of each alarm: how it is brought about, and how it is taken away."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.alarms.world import POISON, SOURCE, STAGE, TARGET, World
from functions.core.backfill_job import Estimate, Job, JobState, Only
from functions.core.breaker import Timing, paused, resumed
from functions.core.budget import NOT_RAISED, Raised
from functions.core.errand import SegmentErrand
from functions.core.failure import Failure, FailureError, FailureKind, Part
from functions.core.lane import Lane
from functions.core.settings import BreakerSettings
from local.aws_client import ACCOUNT

Change = Callable[[World], None]
PROVIDER_ERROR = Failure(FailureKind.PROVIDER_ERROR, "the provider answered 500")
WRONG_KEY = Failure(FailureKind.CONFIGURATION, "the provider answered 401")
DENIED = Failure(FailureKind.STORE_DENIED, "no right to scan")
DOMAIN = {"DomainName": f"embedq-{STAGE}", "ClientId": ACCOUNT}


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and what sets it right again."""

    says: str
    begin: Change
    end: Change
    is_fed: bool = False  # the metric is written by the fault: it has no engine here
    limit_minutes: int = 90  # within which the alarm begins, and ends
    budget_tokens: int = 10**9


def _nothing(_world: World) -> None:
    """Change nothing: the fault was over at once, or the functions set it right."""


def _poison(number: int, lane: Lane = Lane.NORMAL) -> Change:
    def begin(world: World) -> None:
        for place in range(number):
            world.write(f"bad-{place}", f"{POISON} {place}", lane)

    return begin


def _accept_and_redrive(world: World) -> None:
    world.provider.rejects = None
    world.pipeline.queues.redrive()


def _rejected(number: int, lane: Lane = Lane.NORMAL, **rest: Any) -> Fault:
    what = "a document" if number == 1 else f"{number} documents"
    begin, says = _poison(number, lane), f"the provider rejects {what} of the lane {lane}"
    return Fault(says, begin, _accept_and_redrive, **rest)


def _waits(lane: Lane, limit_minutes: int = 90) -> Fault:
    def begin(world: World) -> None:
        world.write("late", "a text", Lane.NORMAL if lane is Lane.DELETE else lane)
        if lane is Lane.DELETE:
            world.minute()
            world.delete("late")
        world.disabled.add(lane)

    says = f"the mapping of the lane {lane} is disabled"
    return Fault(says, begin, lambda world: world.disabled.clear(), limit_minutes=limit_minutes)


def _nothing_is_read(world: World) -> None:
    world.disabled |= set(Lane)
    world.write("late", "a text")


def _fails(folder: str) -> Fault:
    def begin(world: World) -> None:
        world.broken.add(folder)
        _write_each_minute(world)

    is_fed = folder in ("index_setup", "query", "search")
    return Fault(f"each run of {folder} ends in an error", begin, _heal, is_fed=is_fed)


def _gets_no_run(folder: str) -> Fault:
    def begin(world: World) -> None:
        world.throttled.add(folder)
        _write_each_minute(world)

    is_fed = folder in ("index_setup", "query", "search")
    return Fault(f"Lambda has no concurrency for {folder}", begin, _heal, is_fed=is_fed)


def _write_each_minute(world: World) -> None:
    def write() -> None:
        world.write(f"new-{world.minutes}", f"text {world.minutes}")

    world.each_minute = write


def _heal(world: World) -> None:
    world.broken.clear()
    world.throttled.clear()
    world.stopped.clear()


def _stops(*jobs: str, limit_minutes: int = 90) -> Fault:
    says = f"the schedule {' and '.join(jobs)} is disabled"
    return Fault(says, lambda world: world.stopped.update(jobs), _heal, limit_minutes=limit_minutes)


def _domain(says: str, metric: str, bad: float, good: float) -> Fault:
    def feed(value: float) -> Change:
        def change(world: World) -> None:
            world.each_minute = lambda: world.feed("AWS/ES", metric, value, **DOMAIN)

        return change

    return Fault(says, feed(bad), feed(good), is_fed=True)


def _set_aside(world: World) -> None:
    [mapping] = world.spec.stream_mappings
    name = "OnFailureDestinationDeliveredEventCount"
    world.feed("AWS/Lambda", name, 1, EventSourceMappingUUID=mapping.mapping_id)


def _provider(failure: Failure | None) -> Change:
    def change(world: World) -> None:
        world.provider.failure = failure
        _write_each_minute(world)

    return change


def _control(is_down: bool) -> Change:
    def change(world: World) -> None:
        world.pipeline.control.is_down = is_down

    return change


def _spend(share: float) -> Change:
    def begin(world: World) -> None:
        for place in range(round(200 * share)):
            world.write(f"paid-{place}", f"five words of text {place}")

    return begin


def _raise_budget(world: World) -> None:
    until_ms = world.clock() + 86_400_000
    after = Raised(until_ms, tokens=10**6, reason="planned load", since_ms=world.clock())
    world.pipeline.control.raise_budget(TARGET, NOT_RAISED, after)


def _lose(uuid: str | None) -> Change:
    return lambda world: world.pipeline.indexes[TARGET].lose(uuid)


def _stuck(number: int) -> Fault:
    def begin(world: World) -> None:
        world.disabled.add(Lane.NORMAL)
        for place in range(number):
            world.write(f"stuck-{place}", f"text {place}")
        world.minute()
        control = world.pipeline.control
        before = control.read(TARGET).breaker(Part.PROVIDER)
        stopped = paused(before, reason="maintenance", now_ms=world.clock())
        control.swap(TARGET, Part.PROVIDER, before, stopped)
        world.pass_quietly(hours=25)

    return Fault(f"{number} documents wait for a target that was paused for a day", begin, _resume)


def _resume(world: World) -> None:
    control = world.pipeline.control
    before = control.read(TARGET).breaker(Part.PROVIDER)
    at = Timing(world.clock(), BreakerSettings(), jitter=0.0)
    control.swap(TARGET, Part.PROVIDER, before, resumed(before, at, reason="done"))
    world.disabled.clear()


def _unresolved(world: World) -> None:
    _poison(1)(world)
    for _ in range(20):
        world.minute()
    world.pass_quietly(days=7, hours=1)


def _fail_backfill(world: World) -> None:
    pipeline = world.pipeline
    job = Job(
        id="job",
        source=SOURCE,
        target=TARGET,
        only=Only.ALL,
        segments=1,
        by="me",
        reason="first load",
        created_ms=world.clock(),
        estimate=Estimate(items=0, documents=0, tokens=0),
    )
    pipeline.jobs.create(job)
    pipeline.errands.send(SegmentErrand(job.id, 0))
    step = pipeline.backfill.backfill
    [(name, compare)] = step.compares.items()

    def denied(*_: object, **__: object) -> Any:
        raise FailureError(DENIED)

    table: Any = type("Denied", (), {"scan": denied})()
    broken = replace(step, compares={name: replace(compare, table=table)})
    pipeline.backfill = replace(pipeline.backfill, backfill=broken)
    while (known := pipeline.jobs.read(job.id)) and known.state is JobState.RUNNING:
        world.pass_quietly(hours=1)
        world.minute()


def _damage(world: World) -> None:
    for place in range(40):
        world.write(f"{place}", f"text {place}")
    world.minute()
    entries = world.pipeline.indexes[TARGET].entries
    for key in list(entries):
        entries[key] = replace(entries[key], content_hash="another")


def _mend_entries(world: World) -> None:
    for place in range(40):
        world.write(f"{place}", f"another text {place}")


def _late_proof(world: World) -> None:
    world.write("a", "a text")
    world.minute()
    world.stopped.add("proof")
    world.pass_quietly(days=10)
    world.stopped.clear()


def _flaky(world: World) -> None:
    world.provider.rejects = PROVIDER_ERROR

    def write() -> None:
        for place in range(10):
            text = POISON if place < 2 else "good"
            world.write(f"{world.minutes}-{place}", f"{text} {place}")

    world.each_minute = write


def _steady(world: World) -> None:
    world.provider.rejects = None


def _slow(world: World) -> None:
    world.most_messages = 3

    def write() -> None:
        for place in range(6):
            world.write(f"{world.minutes}-{place}", f"text {place}")

    world.each_minute = write


def _fast(world: World) -> None:
    world.most_messages = 10**6


BREAKER = Fault("the provider's key is wrong", _provider(WRONG_KEY), _provider(None))
# By the alarm's name in the stack.
FAULTS: dict[str, Fault] = {
    "DefaultDeadLettersFifo": _rejected(1),
    "DefaultDeadLettersStandard": _rejected(1, Lane.BULK),
    "DefaultHighOldestTask": _waits(Lane.HIGH),
    "DefaultNormalOldestTask": _waits(Lane.NORMAL),
    "DefaultBulkOldestTask": _waits(Lane.BULK, limit_minutes=400),
    "DefaultDeleteOldestTask": _waits(Lane.DELETE),
    "DefaultNoProgress": Fault(
        "every mapping is disabled", _nothing_is_read, lambda world: world.disabled.clear()
    ),
    "IteratorAge": _fails("enqueue"),
    "ArticlesChangesSetAside": Fault(
        "a stream record ran out of retries", _set_aside, _nothing, is_fed=True
    ),
    **{
        f"{name}Errors": _fails(folder)
        for name, folder in {
            "Enqueue": "enqueue",
            "EmbedDefault": "embed",
            "Sweep": "sweep",
            "Backfill": "backfill",
            "Breaker": "breaker",
            "IndexSetup": "index_setup",
            "Query": "query",
            "Search": "search",
        }.items()
    },
    **{
        f"{name}Throttles": _gets_no_run(folder)
        for name, folder in {
            "Enqueue": "enqueue",
            "EmbedDefault": "embed",
            "Sweep": "sweep",
            "Backfill": "backfill",
            "Breaker": "breaker",
            "IndexSetup": "index_setup",
            "Query": "query",
            "Search": "search",
        }.items()
    },
    "SweepSilent": _stops("due", "maintenance"),
    "BreakerSilent": _stops("reconcile"),
    "CountsSilent": _stops("maintenance", limit_minutes=180),
    "ProofSilent": _stops("proof", limit_minutes=400),
    "DomainRed": _domain("a shard is on no node", "ClusterStatus.red", 1, 0),
    "DomainStorage": _domain("the volume is nearly full", "FreeStorageSpace", 1000, 9000),
    "DomainWritesBlocked": _domain("writes are blocked", "ClusterIndexWritesBlocked", 1, 0),
    "DomainMemory": _domain("the heap is full", "JVMMemoryPressure", 97, 60),
    "BreakerOpen": BREAKER,
    "ControlUnreadable": Fault("the control item is unreadable", _control(True), _control(False)),
    "BudgetNearlyUsed": Fault(
        "85 % of a budget are spent", _spend(0.85), _raise_budget, budget_tokens=1000
    ),
    "BudgetUsedUp": Fault(
        "more is written than a budget allows", _spend(1.5), _raise_budget, budget_tokens=1000
    ),
    "LostIndex": Fault("the index is deleted", _lose(None), _lose("index-2")),
    "StuckDocuments": _stuck(60),
    "StuckDocumentsCritical": _stuck(210),
    "FailedDocuments": _rejected(1001),
    "UnresolvedDocuments": Fault(
        "a rejected document is left for a week", _unresolved, _accept_and_redrive
    ),
    "ExhaustedDocuments": _rejected(11, limit_minutes=240),
    "FailedJobs": Fault("a table may not be scanned", _fail_backfill, _nothing),
    "Drifted": Fault("entries are changed by hand", _damage, _mend_entries, limit_minutes=1600),
    "OldestVerified": Fault("no proof for ten days", _late_proof, _nothing, limit_minutes=1800),
    "RetryRate": Fault("one text in five gets 500", _flaky, _steady),
    "Freshness": Fault("more is written than embedded", _slow, _fast, limit_minutes=240),
    "EmbeddingDown": BREAKER,
}
