"""Waiting until the last write of a document can be found by a search."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import click

from functions.core.document import Document, Unusable, content_hash, read_document
from functions.core.entry import StoredEntry
from functions.core.entry_shape import SUMMARY_FIELDS, stored
from functions.core.failure import FailureError, FailureKind
from functions.core.identity import DocumentId, entry_id, row_key
from functions.core.ledger_row import LedgerRow
from functions.core.settings import SourceSettings, TargetSettings
from ops.frame import DOCUMENT, SOURCE, TARGET, Noun
from ops.items import find_item
from ops.numbers import Amount
from ops.output import Answer, CommandError, UsageError

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("Documents")
LOOK_SECONDS = 0.3
# A failed row may be of the write before: the stream takes a moment to bring the last one.
SETTLED_SECONDS = 5.0
SECONDS = click.Option(
    ["--seconds"],
    type=Amount(min=0),
    default=300.0,
    show_default=True,
    help="How long to wait at most.",
)

Wanted = Document | Unusable | None  # None: the table has no such item


class State(Enum):
    """What a search would find of a document."""

    CURRENT = auto()  # its last write, or nothing where nothing should be found
    BEHIND = auto()
    FAILED = auto()  # given up: waiting does not help


class NotFoundYetError(CommandError):
    """The last write of a document cannot be found: the time is over, or it was given up."""


class Waited(Answer):
    """A document whose last write can be found."""

    document: str
    found: bool  # False: it is deleted, or skipped, and no search finds it
    skipped: str | None = None  # why
    targets: tuple[str, ...]
    seconds: float

    def view(self) -> Iterable[str]:
        how = "can be found" if self.found else "is not found any more, as it should be"
        how = "is skipped, and no search finds it" if self.skipped else how
        why = f": {self.skipped}" if self.skipped else ""
        where = ", ".join(self.targets)
        return [f"{self.document} {how} in {where} (after {self.seconds:.1f} s){why}"]


@dataclass(frozen=True)
class Waiting:
    """One document, and the targets that it is to be found in."""

    deployment: "Deployment"
    source: SourceSettings
    targets: Sequence[TargetSettings]
    document: DocumentId
    key: Mapping[str, Any]  # of its item

    def until_found(self, seconds: float, *, wait: Callable[[float], None] = time.sleep) -> Waited:
        """Return when every target has the last write; raise if one gave it up, or after a time."""
        began = time.monotonic()
        while True:
            try:
                if found := self._looked(began, seconds):
                    return found
            except FailureError as error:
                if error.failure.kind is FailureKind.STORE_DENIED:
                    raise
                # Index or ledger is busy, or down: what is written then is found later.
                waited = time.monotonic() - began
                if waited > seconds:
                    raise NotFoundYetError(f"{self._missing(waited)}: {error}") from error
            wait(LOOK_SECONDS)

    def _looked(self, began: float, seconds: float) -> Waited | None:
        """Look once; return None if it is too early to tell."""
        wanted = self._wanted()
        states = {target.name: self._state(target, wanted) for target in self.targets}
        waited = time.monotonic() - began
        if all(state is State.CURRENT for state in states.values()):
            return Waited(
                document=self.document,
                found=isinstance(wanted, Document),
                skipped=wanted.reason if isinstance(wanted, Unusable) else None,
                targets=tuple(states),
                seconds=round(waited, 2),
            )
        is_over = State.FAILED in states.values() and waited > SETTLED_SECONDS
        if is_over or waited > seconds:
            raise NotFoundYetError(self._explained(states, waited))
        return None

    def check_known(self) -> None:
        """Raise if neither the table nor the ledger has the document: there is nothing to find."""
        is_item = find_item(self.deployment, self.source, self.key) is not None
        if not is_item and not any(self._row(target.name) for target in self.targets):
            raise UsageError(
                f"neither table {self.source.table} nor the ledger has {self.document!r}: it was"
                " never written, or deleted more than a day ago"
            )

    def _wanted(self) -> Wanted:
        item = find_item(self.deployment, self.source, self.key)
        return None if item is None else read_document(item, self.source)

    def _state(self, target: TargetSettings, wanted: Wanted) -> State:
        return judge(wanted, self._entry(target), self._row(target.name), target)

    def _entry(self, target: TargetSettings) -> StoredEntry | None:
        """Ask a search, and not for the entry itself, which is there a moment before."""
        ids = [entry_id(self.source.name, self.document)]
        question = {
            "query": {"ids": {"values": ids}},
            "_source": SUMMARY_FIELDS.split(","),
            "version": True,
        }
        hits = self.deployment.ask_index(target.name, "_search", question)["hits"]["hits"]
        return stored(hits[0]) if hits else None

    def _row(self, target: str) -> LedgerRow | None:
        key = row_key(target, self.source.name, self.document)
        return self.deployment.ledger.read([key]).get(key)

    def _explained(self, states: Mapping[str, State], waited: float) -> str:
        behind = [name for name, state in states.items() if state is not State.CURRENT]
        known = [f"in {name} {_known(self._row(name))}" for name in behind]
        see = self.deployment.status_command(self.document, self.source.name, behind[0])
        return f"{self._missing(waited)}: {'; '.join(known)}; see `{see}`"

    def _missing(self, waited: float) -> str:
        return f"the last write of {self.document!r} cannot be found after {waited:.0f} s"


def judge(
    wanted: Wanted, entry: StoredEntry | None, row: LedgerRow | None, target: TargetSettings
) -> State:
    """Compare what the table asks for with what a search finds."""
    found = None if entry is None or entry.deleted else entry
    if isinstance(wanted, Document):
        is_current = found is not None and found.content_hash == content_hash(wanted, target)
    else:
        is_rejected = isinstance(wanted, Unusable) and wanted.invalid
        is_current = found is None and not is_rejected
    if is_current:
        return State.CURRENT
    return State.FAILED if row is not None and row.is_given_up else State.BEHIND


@NOUN.stack_command(
    DOCUMENT,
    SECONDS,
    SOURCE,
    TARGET,
    examples=["wait tortoise-and-hare", "wait a --seconds 30 --stage prod"],
)
def wait(
    deployment: "Deployment",
    document: str,
    *,
    seconds: float = 300.0,
    source: str | None = None,
    target: str | None = None,
) -> Waited:
    """Wait until the last write of a document can be found by a search; exit with 1 if not."""
    from ops.items import read_key

    settings = deployment.source(source)
    name, key = read_key(deployment, settings, document)
    chosen = waiting(deployment, settings, name, key, target=target)
    chosen.check_known()
    return chosen.until_found(seconds)


def waiting(
    deployment: "Deployment",
    source: SourceSettings,
    document: DocumentId,
    key: Mapping[str, Any],
    *,
    target: str | None = None,
) -> Waiting:
    """Say what to wait for: one target, or all that the source feeds."""
    named = [deployment.pair(source.name, target)[1]] if target else None
    targets = named or [deployment.targets[name] for name in source.targets]
    return Waiting(deployment, source, targets, document, key)


def _known(row: LedgerRow | None) -> str:
    if row is None:
        return "the ledger does not know it"
    error = f", last error {row.errors[-1].kind}: {row.errors[-1].message}" if row.errors else ""
    return f"it is {row.status}{error}"
