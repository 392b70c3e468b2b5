"""Conditions on metadata: what is read, and what is refused before anything is asked or paid."""

import pytest

from functions.core.filters import Condition, FilterError, Test, conditions, milliseconds
from functions.core.settings import MetadataType

KNOWN: dict[str, MetadataType] = {
    "author": "keyword",
    "year": "long",
    "rating": "double",
    "public": "boolean",
    "published": "date",
    "summary": "text",
}
AUGUST = 1_722_470_400_000
DAY = 86_400_000


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("author=aesop", Test("author", "keyword", "aesop")),
        ("author=a>=b = c", Test("author", "keyword", "a>=b = c")),
        ("author=", Test("author", "keyword", "")),
        (" author = aesop ", Test("author", "keyword", "aesop")),
        ("year = 2024", Test("year", "long", 2024)),
        ("year>=2024", Test("year", "long", low=2024)),
        ("year>2024", Test("year", "long", low=2024, with_low=False)),
        ("year<2024", Test("year", "long", high=2024)),
        ("year<=2024", Test("year", "long", high=2024, with_high=True)),
        ("year>=9007199254740993", Test("year", "long", low=9007199254740993)),
        ("year<9223372036854775807", Test("year", "long", high=2**63 - 1)),
        ("year=-9223372036854775808", Test("year", "long", -(2**63))),
        ("year=9223372036854775807", Test("year", "long", 2**63 - 1)),
        ("rating=0.5", Test("rating", "double", 0.5)),
        ("rating>=0.5", Test("rating", "double", low=0.5)),
        ("public=true", Test("public", "boolean", True)),
        ("public=false", Test("public", "boolean", False)),
        ("published=2024-08-01", Test("published", "date", low=AUGUST, high=AUGUST + DAY)),
        ("published=20240801", Test("published", "date", low=AUGUST, high=AUGUST + DAY)),
        ("published<=20240801", Test("published", "date", high=AUGUST + DAY)),
        ("published<20240801T000000Z", Test("published", "date", high=AUGUST)),
        ("published>=2024-08-01", Test("published", "date", low=AUGUST)),
        ("published>2024-08-01", Test("published", "date", low=AUGUST + DAY)),
        ("published<2024-08-01", Test("published", "date", high=AUGUST)),
        ("published<=2024-08-01", Test("published", "date", high=AUGUST + DAY)),
        ("published<2024-08-01T02:00:00+02:00", Test("published", "date", high=AUGUST)),
        ("published<=2024-08-01T00:00:00", Test("published", "date", high=AUGUST + 1)),
        ("summary=two words", Test("summary", "text", "two words")),
    ],
)
def test_condition_is_read_by_the_type_of_its_field(text: str, test: Test) -> None:
    """R48 R51: a day is the whole day, without a zone in UTC."""
    assert conditions([text], (), KNOWN) == (Condition((test,)),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("author", "'author' is no filter: write FIELD=VALUE, or >=, <=, > or < for ="),
        ("=aesop", "'=aesop' is no filter: write FIELD=VALUE, or >=, <=, > or < for ="),
        ("", "'' is no filter: write FIELD=VALUE, or >=, <=, > or < for ="),
        (
            "writer=aesop",
            "no source that is asked has the metadata writer; there is: author, public, published,"
            " rating, summary, year",
        ),
        ("author==aesop", "'author==aesop' is no filter: write FIELD=VALUE"),
        ("year>==2024", "'year>==2024' is no filter: write FIELD=VALUE"),
        ("author!=aesop", "'author!=aesop' is no filter: write FIELD=VALUE, or >=, <=, > or < for"),
        ("summary=", "summary is a text: name words of it, not ''"),
        ("summary=!!!", "summary is a text: name words of it, not '!!!'"),
        ("published=2024-W31", "published is a date such as"),
        ("published=2024-W31-4", "published is a date such as"),
        ("year=soon", "year is a whole number such as 2024, not 'soon'"),
        ("year=2024.5", "year is a whole number such as 2024, not '2024.5'"),
        ("year=99999999999999999999", "year is a whole number such as 2024, not '9999999999999"),
        ("year=9223372036854775808", "year is a whole number such as 2024, not '92233720368547"),
        ("rating=nan", "rating is a number such as 0.5, not 'nan'"),
        ("public=yes", "public is true or false, not 'yes'"),
        (
            "published>=yesterday",
            "published is a date such as 2024-08-01 or 2024-08-01T12:00:00Z, not 'yesterday'",
        ),
        ("published=2024-13-01", "published is a date such as"),
        ("author>=a", "author is a keyword, which has no order: write author=VALUE"),
        ("public>false", "public is a boolean, which has no order: write public=VALUE"),
    ],
)
def test_condition_that_would_find_nothing_is_refused(text: str, message: str) -> None:
    """R48: with what is allowed, wanted or not."""
    for wanted, unwanted in ([[text], []], [[], [text]]):
        with pytest.raises(FilterError) as caught:
            conditions(wanted, unwanted, KNOWN)
        assert str(caught.value).startswith(message)


def test_no_metadata_is_said() -> None:
    """R48: a stage without any."""
    with pytest.raises(FilterError, match="there is: none"):
        conditions(["a=b"], (), {})


def test_equal_twice_means_either_and_ranges_restrict() -> None:
    """R48 R51: and what is not wanted is refused, each by itself."""
    found = conditions(
        ["author=aesop", "year>=2020", "author=phaedrus", "year<2024"],
        ["public=true", "public=false"],
        KNOWN,
    )

    assert [(len(one.tests), one.negated) for one in found] == [
        (2, False),
        (1, False),
        (1, False),
        (1, True),
        (1, True),
    ]
    assert [test.value for test in found[0].tests] == ["aesop", "phaedrus"]


@pytest.mark.parametrize(
    ("held", "expected"),
    [("2024-08-01T00:00:00.000", AUGUST), (AUGUST, AUGUST), ("soon", None), (None, None)],
)
def test_date_of_an_entry_is_text_or_a_number(held: object, expected: int | None) -> None:
    """R02: as `read_document` spells them."""
    assert milliseconds(held) == expected
