"""Planned writes -> items, and the texts that their versions need. Pure."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from random import Random
from typing import Any

from benchmarks.storm.operations import Content, Operation
from functions.core.document import Document, read_document
from functions.core.settings import SourceSettings, TargetSettings
from functions.embed.prepare import split_text
from local.provider.request import count_tokens

# The provider refuses a text with this word in it, until the storm is over.
POISON = "xyzzy"
PARAGRAPH_WORDS = (20, 60)
VOCABULARY = 5000


def item(document: str, content: Content) -> dict[str, Any]:
    """Write an item as the application does."""
    paragraphs = [_paragraph(document, number) for number in content.paragraphs]
    if content.is_poisoned:
        paragraphs.append(f"The provider refuses {POISON} of {document}.")
    return {
        "id": document,
        "title": f"Title of {document}",
        "body": "\n\n".join(paragraphs),
        "author": content.author,
        "priority": str(content.priority),
        "skip_embedding": content.is_skipped,
    }


def texts_needed(
    operations: Iterable[Operation], source: SourceSettings, target: TargetSettings
) -> Counter[str]:
    """Count the chunks that all versions need: each only those that the one before lacks."""
    needed: Counter[str] = Counter()
    held: dict[str, frozenset[str]] = {}
    for operation in operations:
        chunks = _chunks(operation, source, target)
        needed.update(chunks - held.get(operation.document, frozenset()))
        held[operation.document] = chunks
    return needed


def tokens_of(texts: Counter[str]) -> int:
    """Count what they cost, each as often as it is there."""
    return sum(count_tokens(text) * times for text, times in texts.items())


def _chunks(operation: Operation, source: SourceSettings, target: TargetSettings) -> frozenset[str]:
    if operation.content is None:
        return frozenset()
    document = read_document(item(operation.document, operation.content), source)
    if not isinstance(document, Document):
        return frozenset()
    return frozenset(embedded for _, embedded in split_text(document, target))


@lru_cache(maxsize=100_000)
def _paragraph(document: str, number: int) -> str:
    words = Random(f"{document}/{number}")
    count = words.randint(*PARAGRAPH_WORDS)
    return " ".join(f"word{words.randrange(VOCABULARY)}" for _ in range(count)) + "."
