"""Judgments from files: JSON lines, or qrels as TREC writes them with their queries."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, ValidationError

from functions.core.frozen import Frozen
from ops.output import UsageError
from ops.quality import Judgment

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
# The measures keep a list that is as long as the highest grade.
MAX_GRADE = 1000
GRADE_CHARACTERS = 10
Grade = Annotated[int, Field(ge=0, le=MAX_GRADE)]


class _Line(Frozen):
    """A question with its documents: their ids, or the grade of each."""

    query: Text
    relevant: dict[str, Grade] | list[str]
    id: Text | None = None


def read_json_lines(file: Path) -> list[Judgment]:
    """Read a question with its documents from each line."""
    found: dict[str, Judgment] = {}
    for number, text in _lines(file):
        try:
            line = _Line.model_validate_json(text)
        except ValidationError as error:
            raise _wrong(file, number, _first(error)) from None
        grades = line.relevant
        relevant = grades if isinstance(grades, dict) else dict.fromkeys(grades, 1)
        name = line.id or str(number)
        if name in found:
            raise _wrong(file, number, f"the id {name} stands on a line before")
        _check_ids(file, number, [name, *relevant])
        found[name] = Judgment(name, line.query, _relevant(relevant))
    return _some(file, list(found.values()))


def read_trec(qrels: Path, queries: Path) -> list[Judgment]:
    """Read qrels, and queries of one id, a tab and the text on each line."""
    texts = _queries(queries)
    grades: dict[str, dict[str, int]] = {}
    for number, text in _lines(qrels):
        match text.split():
            case [query, _, document, grade] if _is_number(grade):
                _check_ids(qrels, number, [query, document])
                grades.setdefault(query, {})[document] = _grade(qrels, number, grade)
            case _:
                raise _wrong(qrels, number, "a line is: query id, 0, document id, grade")
    if unknown := grades.keys() - texts.keys():
        raise UsageError(f"{queries} has no query {min(unknown)}, which {qrels} names")
    judged = [Judgment(name, texts[name], _relevant(found)) for name, found in grades.items()]
    return _some(qrels, judged)


def _queries(file: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, text in _lines(file):
        name, _, words = (part.strip() for part in text.partition("\t"))
        if not (name and words):
            raise _wrong(file, number, "a line is: query id, a tab, the query's text")
        if name in found:
            raise _wrong(file, number, f"the id {name} stands on a line before")
        found[name] = words
    return found


def _grade(file: Path, number: int, text: str) -> int:
    # Python itself reads no number of more than 4,300 digits.
    if len(text) > GRADE_CHARACTERS or int(text) > MAX_GRADE:
        raise _wrong(file, number, f"a grade is a number up to {MAX_GRADE}")
    return int(text)


def _check_ids(file: Path, number: int, ids: Iterable[str]) -> None:
    # The measures are computed in C, where a text ends with it: two ids may be the same there.
    if any("\0" in one for one in ids):
        raise _wrong(file, number, "an id has a NUL, which none may have")


def _relevant(grades: dict[str, int]) -> dict[str, int]:
    return {document: grade for document, grade in grades.items() if grade > 0}


def _some(file: Path, judgments: list[Judgment]) -> list[Judgment]:
    """Leave out questions without a relevant document, which say nothing about a search."""
    some = [one for one in judgments if one.relevant]
    if not some:
        raise UsageError(f"{file} names no relevant document")
    return some


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _first(error: ValidationError) -> str:
    [first, *_] = error.errors(include_url=False)
    where = ".".join(map(str, first["loc"]))
    expected = 'a line is {"query": "...", "relevant": ["ID", ...] or {"ID": GRADE, ...}}'
    return f"{where + ': ' if where else ''}{first['msg']}; {expected}"


def _wrong(file: Path, number: int, reason: str) -> UsageError:
    return UsageError(f"{file}, line {number}: {reason}")
