"""Judgments from the user's own table, without any model: what is taken out of a document must find
that document. The same seed draws the same questions from the same table."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Literal, get_args

from functions.core.document import Document, read_document
from ops.output import UsageError
from ops.quality import Judgment

if TYPE_CHECKING:
    from functions.backfill.ports import Table
    from functions.core.settings import SourceSettings

# A title; a sentence; a few words of a sentence, which is harder to find.
Taken = Literal["title", "sentence", "words"]
TAKEN: tuple[Taken, ...] = get_args(Taken)

# A table is drawn from in so many parts, from the beginning of each: keys are spread by their hash.
PARTS = 100
PART_ITEMS = 20
# So many times as many documents are read as are asked for; some give no question.
SPARE = 3
# In characters: shorter ones say nothing, longer ones are lists and tables.
SENTENCE = range(25, 300)
TITLE = range(3, 300)
KEPT_WORDS = 5
WORD_CHARACTERS = 4
# After a full stop with a space, after one of a script without spaces, and before an empty line.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n\s*\n")


@dataclass(frozen=True)
class Drawn:
    """Some documents of a table, and the questions that were taken from them."""

    documents: Mapping[str, Document]
    judgments: Sequence[Judgment]


def drawn(table: "Table", source: "SourceSettings", *, most: int, taken: Taken, seed: int) -> Drawn:
    """Draw judgments from the table of a source; there may be none."""
    random = Random(seed)
    documents = dict(islice(_documents(table, source, random), SPARE * most))
    return Drawn(documents, held_out(documents, taken, random)[:most])


def sampled(
    table: "Table", source: "SourceSettings", *, most: int, taken: Taken, seed: int
) -> list[Judgment]:
    """Draw judgments from the table of a source; raise a UsageError where there are none."""
    found = list(drawn(table, source, most=most, taken=taken, seed=seed).judgments)
    if not found:
        raise UsageError(
            f"no document of table {source.table} gives a question by its {taken}: write some"
            " items, take another of title, sentence and words, or bring judgments in a file"
        )
    return found


def held_out(documents: Mapping[str, Document], taken: Taken, random: Random) -> list[Judgment]:
    """Make a question of each document that gives one, in a drawn order.

    A title that several have, or a sentence that stands in several, finds any of them.
    """
    names = random.sample(sorted(documents), len(documents))
    if taken == "title":
        titles = {name: _parts(documents[name])[0] for name in names}
        found = {
            title: [name for name in names if titles[name] == title]
            for title in titles.values()
            if len(title) in TITLE
        }
    else:
        found = dict(_from_sentences(documents, names, taken, random))
    return [
        Judgment(str(number), query, dict.fromkeys(relevant, 1))
        for number, (query, relevant) in enumerate(found.items(), start=1)
    ]


def _from_sentences(
    documents: Mapping[str, Document], names: Sequence[str], taken: Taken, random: Random
) -> Iterator[tuple[str, list[str]]]:
    texts = {name: _flat(documents[name].text) for name in names}
    for name in names:
        _, body = _parts(documents[name])
        fitting = [one for one in map(_flat, _SENTENCE_END.split(body)) if len(one) in SENTENCE]
        if not fitting:
            continue
        sentence = random.choice(fitting)
        query = sentence if taken == "sentence" else _some_words(sentence, random)
        if query:
            yield query, [other for other in names if sentence in texts[other]]


def _parts(document: Document) -> tuple[str, str]:
    """Return title and body: the title is what stands before every chunk, or the first line."""
    text, prefix = document.text.strip(), document.chunk_prefix.strip()
    first, _, rest = text.partition("\n")
    if prefix:
        return prefix, text.removeprefix(prefix)
    return (first.strip(), rest) if rest.strip() else ("", text)


def _some_words(sentence: str, random: Random) -> str | None:
    words = sentence.rstrip(".!?").split()
    places = [place for place, word in enumerate(words) if len(word) >= WORD_CHARACTERS]
    if len(places) < KEPT_WORDS:
        return None
    return " ".join(words[place] for place in sorted(random.sample(places, KEPT_WORDS)))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _documents(
    table: "Table", source: "SourceSettings", random: Random
) -> Iterator[tuple[str, Document]]:
    """Yield documents from parts of the table, in a drawn order of the parts."""
    for part in random.sample(range(PARTS), PARTS):
        page = table.scan(source, segment=part, segments=PARTS, after=None, most=PART_ITEMS)
        for one in page.items:
            document = read_document(one.item, source)
            if isinstance(document, Document):
                yield str(one.document_id), document
