"""Chunks by tokens: complete, within the limit, stable under a local edit."""

import random
import zlib
from collections.abc import Callable
from itertools import pairwise
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from functions.core.document import HASH_SCHEME
from functions.embed import chunking
from functions.embed.chunking import count_tokens, split, starts
from local.provider.minilm import find_model_folder

PARAGRAPHS = [
    f"Paragraph {number} speaks of topic {number * 7919 % 1000}. " * (number % 5 + 3)
    for number in range(60)
]


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=400))
@settings(max_examples=200, deadline=None)
def test_no_word_is_lost(text: str) -> None:
    """R11: every character but white space between chunks is in one of them."""
    joined = "".join("".join(chunk.split()) for chunk in split(text, max_tokens=10))

    assert joined == "".join(text.split())


@given(text=st.text(st.sampled_from("ab. \n\u3000é👍"), max_size=400))
@settings(max_examples=200, deadline=None)
def test_every_chunk_is_found_where_it_stands(text: str) -> None:
    """R51: also one of several that are alike; only white space stands between two."""
    chunks = split(text, max_tokens=5)

    places = starts(chunks, text)

    assert [text[at : at + len(chunk)] for at, chunk in zip(places, chunks, strict=True)] == chunks
    ends = [0, *(at + len(chunk) for at, chunk in zip(places, chunks, strict=True))]
    gaps = [text[end:at] for end, at in zip(ends, [*places, len(text)], strict=True)]
    assert "".join(gaps).strip() == ""


@pytest.mark.parametrize("space", ["\n", " ", "\n \n", "\u3000"])
@pytest.mark.parametrize("size", [1, 100, 17_000])
def test_white_space_around_a_text_is_no_part_of_it(space: str, size: int) -> None:
    """R11 R35: however much of it there is; at its beginning it ended the run."""
    text = f"{space * size}Hello.{space * size}World.{space * size}"

    chunks = split(text, max_tokens=64)

    assert "".join("".join(chunk.split()) for chunk in chunks) == "Hello.World."
    assert starts(chunks, text)[0] == len(space * size)


def test_largest_item_is_split() -> None:
    """R11: 390 KB of text, as DynamoDB allows, within seconds and without a download."""
    text = "\n\n".join(PARAGRAPHS * 60)[:390_000]

    chunks = split(text, max_tokens=400)

    assert 200 < len(chunks) < 500


@pytest.mark.parametrize(
    "text",
    ["нет" * 5000, "漢字かな交じり文" * 1000, "👩‍👩‍👧" * 800, "\x00\x01\x02" * 3000, "a" * 40_000],
    ids=["cyrillic", "cjk", "emoji", "control", "one word"],
)
def test_any_script_is_split_within_the_limit(text: str) -> None:
    """R11: scripts without spaces and words without end are cut all the same."""
    chunks = split(text, max_tokens=100)

    assert len(chunks) > 1
    assert all(len(split(chunk, max_tokens=100)) == 1 for chunk in chunks)


@pytest.mark.parametrize(
    "text",
    ["=" * 6400, "= " * 3000, "-+" * 3000 + "\n" + "word " * 900, " " * 900 + "ü" * 4000],
    ids=["one sign", "signs", "signs and words", "letters of two bytes"],
)
@pytest.mark.parametrize("max_bytes_per_token", [1, 8])
def test_chunk_has_its_most_bytes_whatever_the_vocabulary(
    text: str, max_bytes_per_token: int
) -> None:
    """R16: 16 of "=" are one token for OpenAI, and 16 for other models."""
    chunks = split(text, max_tokens=400, max_bytes_per_token=max_bytes_per_token)

    assert max(len(chunk.encode()) for chunk in chunks) <= 400 * max_bytes_per_token
    assert "".join("".join(chunk.split()) for chunk in chunks) == "".join(text.split())


def test_chunk_fits_a_model_of_another_vocabulary() -> None:
    """R16: what counts 400 tokens with OpenAI's has 6,400 with BERT's; two marks come on top."""
    bert = Tokenizer.from_file(str(find_model_folder() / "tokenizer.json"))
    bert.no_truncation()
    bert.no_padding()
    text = "=" * 6400 + " " + "word " * 900 + "漢字" * 300

    chunks = split(text, max_tokens=400, max_bytes_per_token=1)

    assert len(bert.encode("=" * 6400).ids) > 6400
    assert max(len(bert.encode(chunk).ids) for chunk in chunks) <= 400 + 2


def test_limit_of_bytes_cuts_between_words() -> None:
    """R16: a word that fits stays whole."""
    words = [f"word{number}" for number in range(500)]

    chunks = split(" ".join(words), max_tokens=100, max_bytes_per_token=1)

    assert [word for chunk in chunks for word in chunk.split()] == words


def test_ordinary_text_is_cut_by_tokens_alone() -> None:
    """R16: the usual limit of bytes is for text that is not ordinary."""
    text = "\n\n".join(PARAGRAPHS)

    assert split(text, max_tokens=100, max_bytes_per_token=8) == split(text, max_tokens=100)


@given(
    lengths=st.lists(st.integers(1, 60), min_size=60, max_size=60),
    place=st.integers(0, 59),
    separator=st.sampled_from(["\n\n", "\n", " "]),
)
@settings(max_examples=40, deadline=None)
def test_edit_of_one_part_leaves_the_chunks_far_away(
    lengths: list[int], place: int, separator: str
) -> None:
    """R06: paragraphs, lines or sentences of any length: boundaries do not shift onward."""
    parts = [
        " ".join(f"word{number * 7919 % 997}" for _ in range(length)) + f" part {number}."
        for number, length in enumerate(lengths)
    ]
    edited = [*parts[:place], "Something else, of another length.", *parts[place + 1 :]]

    before = split(separator.join(parts), max_tokens=100)
    after = split(separator.join(edited), max_tokens=100)

    new = len(set(after) - set(before))
    assert new <= len(after) / 3


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("hello", 2), ("word " * 100, 125), ("7" * 100, 25), ("漢字" * 50, 75)],
    ids=["short", "words", "digits", "cjk"],
)
def test_tokens_are_counted_at_least_as_the_provider_does(text: str, tokens: int) -> None:
    """R09: a quarter of the bytes, or more where the vocabulary needs more."""
    assert count_tokens(text, most=400) >= tokens


def test_count_never_exceeds_the_limit_of_the_chunk() -> None:
    """R09: a chunk was split by that limit, so it cannot be above it."""
    [chunk, *_] = split("\x00\x01\x02\x03" * 3000, max_tokens=100)

    assert count_tokens(chunk, most=100) <= 100


WORDS = ["a", "naïve", "don't", "mother-in-law", "https://example.com/a?b=c", "me@example.com"]
# Characters of several code points: marks, joined emoji, flags, Hangul, Thai, Devanagari.
CHARACTERS = ["e\u0301", "a\u0323\u0302", "👩‍👩‍👧", "👍🏽", "🇩🇪", "🇫🇷", "1\ufe0f\u20e3"]
CHARACTERS += ["한", "\u1112\u1161\u11ab", "ก็", "น้ำ", "\u0928\u093f", "x", "漢"]


@pytest.mark.parametrize(("max_tokens", "max_bytes_per_token"), [(25, 32), (100, 32), (40, 1)])
def test_no_word_is_cut(max_tokens: int, max_bytes_per_token: int) -> None:
    """R16: of a text without sentences and lines, by tokens and by bytes."""
    text = " ".join(random.Random(7).choices(WORDS, k=3000))

    chunks = split(text, max_tokens=max_tokens, max_bytes_per_token=max_bytes_per_token)

    assert len(chunks) > 50
    assert " ".join(chunks) == text


@given(
    words=st.lists(
        st.lists(st.sampled_from(CHARACTERS), min_size=1, max_size=40), min_size=1, max_size=40
    ),
    max_bytes_per_token=st.sampled_from([1, 4, 32]),
)
@settings(max_examples=200, deadline=None)
def test_only_a_word_that_does_not_fit_is_cut_and_no_character(
    words: list[list[str]], max_bytes_per_token: int
) -> None:
    """R16: whatever the scripts; 20 bytes have at most 20 tokens."""
    text = " ".join("".join(word) for word in words)

    chunks = split(text, max_tokens=20, max_bytes_per_token=max_bytes_per_token)

    parts = iter([part for chunk in chunks for part in chunk.split()])
    for word in words:
        ends = {len("".join(word[:number])) for number in range(len(word) + 1)}
        found = next(parts)
        assert found == "".join(word) or len("".join(word).encode()) > 20
        while len(found) in ends and len(found) < max(ends):
            found += next(parts)
        assert found == "".join(word)


def test_joined_parts_keep_their_white_space() -> None:
    """R11: the end of a long sentence and the short ones behind it."""
    for words in range(40, 60):
        text = "seven words of one very long sentence " * 9 + "end " * words + "end. One. Two."

        chunks = split(text, max_tokens=40)

        assert not any(".One" in chunk or ".Two" in chunk for chunk in chunks)


STRUCTURED = "\n\n".join(
    f"Paragraph {number} speaks of topic {number * 7919 % 1000}. " * (number % 5 + 3)
    + f"\nLine {number}"
    for number in range(12)
)
SENTENCES = " ".join(f"Sentence {number} says {number * 7919 % 1000}." for number in range(80))
ONE_WORD = "wort" * 300
COMPOUNDS = "mother-in-law https://example.com/a?b=c " * 40
SCRIPTS = "これは試験です。" * 60 + " Ende. " + "emoji 🎉 " * 50


@pytest.mark.parametrize(
    ("text", "max_tokens", "lengths"),
    [
        (
            STRUCTURED,
            40,
            [100, 139, 131, 40, 131, 73, 131, 106, 106, 139, 131, 40, 131, 73, 131, 106, 110, 144],
        ),
        (STRUCTURED, 100, [241, 172, 205, 346, 313, 205, 350, 144]),
        (SENTENCES, 300, [798, 633, 304]),
        (ONE_WORD, 40, [160] * 7 + [80]),
        (COMPOUNDS, 40, [133, *[119] * 12, 25]),
        (SCRIPTS, 40, [32] * 14 + [38] + [79] * 5),
        (SCRIPTS, 100, [64] * 7 + [38, 199, 199]),
    ],
    ids=[
        "structured-40",
        "structured-100",
        "sentences",
        "one-word",
        "compounds",
        "scripts-40",
        "scripts-100",
    ],
)
def test_boundaries_are_those_of_this_hash_scheme(
    text: str, max_tokens: int, lengths: list[int]
) -> None:
    """R06: an unchanged document is not written again, so its entry keeps the old chunks."""
    found = [len(chunk) for chunk in split(text, max_tokens=max_tokens)]

    assert (HASH_SCHEME, found) == ("5", lengths), (
        "the chunker cuts elsewhere: raise HASH_SCHEME in functions/core/document.py, so that"
        " every document is cut anew, and then update the scheme and the lengths here"
    )


REPEATED = "".join(f"{name} line\n" for name in ("a", "b") * 10_000)
# Each is joined to the chunk before it, which grows by one line at a time.
ORDERED = "".join(
    sorted((f"line {n}\n" for n in range(10_000)), key=lambda line: zlib.crc32(line[:-1].encode()))
)


@pytest.mark.parametrize(
    ("text", "most_chunks"), [(REPEATED, 24), (ORDERED, 32)], ids=["repeated", "ordered"]
)
def test_no_text_is_measured_without_end(
    text: str, most_chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R09 R24: 400 KB of a few lines took minutes, which is more than a run has."""
    measured: list[int] = []
    fits = chunking._fits

    def counted(part: str, max_tokens: int) -> bool:
        measured.append(len(part))
        return fits(part, max_tokens)

    monkeypatch.setattr(chunking, "_fits", counted)

    chunks = split(text, max_tokens=4000)

    assert len(chunks) <= most_chunks
    longest = [size for size in measured if size > 4000]
    assert sum(longest) < 20 * len(text)


@pytest.mark.parametrize(("size", "tokens"), [(32, 32), (33, 9)])
def test_bytes_of_a_short_text_are_its_tokens(size: int, tokens: int) -> None:
    """R09: counting them is good enough, and no question to the splitter."""
    assert count_tokens("word " * 6 + "x" * (size - 30), most=100) == tokens


@given(seed=st.integers(0, 10_000), count=st.integers(5, 40))
@settings(max_examples=50, deadline=None)
def test_neighbours_that_fit_into_one_chunk_are_joined(seed: int, count: int) -> None:
    """R11: so that chunks are filled by more than a half, however short the lines are."""
    numbers = random.Random(seed)
    text = "\n".join(f"{numbers.randrange(10**6)} is a number" for _ in range(count))

    chunks = split(text, max_tokens=40)

    assert len(chunks) >= count / 6
    assert all(split(chunk, max_tokens=40) == [chunk] for chunk in chunks)
    together = [split(f"{one}\n{other}", max_tokens=40) for one, other in pairwise(chunks)]
    assert all(len(parts) > 1 or len(parts[0].encode()) > 160 for parts in together)


def test_sentences_are_joined_before_paragraphs() -> None:
    """R11: what belongs together stays together; the paragraph in the middle is too long."""
    for seed in range(30):
        numbers = random.Random(seed)
        one, *three, five = (f"The number is {numbers.randrange(10**6)}." for _ in range(5))

        chunks = split(f"{one}\n\n{' '.join(three)}\n\n{five}", max_tokens=14)

        together = (" ".join(three[:2]), " ".join(three[1:]))
        assert any(two in chunk for chunk in chunks for two in together)


def sentence(words: random.Random) -> str:
    """Make a sentence of 5 to 50 tokens."""
    return " ".join(words.choices(WORDS_OF_TEXT, k=words.randint(4, 20))) + "."


def paragraph(words: random.Random) -> str:
    """Make a paragraph of at most about one chunk."""
    return " ".join(sentence(words) for _ in range(words.randint(1, 4)))


WORDS_OF_TEXT = [first + last for first in ("ta", "ke", "sul") for last in ("na", "um", "ford")]


@pytest.mark.parametrize(
    ("make", "separator"), [(paragraph, "\n\n"), (sentence, " ")], ids=["paragraphs", "sentences"]
)
def test_edit_of_one_paragraph_pays_a_few_chunks_of_many(
    make: Callable[[random.Random], str], separator: str
) -> None:
    """R06: parts of documents of about 50 chunks, replaced and inserted: about 3 % is paid."""
    shares = []
    for seed in range(10):
        words = random.Random(seed)
        parts = [make(words) for _ in range(56 if make is paragraph else 138)]
        before = split(separator.join(parts), max_tokens=100)
        tokens = sum(count_tokens(chunk, most=100) for chunk in before)
        for place in words.sample(range(len(parts)), 6):
            edited = [*parts[:place], make(words), *parts[place + place % 2 :]]
            new = set(split(separator.join(edited), max_tokens=100)) - set(before)
            shares.append(sum(count_tokens(chunk, most=100) for chunk in new) / tokens)

    assert 45 < len(before) < 55
    assert mean(shares) < 0.04
    assert sum(share < 0.06 for share in shares) >= 0.9 * len(shares)
    assert max(shares) < 0.1


def test_edit_of_words_without_any_sign_leaves_the_chunks_far_away() -> None:
    """R06: as of a speech that a machine wrote down."""
    words = random.Random(7).choices(WORDS_OF_TEXT, k=2500)

    before = split(" ".join(words), max_tokens=100)
    after = split(" ".join([*words[:50], "another", "beginning", *words[52:]]), max_tokens=100)

    assert len(before) > 25
    assert len(set(after) - set(before)) <= 5


def test_sentences_without_white_space_between_them_are_cut_apart() -> None:
    """R16: Chinese and Japanese have none; what closes a quotation stays with it."""
    text = "「彼は走った。」彼女も走った。そして全員が走った。" * 20

    chunks = split(text, max_tokens=60)

    assert len(chunks) > 5
    assert all(chunk[-1] in "。」" and chunk[0] != "」" for chunk in chunks)


@pytest.mark.parametrize(("space", "joined"), [("  ", True), ("   ", False)])
def test_neighbours_are_joined_up_to_four_bytes_a_token(space: str, joined: bool) -> None:
    """R35: so many an ordinary text has."""
    neighbours = f"Information about the tortoise.  It tells of a hare who slept.{space}"
    assert len(neighbours) == (64 if joined else 65)

    chunks = split(f"{neighbours}We do as we may, so it is as it was on a day. ", max_tokens=16)

    assert (chunks[0] == neighbours.strip()) is joined
