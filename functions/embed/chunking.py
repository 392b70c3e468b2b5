"""Text -> chunks by tokens, without any download: the splitter carries its vocabulary.

Boundaries follow the content around them: an edit moves none that is far away, so that an
edited paragraph is paid alone.
"""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from typing import NamedTuple

from semantic_text_splitter import TextSplitter

# The splitter finds its vocabulary (cl100k) by the name of a model. Tokens are counted with it
# whatever the provider: ordinary text has about as many in others, but 16 of "=" are one token
# here and 16 in BERT's. That is what the limit of bytes per token is for.
VOCABULARY = "text-embedding-3-small"
# Of ordinary text.
BYTES_PER_TOKEN = 4
# Paragraphs, lines, sentences; what is still too long is cut between words.
SEPARATORS = (
    re.compile(r"\n[^\S\n]*\n\s*"),
    re.compile(r"\n\s*"),
    re.compile(r"(?<=[.!?])\s+|[。！？][」』）”]*\s*"),  # noqa: RUF001
)
# With the white space behind it.
WORD = re.compile(r"\S+\s*")
# A sentence that is too long is cut into units of so many words at least.
LEAST_WORDS = 8
# A word without end is given to the splitter in blocks: its time grows faster than the text.
BLOCK_CHARACTERS_PER_TOKEN = 16
# So short that counting its bytes is good enough.
SHORT_BYTES = 32
# So long that no text of that many bytes fits.
LONG_BYTES_PER_TOKEN = 32
# A unit that was there fewer units ago is repeated.
REPEAT_UNITS = 256
# Joining measures a text about four times over. One that is made to need more keeps smaller
# chunks, instead of taking minutes.
MOST_MEASURED = 16
# All share the vocabulary, and one more is made in microseconds: it is only that guesses have many
# sizes.
MOST_SPLITTERS = 64


def split(
    text: str, *, max_tokens: int, max_bytes_per_token: int = LONG_BYTES_PER_TOKEN
) -> list[str]:
    """Cut into chunks of at most so many tokens, and at most so many bytes for each of them."""
    max_bytes = max_tokens * max_bytes_per_token
    # White space before the first word belongs to no unit: nothing of it is kept.
    text = text.lstrip()
    if _fits(text, max_tokens):
        chunks = [text]
    else:
        ordinary = min(max_bytes, max_tokens * BYTES_PER_TOKEN)
        chunks = list(_join(list(_units(text, max_tokens)), max_tokens, ordinary))
    within = [part for chunk in chunks for part in _within(chunk, max_bytes)]
    return [chunk.strip() for chunk in within if chunk.strip()]


def starts(chunks: Sequence[str], text: str) -> list[int]:
    """Return where each chunk stands in the text that was split: in order, without overlap."""
    places, end = [], 0
    for chunk in chunks:
        places.append(text.index(chunk, end))
        end = places[-1] + len(chunk)
    return places


def count_tokens(text: str, *, most: int) -> int:
    """Count at least what the provider will, and hardly a quarter more; `most` is the limit
    that the text was split by.

    The splitter cannot count, but it can tell whether a text fits. An ordinary text fits into
    a quarter of its bytes, so that one question is enough.
    """
    size = _size(text)
    if size <= SHORT_BYTES:
        return min(size, most)
    guess = -(-size // BYTES_PER_TOKEN)
    while guess < most and not _fits(text, guess):
        guess += max(1, guess // 4)
    return min(guess, most)


def _within(chunk: str, max_bytes: int) -> Iterator[str]:
    """Cut a chunk that has too many bytes, between words where it has any."""
    if _size(chunk) <= max_bytes:
        yield chunk
    else:
        splitter = TextSplitter.from_callback(_size, max_bytes)
        yield from _between_words(
            chunk, lambda part: _size(part.strip()) <= max_bytes, splitter.chunks
        )


def _size(text: str) -> int:
    return len(text.encode())


class _Unit(NamedTuple):
    """A part of the text that is not cut, and how deep the separator behind it is."""

    text: str
    depth: int


def _join(units: Sequence[_Unit], max_tokens: int, max_bytes: int) -> Iterator[str]:
    """Join neighbours that fit into one chunk: sentences before lines, lines before paragraphs.

    Of equal separators their text decides which is first. So whether two neighbours are joined
    depends on the text around them, and not on where the chunks before them end.
    """
    # Of the chunk that ends, or begins, with a unit: its other end.
    first, last = list(range(len(units))), list(range(len(units)))
    sizes = [0, *accumulate(_size(unit.text) for unit in units)]
    may_measure = MOST_MEASURED * sizes[-1]
    order = list(_order(units))
    for place in sorted(range(len(units) - 1), key=order.__getitem__):
        start, end = first[place], last[place + 1]
        size = sizes[end + 1] - sizes[start]
        is_measured = size > max_tokens
        if size > max_bytes or (is_measured and may_measure < 0):
            continue
        may_measure -= size if is_measured else 0
        if _fits(_text(units, start, end), max_tokens):
            first[end], last[start] = start, end
    start = 0
    while start < len(units):
        yield _text(units, start, last[start])
        start = last[start] + 1


def _text(units: Sequence[_Unit], first: int, last: int) -> str:
    return "".join(unit.text for unit in units[first : last + 1])


def _order(units: Sequence[_Unit]) -> Iterator[tuple[int, int, int]]:
    """Tell for each unit when it is joined to the next one.

    Units that come again and again are joined to pairs, these to fours, and so on: if their chunk
    grew by one at a time, all of it would be measured each time.
    """
    seen: dict[tuple[int, int], int] = {}
    counts: Counter[tuple[int, int]] = Counter()
    for place, unit in enumerate(units):
        key = (-unit.depth, zlib.crc32(unit.text.strip().encode()))
        if place - seen.get(key, -REPEAT_UNITS) >= REPEAT_UNITS:
            # A new one: what was repeated before it decides nothing behind it.
            counts.clear()
        seen[key] = place
        counts[key] += 1
        yield (*key, counts[key] & -counts[key])


def _units(text: str, max_tokens: int, depth: int = 0) -> Iterator[_Unit]:
    """Cut a text that does not fit at the first separator, and what is too long at the next."""
    for part in _parts(text, depth):
        if len(part) < len(text) and _fits(part, max_tokens):
            yield _Unit(part, depth)
            continue
        if depth < len(SEPARATORS):
            *others, end = _units(part, max_tokens, depth + 1)
        else:
            cut_word = partial(_inside_word, max_tokens=max_tokens)
            fits = partial(_fits, max_tokens=max_tokens)
            *others, end = (_Unit(one, depth) for one in _between_words(part, fits, cut_word))
        yield from others
        yield _Unit(end.text, depth)


def _parts(text: str, depth: int) -> Iterator[str]:
    if depth < len(SEPARATORS):
        places = [found.end() for found in SEPARATORS[depth].finditer(text)]
    else:
        places = list(_places_between_words(text))
    for start, end in pairwise([0, *places, len(text)]):
        if start < end:
            yield text[start:end]


def _places_between_words(text: str) -> Iterator[int]:
    """Choose some of them by the word that they follow."""
    words = 0
    for found in WORD.finditer(text):
        words += 1
        if words >= LEAST_WORDS and zlib.crc32(found[0].strip().encode()) % LEAST_WORDS == 0:
            yield found.end()
            words = 0


def _between_words(
    text: str, fits: Callable[[str], bool], cut_word: Callable[[str], Iterable[str]]
) -> Iterator[str]:
    """Take as many words as fit, again and again; only a word that does not fit is cut."""
    # Of the words; white space before the first one belongs to it.
    places = [0, *(found.end() for found in WORD.finditer(text))]
    at, words = 0, 1
    while at + 1 < len(places):
        end = _last_that_fits(text, places, at, fits, guess=at + words)
        part = text[places[at] : places[max(end, at + 1)]]
        yield from cut_word(part) if end == at else (part,)
        words = max(end - at, 1)
        at += words


def _last_that_fits(
    text: str, places: Sequence[int], at: int, fits: Callable[[str], bool], *, guess: int
) -> int:
    """Return the number of the last place up to which the text fits; few steps from the guess."""
    low, high, step = at, len(places), 1
    while low + 1 < high:
        number = min(guess, high - 1)
        if fits(text[places[at] : places[number]]):
            low = number
        else:
            high = number
        guess = low + step if high == len(places) else (low + high) // 2
        step *= 2
    return low


def _inside_word(text: str, max_tokens: int) -> Iterator[str]:
    """Let the splitter cut; never inside a character of several code points that fits.

    The last chunk of a block may end where the block does: it begins the next one.
    """
    start, size = 0, max_tokens * BLOCK_CHARACTERS_PER_TOKEN
    while start < len(text):
        block = text[start : start + size]
        if start + size >= len(text):
            ends = [*_starts(_splitter(max_tokens), block), len(block)]
        else:
            # All of it may fit.
            by_length = TextSplitter(size - 1)
            ends = _starts(_splitter(max_tokens), block) or _starts(by_length, block) or [size]
        yield from (block[place:end] for place, end in pairwise([0, *ends]))
        start += ends[-1]


def _starts(splitter: TextSplitter, block: str) -> list[int]:
    """Return where the second chunk of a block begins, and each one behind it."""
    return [place for place, _ in splitter.chunk_indices(block)][1:]


def _fits(text: str, max_tokens: int) -> bool:
    size = _size(text)
    if size <= max_tokens:
        return True
    if size > max_tokens * LONG_BYTES_PER_TOKEN:
        return False
    # Without its white space at the ends, which the splitter would cut off.
    return len(_splitter(max_tokens).chunks(text.strip())) <= 1


@lru_cache(MOST_SPLITTERS)
def _splitter(max_tokens: int) -> TextSplitter:
    return TextSplitter.from_tiktoken_model(VOCABULARY, max_tokens)
