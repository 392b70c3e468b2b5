"""What `embedq plan` prints: a plan, a simulated load, or a plan beside what was metered."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from ops.jobs import duration
from ops.output import FAILED, OK, Answer, table, written

CHECK_SHARE = 0.10


class PlannedLane(Answer):
    """What the event source mapping of a lane should be allowed."""

    lane: str
    documents_per_second: float
    run_seconds: float
    concurrency: int


class PlannedLimit(Answer):
    """How many documents a second something lets through, and who raises it."""

    limit: str
    documents_per_second: float
    ask: str


class PlannedCost(Answer):
    """Dollars of one part: once for the load, and each month for the live writes."""

    part: str
    load: float
    month: float


class Plan(Answer):
    """What a load and the writes after it need, how long it lasts, and what it costs."""

    made: datetime
    prices_of: str
    model: str
    dimensions: int
    documents: int
    tokens: int
    chunks: int
    tokens_of_one: float
    chunks_of_one: float
    item_bytes: int
    writes_per_second: float
    seconds: float | None  # None: it does not come to an end
    is_bound_by_settings: bool
    lanes: tuple[PlannedLane, ...]
    load_limits: tuple[PlannedLimit, ...]
    live_limits: tuple[PlannedLimit, ...]
    instance_type: str
    instance_count: int
    volume_gb: int
    dollars: tuple[PlannedCost, ...]
    is_priced: bool  # False: the price of the model is not known

    def view(self) -> Iterable[Any]:
        first = self.load_limits[0]
        lasts = "never ends" if self.seconds is None else f"takes {duration(self.seconds)}"
        yield (
            f"{self.documents:,} documents: {self.tokens:,} tokens in {self.chunks:,} chunks for"
            f" {self.model}, then {self.writes_per_second:g} writes/s"
        )
        yield f"the load {lasts}, at {first.documents_per_second:,.0f} documents/s"
        yield f"  first limit  {first.limit}"
        yield f"  ask          {first.ask}"
        if not any(one.limit.startswith("provider:") for one in self.load_limits):
            yield "  no limit of the provider is known: --tokens-per-minute names it"
        yield ""
        rows = [
            (
                one.lane,
                one.concurrency,
                f"{one.documents_per_second:,.1f}",
                f"{one.run_seconds:.1f}",
            )
            for one in self.lanes
        ]
        yield table(["lane", "concurrency", "documents/s", "seconds a run"], rows)
        yield ""
        yield (
            f"OpenSearch: {self.instance_count} x {self.instance_type} with {self.volume_gb} GB"
            f" each, for vectors of {self.dimensions:,}"
        )
        yield ""
        yield from self._costs()
        yield ""
        yield "limits of the load, and of live writes, tightest first:"
        limits = [
            (what, f"{one.documents_per_second:,.0f}", one.limit, one.ask)
            for what, found in (("load", self.load_limits), ("live", self.live_limits))
            for one in found
        ]
        yield table(["of", "documents/s", "limit", "raised by"], limits)

    def _costs(self) -> Iterable[Any]:
        parts = [(one.part, f"{one.load:,.2f}", f"{one.month:,.2f}") for one in self.dollars]
        both = [sum(getattr(one, when) for one in self.dollars) for when in ("load", "month")]
        yield table(
            ["USD", "for the load", "a month"],
            [*parts, ("together", *(f"{one:,.2f}" for one in both))],
        )
        if not self.is_priced:
            yield "the price of the model is not known: set usd_per_million_tokens"
        yield f"list prices of {self.prices_of} in us-east-1, without discounts and free tiers"


class Simulated(Answer):
    """A load with faults, minute by minute, by the rules that the functions follow."""

    documents: int
    hours: float
    to_load: int  # that are left where it was cut off after two weeks
    completed: int
    failed: int
    largest_backlog: int
    freshness_p50_seconds: float
    freshness_p95_seconds: float
    freshness_most_seconds: float
    breaker_opened: int
    healed: int
    picture: str | None

    def view(self) -> Iterable[str]:
        left = f", with {self.to_load:,} left to load" if self.to_load else ""
        yield f"{self.documents:,} documents after {self.hours:,.1f} hours{left}"
        yield f"  completed   {self.completed:,}, given up {self.failed:,}, healed {self.healed:,}"
        yield f"  backlog     {self.largest_backlog:,} at most"
        yield (
            f"  freshness   p50 {self.freshness_p50_seconds:,.0f} s, p95"
            f" {self.freshness_p95_seconds:,.0f} s, at most"
            f" {self.freshness_most_seconds:,.0f} s (live writes)"
        )
        yield f"  breaker     opened {self.breaker_opened} times"
        if self.picture:
            yield f"  picture     {self.picture}"


class CheckedFigure(Answer):
    """One figure of a plan beside what was metered since."""

    figure: str
    planned: float
    metered: float | None  # None: not metered here

    @property
    def difference(self) -> float | None:
        if self.metered is None:
            return None
        return self.metered / self.planned - 1 if self.planned else float(bool(self.metered))

    @property
    def is_near(self) -> bool:
        return self.difference is None or abs(self.difference) <= CHECK_SHARE


class Checked(Answer):
    """A plan beside what was metered since it was made."""

    since: datetime
    live_writes: int  # each counts as the plan has it
    figures: tuple[CheckedFigure, ...]

    @property
    def exit_code(self) -> int:
        return OK if all(one.is_near for one in self.figures) else FAILED

    def view(self) -> Iterable[Any]:
        rows = []
        for one in self.figures:
            share = "not metered here" if one.difference is None else f"{one.difference:+.1%}"
            metered = "" if one.metered is None else f"{one.metered:,.6g}"
            rows.append(
                (one.figure, f"{one.planned:,.6g}", metered, share, "" if one.is_near else "WRONG")
            )
        yield table(["figure", "planned", "metered", "difference", ""], rows)
        yield (
            f"with {self.live_writes:,} live writes since {written(self.since)}; up to"
            f" {CHECK_SHARE:.0%} is near enough"
        )
