"""What a run came to, for people, and what of it is wrong."""

from collections.abc import Iterator
from dataclasses import dataclass

from ops.output import OK, as_text
from ops.plan.answers import Checked

MAX_PAID_SHARE = 1.02
MAX_FRESHNESS_SHARE = 1.5
MAX_VERIFY_MEGABYTES = 64.0


@dataclass(frozen=True)
class Loaded:
    """A table that was brought into the index, while an application wrote to it."""

    documents: int
    live: int
    seconds: float
    asked_kills: dict[str, int]
    kills: dict[str, int]
    chunks: int
    paid: int
    p95_before: float
    p95_meanwhile: float
    searchable: int
    sent: int
    differences: int
    plan: Checked

    def mistakes(self) -> Iterator[str]:
        """Name everything that must not be."""
        if self.searchable != self.documents + self.live:
            yield f"{self.searchable:,} of {self.documents + self.live:,} documents can be found"
        if self.kills != self.asked_kills:
            yield f"asked for {self.asked_kills} kills: the load was too short"
        most = self.chunks * (MAX_PAID_SHARE if self.asked_kills["embed"] else 1)
        if not self.chunks <= self.paid <= most:
            yield f"{self.paid:,} inputs were paid for {self.chunks:,} chunks"
        # What a killed run of embed held waits until the crash is noticed, live or not.
        is_held = bool(self.asked_kills["embed"])
        if not is_held and self.p95_meanwhile > MAX_FRESHNESS_SHARE * self.p95_before:
            yield "live writes were not fresh enough"
        if self.differences:
            yield f"{self.differences} documents differ after the backfill"
        if self.plan.exit_code != OK:
            yield "the plan was not near enough to what was metered"

    def lines(self) -> Iterator[str]:
        """Write the figures for people."""
        rate = self.documents / self.seconds
        fresh = self.p95_meanwhile / self.p95_before
        kills = ", ".join(f"{number} of {name}" for name, number in self.kills.items())
        yield f"{self.documents:,} old items, {self.live:,} live writes"
        yield f"  backfill    {self.seconds:.0f} s, {rate:.0f} documents/s, {self.sent:,} sent"
        yield f"  kills       {kills}"
        yield f"  provider    {self.paid:,} inputs for {self.chunks:,} chunks:"
        yield f"              {self.paid / self.chunks:.4f}"
        yield f"  freshness   p95 {self.p95_before:.2f} s without, {self.p95_meanwhile:.2f} s with"
        yield f"              a backfill: {fresh:.2f}"
        yield f"  searchable  {self.searchable:,}, differences {self.differences}"
        yield from (f"  plan        {line}" for line in as_text(self.plan).splitlines())


@dataclass(frozen=True)
class Mended:
    """Damage that was planted, and what became of it."""

    by: str
    planted: dict[str, int]
    found: dict[str, int]
    left: int
    seconds: float
    megabytes: float = 0.0  # at most, of the process that compared

    def mistakes(self) -> Iterator[str]:
        """Name everything that must not be."""
        if self.found != self.planted:
            yield f"{self.by} did not find what was planted"
        if self.left:
            yield f"{self.left} documents differ after the repair by {self.by}"
        if self.megabytes > MAX_VERIFY_MEGABYTES:
            yield f"{self.by} took {self.megabytes:.0f} MB"

    def lines(self) -> Iterator[str]:
        """Write the figures for people."""
        memory = f", {self.megabytes:.1f} MB at most" if self.megabytes else ""
        yield f"  {self.by:<11} {self.seconds:.0f} s{memory}"
        yield f"              planted {sum(self.planted.values())}: {self.planted}"
        yield f"              found   {sum(self.found.values())}: {self.found}"
        yield f"              left after the repair {self.left}"
