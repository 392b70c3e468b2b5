"""Phrases and names that were hard to read stay out; docs/glossary.md has the words to use."""

import re

import pytest

from tests.repo.checkout import texts

PHRASES = [
    "who dies",
    "gives it up that way",
    "whether nobody",
    "will not listen",
    "took it, or is still busy",
    "nobody had time",
    "tell who looks for it",
    "no provider refuses for what it says",
    "it is the whole of it",
    "paid and not heard",
    "the next death",
    "charges nobody",
    "charging nobody",
    "grave",
    "shall die",
    "by this it knows itself",
    "no version is above that of",
    "nobody's fault",
    "new life",
    "nothing happens to",
    "nothing to do, or not now",
    "guilty",
    "innocent",
    "blame",
]
# As names or values in code; in a sentence they are plain words.
NAMES = [
    r"\w*UNTOLD\w*",
    r"(?<=\.)told|told(?=: | ?=|\[)|_told|told_\w+|Told",
    r"(?<=[._])rest(?!\w|\()",
    r"\w*Nursery\w*",
    r"bury|buried|let_die",
    "guards",
    "ENOUGH",
    "ANCHOR_EVERY",
    '(?<=")rest(?=")',
]
ALLOWED = ("tests/repo/test_words.py", "LICENSE")


def found(pattern: str, files: str = "*") -> list[str]:
    """Return every place where a pattern stands as words of their own."""
    words = re.compile(rf"(?<!\w)(?:{pattern})s?(?!\w)", re.IGNORECASE if files == "*" else 0)
    return [
        f"{path}:{number}: {line.strip()}"
        for path, text in texts(files).items()
        if path not in ALLOWED and words.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if words.search(line)
    ]


@pytest.mark.parametrize("phrase", PHRASES)
def test_phrase_stays_out(phrase: str) -> None:
    """Plain English: in code, tests and documents."""
    assert found(re.escape(phrase)) == []


@pytest.mark.parametrize("name", NAMES)
def test_name_stays_out_of_the_code(name: str) -> None:
    """Plain English: a name says what it is."""
    assert found(name, "*.py") == []


def test_phrase_is_found_in_any_case() -> None:
    """Plain English: the search sees what it looks for."""
    assert found("a glossary that nobody wrote") == []
    assert len(found("Apache-2.0")) > 0
    assert found("UNKNOWN", "*.py") != []
