"""The mapping itself: what a search filters by, and what an index may never grow."""

from typing import Any

from functions.core.entry_shape import properties
from functions.core.settings import MetadataType
from functions.index_setup.ensure import IndexSpec, index_body

SPEC = IndexSpec(
    alias="articles",
    model="text-embedding-3-large",
    dimensions=3072,
    metadata={"language": "keyword"},
    shards=3,
    replicas=2,
    compression="4x",
)


def _metadata(kind: MetadataType) -> Any:
    return properties(dimensions=4, metadata={"a": kind})["metadata"]["properties"]["a"]


def test_index_has_the_shape_that_was_asked_for() -> None:
    """R12: shards, replicas, dimensions and an alias, so that a migration can switch it."""
    body = index_body(SPEC)

    assert SPEC.index == "articles-1"
    assert body["settings"] == {
        "index": {"knn": True, "number_of_shards": 3, "number_of_replicas": 2}
    }
    # The read alias may stand for another index, and is added only if it does not.
    assert body["aliases"] == {"articles": {"is_write_index": True}}
    assert body["mappings"]["_meta"] == {
        "model": "text-embedding-3-large",
        "dimensions": 3072,
        "compression": "4x",
    }


def test_nothing_grows_the_mapping_by_itself() -> None:
    """R12: a document with other fields is kept, and no new field appears."""
    mappings = index_body(SPEC)["mappings"]

    assert mappings["dynamic"] is False
    assert mappings["properties"]["metadata"]["dynamic"] is False


def test_values_longer_than_a_term_are_kept_and_not_refused() -> None:
    """R12: OpenSearch refuses a term of more than 32,766 bytes."""
    keyword = _metadata("keyword")

    # Four bytes is the longest that UTF-8 makes of a character.
    assert keyword["ignore_above"] * 4 < 32_766


def test_dates_may_be_text_or_milliseconds() -> None:
    """R02: as `read_document` spells them."""
    assert _metadata("date") == {
        "type": "date",
        "format": "strict_date_optional_time||epoch_millis",
    }
