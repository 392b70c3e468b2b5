"""Failed documents and their dead letters as JSON lines: the archive, and what `purge` reads."""

import os
import shlex
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import ValidationError

from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow
from ops.causes import cause_of, failed_at
from ops.dead_queue import DeadLetter, visit
from ops.documents import PastError
from ops.frame import Noun
from ops.output import Answer, UsageError, moment
from ops.selection import OPTIONS, NoRowError, Selection

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("Dead letters", group="dead")


class ExportedLetter(Answer):
    """A message of a dead-letter queue."""

    message_id: str
    queue: str
    sent: datetime
    body: str


class Exported(Answer):
    """One line of an export: a document with its dead letters, or a dead letter without one."""

    stack: str
    row_key: str | None = None
    version: int = 0
    source: str = ""
    document: str = ""
    key: dict[str, dict[str, str]] | None = None
    type: str = ""
    status: str = ""
    at: datetime | None = None
    kind: str = ""
    message: str = ""
    attempts: int = 0
    errors: tuple[PastError, ...] = ()
    dead_letters: tuple[ExportedLetter, ...] = ()

    def remove_row(self, deployment: "Deployment") -> bool:
        """Remove the ledger row, if it is still failed at this version; return whether."""
        key = RowKey(self.row_key or "")
        row = deployment.ledger.read([key]).get(key)
        is_same = row is not None and row.status == self.status and row.task.version == self.version
        return row is not None and is_same and deployment.ledger.remove(row)


class Export(Answer):
    """Where an export was written."""

    file: str
    documents: int
    dead_letters: int

    def view(self) -> Iterable[str]:
        return [
            f"{self.documents} documents and {self.dead_letters} dead letters are in {self.file}"
        ]


@NOUN.stack_command(
    *OPTIONS,
    click.Option(
        ["--file"],
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Where to write; left out: dead-letters-TIME.jsonl in this folder.",
    ),
    examples=["dead export", "dead export --before 10d --file old.jsonl --stage prod"],
)
def export(deployment: "Deployment", *, file: Path | None = None, **chosen: Any) -> Export:
    """Write failed and incomplete documents, with their dead letters, as JSON lines.

    The dead letters are received, and so hidden until the command ends. No text is written, only
    what ledger and messages hold.
    """
    selection = Selection(**chosen)
    path = file or Path(f"dead-letters-{datetime.now(UTC):%Y%m%d-%H%M%S}.jsonl")
    _check_place(path)
    try:
        lines = exported(deployment, selection)
    except NoRowError as error:
        raise _file_or_document(error) from None
    _write(path, lines)
    return Export(
        file=str(path),
        documents=sum(line.row_key is not None for line in lines),
        dead_letters=sum(len(line.dead_letters) for line in lines),
    )


def _check_place(path: Path) -> None:
    """Refuse a file that cannot be made, before dead letters are received."""
    if str(path) == "-":
        raise UsageError("an export is a file, and no stream: name it with --file")
    if path.exists():
        raise UsageError(f"{path} exists: name another file with --file")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}: make it, or name another with --file")


def _file_or_document(error: NoRowError) -> UsageError:
    """Say how a file is named, if it stands in the place of an id."""
    name = error.name
    if not (name.endswith(".jsonl") or "/" in name or os.path.lexists(name)):
        return error
    return UsageError(f"{error}; a file to write is --file {shlex.quote(name)}")


def exported(deployment: "Deployment", selection: Selection) -> list[Exported]:
    """Return the lines of an export."""
    rows = {row.row_key: row for row in selection.rows(deployment)}
    letters: dict[RowKey | None, list[DeadLetter]] = {}
    for target in [selection.target] if selection.target else deployment.targets:
        for url in deployment.dead_letter_urls(target):
            for one in visit(deployment.sqs, url):
                letters.setdefault(one.row_key, []).append(one)
    stack = deployment.stack_arn
    lines = [_document(stack, row, letters.pop(key, [])) for key, row in rows.items()]
    if selection.is_everything:
        # Messages that embedq did not send, and those of documents that went on without them.
        lines += [_line(stack, [one]) for found in letters.values() for one in found]
    return lines


def read_export(file: Path, *, stack: str) -> list[Exported]:
    """Read an export of this stack, or say what is wrong with it."""
    found = []
    try:
        lines = file.read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    # Only a line feed ends a line: JSON may hold other characters that `splitlines` takes for one.
    for number, text in enumerate(lines.split("\n") if lines else (), 1):
        try:
            line = Exported.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise UsageError(
                f"{file}, line {number}, is none of `embedq dead export`: {where}: {first['msg']}"
            ) from None
        if line.stack != stack:
            raise UsageError(f"{file}, line {number}, is of another stack: {line.stack}")
        found.append(line)
    return found


def _document(stack: str, row: LedgerRow, letters: list[DeadLetter]) -> Exported:
    return _line(
        stack,
        letters,
        row_key=row.row_key,
        version=row.task.version,
        source=row.task.source,
        document=row.task.document_id,
        key=row.task.key,
        type=row.type,
        status=str(row.status),
        at=moment(failed_at(row)),
        kind=str(cause_of(row).kind),
        message=row.outcome.reason or cause_of(row).message,
        attempts=row.progress.attempts,
        errors=tuple(
            PastError(at=moment(one.at_ms), kind=one.kind, message=one.message)
            for one in row.errors
        ),
    )


def _line(stack: str, letters: list[DeadLetter], **document: Any) -> Exported:
    shown = tuple(
        ExportedLetter(message_id=one.message_id, queue=one.queue, sent=one.sent, body=one.body)
        for one in letters
    )
    return Exported(stack=stack, dead_letters=shown, **document)


def _write(path: Path, lines: Iterable[Exported]) -> None:
    """Write all lines, or leave no file that looks whole."""
    part = path.with_name(f"{path.name}.part")
    with part.open("x", encoding="utf-8") as file:
        for line in lines:
            file.write(line.model_dump_json() + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.rename(path)
