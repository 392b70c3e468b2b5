"""Ids: what makes two things the same, within the limits of DynamoDB, SQS and OpenSearch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.identity import (
    BUCKETS,
    DocumentId,
    MalformedKeyError,
    bucket_of,
    check_of,
    deduplication_id,
    digest,
    document_id,
    entry_id,
    message_group,
    row_key,
    tenant_group,
    version_bits,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
LONG = DocumentId("é" * 1024)


@given(one=st.tuples(TEXT, TEXT), other=st.tuples(TEXT, TEXT))
def test_different_composite_keys_get_different_ids(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    """R02: partition and sort key are joined without ever meeting another pair."""
    ids = [document_id({"pk": {"S": pk}, "sk": {"S": sk}}, ["pk", "sk"]) for pk, sk in (one, other)]

    assert (ids[0] == ids[1]) == (one == other)


def test_composite_key_is_joined_with_a_bar() -> None:
    """R02: a bar or a percent sign of a value is escaped; the ids of stored rows depend on it."""
    key = {"pk": {"S": "a|b"}, "sk": {"N": "50%"}}

    assert document_id(key, ["pk", "sk"]) == "a%7Cb|50%25"


def test_single_key_is_the_id_itself() -> None:
    """R02: a document is called what the user calls it."""
    assert document_id({"id": {"S": "a|b%"}}, ["id"]) == "a|b%"


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ({"other": {"S": "a"}}, r"\['other'\], the source is configured with \['id'\]"),
        ({}, r"the item's key has \[\]"),
        ({"id": {"S": "\ud800"}}, "^the item's key is not valid Unicode$"),
    ],
    ids=["other attribute", "no key", "half a surrogate pair"],
)
def test_key_that_does_not_fit_is_refused(key: dict[str, dict[str, str]], reason: str) -> None:
    """R02: a wrong key is described in words."""
    with pytest.raises(MalformedKeyError, match=reason):
        document_id(key, ["id"])


def test_ids_of_the_longest_key_fit_every_limit() -> None:
    """R04 R11: 2,048 bytes of id fit a row key, an index id, a group and a deduplication id."""
    assert len(row_key("default", "articles", LONG).encode()) <= 2048
    assert len(entry_id("articles", LONG).encode()) <= 512
    assert len(message_group("articles", LONG)) <= 128
    assert len(deduplication_id(row_key("default", "articles", LONG), 1, "copy")) <= 128


@pytest.mark.parametrize(("more", "is_plain"), [(0, True), (1, False)])
def test_id_is_readable_up_to_the_limit(more: int, is_plain: bool) -> None:
    """R11: a hash only where it must be."""
    name = DocumentId("x" * (512 - len("articles/") + more))

    assert (entry_id("articles", name) == f"articles/{name}") is is_plain


def test_document_cannot_pose_as_a_hashed_one() -> None:
    """R11: the hash of a long id is no other document's id."""
    hashed = entry_id("articles", LONG)

    posing = entry_id("articles", DocumentId(hashed.removeprefix("articles/")))

    assert posing != hashed


def test_digest_stays_as_it_is() -> None:
    """R11: it is in stored row keys and entry ids."""
    expected = "a653838e75bd1f2a17c6c51ac487e2d611343e8ed2e669924ca7911e5c78ba65"

    assert digest("articles", "a") == expected


def test_documents_of_two_sources_are_two_groups() -> None:
    """R04: one source's slow document does not delay another's of the same name."""
    groups = {message_group(source, DocumentId("a")) for source in ("articles", "mails")}

    assert len(groups) == 2


def test_each_version_is_another_task() -> None:
    """R04: A -> B -> A has three deduplication ids."""
    row = row_key("default", "articles", DocumentId("a"))

    assert len({deduplication_id(row, version, "") for version in (1, 2, 3)}) == 3


@pytest.mark.parametrize(
    ("tenant", "is_itself"),
    [
        ("acme-7", True),
        ("a" * 128, True),
        ("", True),
        ("!~", True),
        ("a" * 129, False),
        ("two words", False),
        ("größer", False),
        ("\ud800", False),
    ],
)
def test_tenant_is_a_message_group_that_sqs_takes(tenant: str, is_itself: bool) -> None:
    """R19: letters, digits and punctuation, 128 at most; all else is hashed."""
    group = tenant_group(tenant)

    assert (group == tenant) is is_itself
    assert len(group) <= 128
    assert group.isascii()
    assert " " not in group
    assert tenant_group(tenant + "x") != group


def test_bucket_of_an_entry_never_changes() -> None:
    """R45: it is stored in the index, and all buckets are used."""
    names = [entry_id("articles", DocumentId(f"{number}")) for number in range(20_000)]

    assert [bucket_of(name) for name in names[:3]] == [2209, 2626, 3253]
    assert len({bucket_of(name) for name in names}) > BUCKETS / 2


def test_check_of_an_entry_never_changes() -> None:
    """R45: it is stored in the index, by its id and its content, as a number of 32 bits."""
    one, other = (entry_id("articles", DocumentId(name)) for name in "ab")

    assert check_of(one, "0" * 64) == 4_121_116_007
    assert check_of(other, "0" * 64) == 3_078_794_503
    assert check_of(one, None) == check_of(one, "") == 3_806_408_985


@pytest.mark.parametrize(
    ("version", "bits"),
    [(0, 0), (7, 7), (2**32 - 1, 2**32 - 1), (2**32, 0), (2**33 - 1, 2**32 - 1), (2**40 + 5, 5)],
)
def test_versions_are_summed_by_their_last_32_bits(version: int, bits: int) -> None:
    """R45: a sum of many stays exact in the index."""
    assert version_bits(version) == bits
