"""Tables against their indexes on the real engines: every kind of damage is found and mended."""

from typing import Any

import pytest

from functions.backfill.compare import Compare
from functions.core.verification import Kind
from ops.verification import Differences, verify
from tests.stack.articles import Articles
from tests.waiting import until


@pytest.fixture
def damaged(articles: Articles) -> dict[str, Kind]:
    """Damage six of eight documents, each in its own way; return what verify should find."""
    names = {kind: articles.new_name(kind.replace(" ", "-")) for kind in Kind}
    good = [articles.new_name("good") for _ in range(2)]
    for name in (*names.values(), *good):
        articles.put(name, f"hello {name}")
    articles.wait(*names.values(), *good)
    articles.remove_entry(names[Kind.MISSING])
    articles.spoil_entry(names[Kind.STALE], content_hash="of another text", check=1)
    articles.spoil_entry(names[Kind.WRONG_MODEL], content_hash="x", check=1, model="another")
    articles.spoil_entry(names[Kind.WITHOUT_VECTORS], chunks=[{"text": "hello"}])
    articles.spoil_entry(names[Kind.WRONG_VERSION], version_bits=1)
    ghost = names.pop(Kind.ORPHANED) + "-ghost"
    articles.add_entry(ghost)
    return {name: kind for kind, name in names.items()} | {ghost: Kind.ORPHANED}


def found(answer: Differences) -> dict[str, Kind]:
    return {one.document: one.kind for one in answer.differences}


def checked(articles: Articles, **options: Any) -> Differences:
    return verify(articles.deployment, source="articles", wait=lambda _: None, **options)


def test_every_kind_of_damage_is_found_and_mended(
    articles: Articles, damaged: dict[str, Kind]
) -> None:
    """R45: missing, stale, orphaned, without vectors, wrong model and version; exit codes tell."""
    before = checked(articles)

    assert found(before) == damaged
    assert before.exit_code == 1
    repaired = checked(articles, repair=True, yes=True)
    assert (repaired.sent, repaired.exit_code) == (len(damaged), 0)
    until(lambda: checked(articles).exit_code == 0, "table and index agree again")


def test_only_unequal_buckets_are_read_on_both_sides(
    articles: Articles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R45: a table that agrees with its index is scanned once, and no document is asked for."""
    name = articles.new_name()
    articles.indexed(name, "hello")
    assert checked(articles).exit_code == 0
    asked: list[str] = []
    whole = Compare.suspects_among_items

    def noted(self: Compare, items: Any, buckets: Any = None) -> Any:
        suspects = whole(self, items, buckets)
        asked.extend(suspects)
        return suspects

    monkeypatch.setattr(Compare, "suspects_among_items", noted)
    articles.remove_entry(name)

    assert found(checked(articles)) == {name: Kind.MISSING}

    assert asked == [name]
    articles.put(name, "hello again")
    articles.wait(name, above=articles.row(name).task.version - 1)
