"""Dead letters sent back, and removed."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from functions.core.batches import batches
from functions.core.lane import PRIORITIES, Lane
from functions.core.ledger_row import LedgerRow
from ops.dead_export import read_export
from ops.dead_queue import DeadLetter, is_moving, is_obsolete, move_all, visit
from ops.frame import Noun
from ops.numbers import Count
from ops.output import Answer, CommandError, progress
from ops.proposal import Proposal
from ops.recovery import requeue_step
from ops.selection import OPTIONS, ROUND_ROWS, Selection

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("Dead letters", group="dead")

# The most that SQS moves in a second.
MOST_PER_SECOND = 500
RATE = click.Option(
    ["--rate"],
    type=Count(1, MOST_PER_SECOND),
    metavar="NUMBER",
    help="At most so many in a second; left out: as fast as possible.",
)


class Moving(Answer):
    """Dead letters that SQS moves back to their lanes."""

    dead_letters: int
    without_dead_letter: int  # failed documents that have none

    def view(self) -> Iterable[str]:
        yield f"{self.dead_letters} dead letters are on their way back to their lanes"
        if self.without_dead_letter > 0:
            yield (
                f"{self.without_dead_letter} failed documents have no dead letter:"
                " `embedq dead requeue` sends them"
            )


class SentAgain(Answer):
    """Documents that were sent again from the ledger."""

    sent: int
    chosen: int
    removed: int  # dead letters that are not needed any more

    def view(self) -> Iterable[str]:
        return [
            f"{self.sent} of {self.chosen} documents sent again, with all their attempts;"
            f" {self.removed} dead letters removed that this replaces"
        ]


class Purged(Answer):
    """What was removed for good."""

    dead_letters: int
    rows: int
    file: str

    def view(self) -> Iterable[str]:
        return [
            f"{self.dead_letters} dead letters and {self.rows} ledger rows removed;"
            f" they are in {self.file}"
        ]


@NOUN.change_command(
    *OPTIONS,
    RATE,
    asks=True,
    examples=[
        "dead redrive",
        "dead redrive --rate 50 --stage prod",
        'dead redrive --cause "answered 400" --since 1d',
    ],
)
def redrive(
    deployment: "Deployment", *, rate: int | None = None, **chosen: Any
) -> Proposal[Moving | SentAgain]:
    """Send dead letters back to their lanes: all by SQS itself, or chosen documents.

    Chosen ones are sent from the ledger, with all their attempts, and their dead letters are
    removed.
    """
    selection = Selection(**chosen)
    if not selection.is_everything:
        return _sending(deployment, selection.rows(deployment), rate=rate, lane=None)
    targets = [deployment.target(selection.target).name] if selection.target else None
    letters = sum(map(deployment.count_dead_letters, targets or deployment.targets))
    failed = sum(row.status.is_failed for row in selection.rows(deployment))
    doing = f"let SQS move {letters} dead letters back to their lanes"

    def act() -> Moving:
        moved = redrive_all(deployment, targets=targets, rate=rate)
        return Moving(dead_letters=moved, without_dead_letter=max(0, failed - moved))

    return Proposal(doing, letters, act, (f"{_sentence(doing)}?",) if letters else ())


@NOUN.change_command(
    *OPTIONS,
    click.Option(
        ["--lane"],
        type=click.Choice([str(lane) for lane in PRIORITIES]),
        help="The lane for all of them; left out: each to its own.",
    ),
    RATE,
    asks=True,
    examples=[
        "dead requeue tortoise-and-hare --lane high",
        "dead requeue --cause 3fa2c1 --rate 20 --stage prod",
    ],
)
def requeue(
    deployment: "Deployment", *, lane: str | None = None, rate: int | None = None, **chosen: Any
) -> Proposal[SentAgain]:
    """Send failed and incomplete documents again from the ledger, with all their attempts.

    It needs no dead letter: those are kept for 14 days only.
    """
    rows = Selection(**chosen).rows(deployment)
    return _sending(deployment, rows, rate=rate, lane=Lane(lane) if lane else None)


@NOUN.change_command(
    click.Argument(
        ["file"], type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The export."
    ),
    click.Option(
        ["--rows"],
        is_flag=True,
        help="Remove the ledger rows of its documents too: nothing knows about them until their"
        " next write.",
    ),
    asks=True,
    needs_reason=True,
    examples=[
        'dead purge dead.jsonl --reason "old articles, never corrected" --stage prod',
        'dead purge dead.jsonl --rows --reason "their source is gone"',
    ],
)
def purge(
    deployment: "Deployment", *, file: Path, reason: str, rows: bool = False
) -> Proposal[Purged]:
    """Remove the dead letters that `embedq dead export` has written to a file, and no others."""
    del reason  # Kept with the action.
    exported = read_export(file, stack=deployment.stack_arn)
    ids = {letter.message_id for one in exported for letter in one.dead_letters}
    documents = [one for one in exported if one.row_key is not None]
    what = f"{len(ids)} dead letters" + (f" and {len(documents)} ledger rows" if rows else "")
    doing = f"remove {what} that are in {file}"

    def act() -> Purged:
        removed = _remove_letters(
            deployment, deployment.targets, lambda letters: _with_id(letters, ids)
        )
        gone = sum(one.remove_row(deployment) for one in documents) if rows else 0
        return Purged(dead_letters=removed, rows=gone, file=str(file))

    questions = (f"{_sentence(doing)}?", "There is no way back but this file. Is it kept safely?")
    return Proposal(doing, len(documents), act, questions)


def redrive_all(
    deployment: "Deployment", *, targets: Collection[str] | None = None, rate: int | None = None
) -> int:
    """Let SQS move every dead letter back to its lane; return how many there were."""
    sqs = deployment.sqs
    urls = [
        url for one in targets or deployment.targets for url in deployment.dead_letter_urls(one)
    ]
    waiting = {url: number for url in urls if (number := deployment.depth(url)[0])}
    for url in waiting:
        _refuse_moving(sqs, url)
    for url in waiting:
        move_all(sqs, url, rate=rate)
    return sum(waiting.values())


def _sending(
    deployment: "Deployment", rows: Sequence[LedgerRow], *, rate: int | None, lane: Lane | None
) -> Proposal[SentAgain]:
    where = f"to lane {lane}" if lane else "to their lanes"
    doing = f"send {len(rows)} failed or incomplete documents again {where}"

    def act() -> SentAgain:
        step = requeue_step(deployment)
        parts = paced(list(batches(rows, min(rate or ROUND_ROWS, ROUND_ROWS))), rate)
        sent = sum(len(step.start_over(part, lane)) for part in progress(parts, "sending"))
        targets = {row.task.target for row in rows}
        removed = _remove_letters(
            deployment, targets, lambda letters: _obsolete(deployment, letters)
        )
        return SentAgain(sent=sent, chosen=len(rows), removed=removed)

    return Proposal(doing, len(rows), act, (f"{_sentence(doing)}?",) if len(rows) > 1 else ())


def paced(
    parts: Sequence[Sequence[LedgerRow]],
    rate: int | None,
    wait: Callable[[float], None] = time.sleep,
) -> Iterator[Sequence[LedgerRow]]:
    """Yield parts so that no more than `rate` rows go in a second."""
    for number, part in enumerate(parts):
        if number and rate:
            wait(len(parts[number - 1]) / rate)
        yield part


def _remove_letters(
    deployment: "Deployment",
    targets: Iterable[str],
    chosen: Callable[[Sequence[DeadLetter]], Collection[DeadLetter]],
) -> int:
    removed: set[str] = set()

    def remembered(letters: Sequence[DeadLetter]) -> Collection[DeadLetter]:
        found = chosen(letters)
        removed.update(one.message_id for one in found)
        return found

    for target in targets:
        for url in deployment.dead_letter_urls(target):
            if deployment.depth(url)[0]:
                _refuse_moving(deployment.sqs, url)
                for _ in visit(deployment.sqs, url, remembered):
                    pass
    return len(removed)


def _obsolete(deployment: "Deployment", letters: Sequence[DeadLetter]) -> list[DeadLetter]:
    keys = [one.row_key for one in letters if one.row_key]
    rows = deployment.ledger.read(keys)
    return [one for one in letters if is_obsolete(one, rows)]


def _with_id(letters: Sequence[DeadLetter], ids: Collection[str]) -> list[DeadLetter]:
    return [one for one in letters if one.message_id in ids]


def _refuse_moving(sqs: Any, url: str) -> None:
    if is_moving(sqs, url):
        name = url.rsplit("/", 1)[-1]
        raise CommandError(f"SQS moves the dead letters of {name} just now: try again in a minute")


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
