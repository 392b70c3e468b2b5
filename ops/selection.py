"""The one way to choose documents that failed or are incomplete: by id, cause, type and age."""

import heapq
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from functions.core.batches import batches
from functions.core.ledger_row import Group, LedgerRow
from functions.core.ports import Listed
from ops.causes import cause_of, failed_at
from ops.document_rows import find_row
from ops.frame import SOURCE, TARGET
from ops.output import UsageError, written

if TYPE_CHECKING:
    from ops.deployment import Deployment

ROUND_ROWS = 100
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class NoRowError(UsageError):
    """The ledger has no row of a document."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the ledger has no row of {name!r}")
        self.name = name


class Moment(click.ParamType["datetime"]):
    """A time, or how long ago (in the past) or how far ahead (in the future) it is."""

    name = "time"

    def __init__(self, *, is_ahead: bool = False) -> None:
        self._sign = 1 if is_ahead else -1

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        if found := re.fullmatch(r"(\d{1,6})([smhd])", text):
            distance = timedelta(**{UNITS[found[2]]: int(found[1])})
            try:
                return datetime.now(UTC) + self._sign * distance
            except OverflowError:
                self.fail(f"{text!r} is further away than any date", param, ctx)
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            self.fail(
                f"{text!r} is no time: write 2026-01-31, 2026-01-31T14:00 (UTC) or"
                " a distance from now such as 90s, 30m, 2h or 3d",
                param,
                ctx,
            )
        try:
            return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
        except OverflowError:
            self.fail(f"{text!r} is further away than any date", param, ctx)


# In the order of the help.
OPTIONS = (
    click.Argument(
        ["documents"],
        nargs=-1,
        metavar="[ID]...",
        help="Documents by their ids; of a composite key PARTITION|SORT. Left out: all that match.",
    ),
    click.Option(
        ["--cause"], metavar="TEXT", help="Only of this cause: its id, or a part of its message."
    ),
    click.Option(["--type"], metavar="NAME", help="Only of this document type."),
    click.Option(
        ["--since"], type=Moment(), metavar="TIME", help="Only failed since then: 2h, 2026-01-31."
    ),
    click.Option(["--before"], type=Moment(), metavar="TIME", help="Only failed before then."),
    SOURCE,
    TARGET,
)


@dataclass(frozen=True)
class Selection:
    """What a person asked for; without anything, every failed or incomplete document."""

    documents: tuple[str, ...] = ()
    cause: str | None = None
    type: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    source: str | None = None
    target: str | None = None

    @property
    def is_everything(self) -> bool:
        return self == Selection(target=self.target)

    def rows(self, deployment: "Deployment") -> list[LedgerRow]:
        """Return the rows that match, the newest first."""
        if self.since and self.before and self.since >= self.before:
            times = f"--since {written(self.since)} is not before --before {written(self.before)}"
            raise UsageError(f"{times}: nothing can match")
        # By key: an id may be named twice, or in two spellings.
        matching = {row.row_key: row for row in self._candidates(deployment) if self._matches(row)}
        found = list(matching.values())
        if self.cause and not found:
            raise UsageError(
                f"no failed document has the cause {self.cause!r}: `embedq dead causes` lists them"
            )
        return sorted(found, key=failed_at, reverse=True)

    def newest(self, deployment: "Deployment", most: int) -> tuple[list[LedgerRow], int]:
        """Return the rows that match among the newest ones, and how many there are in all.

        However many documents have failed, no more than `most` rows are read.
        """
        if self.documents:
            rows = self.rows(deployment)[:most]
            return rows, len(rows)
        number = 0

        def counted() -> Iterator[Listed]:
            nonlocal number
            for number, one in enumerate(self._listed(deployment), 1):  # noqa: B007
                yield one

        found = heapq.nlargest(most, counted(), key=lambda one: one.due_ms)
        rows = list(deployment.ledger.read(one.row_key for one in found).values())
        return sorted(filter(self._matches, rows), key=failed_at, reverse=True), number

    def _names(self, deployment: "Deployment") -> tuple[str | None, str | None]:
        """Return source and target; those that are not deployed are refused, not passed over."""
        return (
            self.source and deployment.source(self.source).name,
            self.target and deployment.target(self.target).name,
        )

    def _listed(self, deployment: "Deployment") -> Iterator[Listed]:
        source, target = self._names(deployment)
        return (
            one
            for one in deployment.listed([Group.FAILED])
            if source in (None, one.source) and target in (None, one.target)
        )

    def _candidates(self, deployment: "Deployment") -> Iterator[LedgerRow]:
        if self.documents:
            for name in self.documents:
                yield from self._named(deployment, name)
            return
        keys = [one.row_key for one in self._listed(deployment)]
        for part in batches(keys, ROUND_ROWS):
            yield from deployment.ledger.read(part).values()

    def _named(self, deployment: "Deployment", name: str) -> Iterator[LedgerRow]:
        wanted_source, wanted_target = self._names(deployment)
        pairs = [
            (target, source)
            for target, source in sorted(deployment.pairs)
            if wanted_target in (None, target) and wanted_source in (None, source)
        ]
        rows = [
            row
            for target, source in pairs
            if (row := find_row(deployment, name, source=source, target=target)) is not None
        ]
        if not rows:
            raise NoRowError(name)
        if not any(row.group is Group.FAILED for row in rows):
            states = ", ".join(f"{row.row_key} is {row.status}" for row in rows)
            raise UsageError(f"{name!r} is not failed: {states}; see `embedq requeue --help`")
        yield from rows

    def _matches(self, row: LedgerRow) -> bool:
        at_ms = failed_at(row)
        return (
            row.group is Group.FAILED
            and (self.cause is None or cause_of(row).is_meant_by(self.cause))
            and self.type in (None, row.type)
            and (self.since is None or at_ms >= self.since.timestamp() * 1000)
            and (self.before is None or at_ms < self.before.timestamp() * 1000)
        )
