"""Seed -> what the application writes: documents put, edited, deleted and made again. Pure."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random

from functions.core.lane import PRIORITIES, Lane

WRITERS = 4
OPERATIONS_PER_DOCUMENT = 5
# Mostly a short text, now and then one of many chunks.
SHORT_PARAGRAPHS = (1, 2)
LONG_PARAGRAPHS = (8, 20)
LONG_SHARE = 0.05
AUTHORS = ("ada", "barbara", "donald", "edsger", "grace")
POISON_SHARE = 0.01
SKIP_SHARE = 0.01
# Deleted and made again as it was: A -> nothing -> A.
SAME_AGAIN_SHARE = 0.3
# The next write hits the same document at once: A -> B -> A within a batch of the stream.
BURST_SHARE = 0.2


class Kind(StrEnum):
    PUT = "put"
    EDIT = "edit"
    METADATA = "metadata"  # the same text with another author
    DELETE = "delete"
    RECREATE = "recreate"


# What happens to a document that exists, by weight.
CHANGES = {Kind.EDIT: 60, Kind.METADATA: 15, Kind.DELETE: 25}


@dataclass(frozen=True)
class Content:
    """What an item holds: its paragraphs by number, so that a plan of any size is small."""

    paragraphs: tuple[int, ...]
    author: str
    priority: Lane
    is_poisoned: bool = False  # the provider refuses the text, until the storm is over
    is_skipped: bool = False  # the application asks not to embed it


@dataclass(frozen=True)
class Operation:
    """One write of the application."""

    at_seconds: float  # after the start
    writer: int
    document: str
    kind: Kind
    content: Content | None  # None: the item is deleted


def plan_operations(chance: Random, *, count: int, seconds: float) -> tuple[Operation, ...]:
    """Plan so many writes over so many seconds, in the order of their times.

    A document has one writer, so that its own order is known.
    """
    lives = [_Life(chance) for _ in range(max(1, count // OPERATIONS_PER_DOCUMENT))]
    planned: list[Operation] = []
    number = 0
    at = 0.0
    for _ in range(count):
        if not planned or chance.random() >= BURST_SHARE:
            number = chance.randrange(len(lives))
            at += chance.uniform(0, 2 * seconds / count / (1 - BURST_SHARE))
        kind, content = lives[number].go_on()
        planned.append(Operation(at, number % WRITERS, f"storm-{number}", kind, content))
    return tuple(planned)


@dataclass
class _Life:
    """One document from write to write."""

    chance: Random
    content: Content | None = None
    before: Content | None = None  # it was deleted
    next_paragraph: int = field(default=0)

    def go_on(self) -> tuple[Kind, Content | None]:
        kind = self._kind()
        match kind:
            case Kind.DELETE:
                self.before, self.content = self.content, None
            case Kind.METADATA if self.content is not None:
                others = [name for name in AUTHORS if name != self.content.author]
                self.content = replace(self.content, author=self.chance.choice(others))
            case Kind.EDIT if self.content is not None:
                self.content = self._edited(self.content)
            case _:
                self.content = self._made()
        return kind, self.content

    def _kind(self) -> Kind:
        if self.content is not None:
            return self.chance.choices(list(CHANGES), list(CHANGES.values()))[0]
        return Kind.PUT if self.before is None else Kind.RECREATE

    def _made(self) -> Content:
        if self.before is not None and self.chance.random() < SAME_AGAIN_SHARE:
            return self.before
        is_long = self.chance.random() < LONG_SHARE
        count = self.chance.randint(*(LONG_PARAGRAPHS if is_long else SHORT_PARAGRAPHS))
        return Content(
            paragraphs=tuple(self._new_paragraph() for _ in range(count)),
            author=self.chance.choice(AUTHORS),
            priority=self.chance.choice(PRIORITIES),
            is_poisoned=self.chance.random() < POISON_SHARE,
            is_skipped=self.chance.random() < SKIP_SHARE,
        )

    def _edited(self, content: Content) -> Content:
        paragraphs = list(content.paragraphs)
        paragraphs[self.chance.randrange(len(paragraphs))] = self._new_paragraph()
        return replace(
            content,
            paragraphs=tuple(paragraphs),
            is_poisoned=self.chance.random() < POISON_SHARE,
            is_skipped=self.chance.random() < SKIP_SHARE,
        )

    def _new_paragraph(self) -> int:
        self.next_paragraph += 1
        return self.next_paragraph
