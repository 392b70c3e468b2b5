"""The index on a real OpenSearch: created once, checked ever after, refused in exact words."""

from dataclasses import replace
from typing import Any

import pytest

from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_http import OpenSearchError, OpenSearchHttp
from functions.adapters.opensearch_index import OpenSearchIndex
from functions.core.entry import Written
from functions.index_setup.ensure import IndexSpec, MisfitError, ensure_index, index_body
from tests.contract.index_engines import entry

pytestmark = [pytest.mark.engines, pytest.mark.timeout(600)]


@pytest.fixture
def admin(http: OpenSearchHttp) -> OpenSearchAdmin:
    return OpenSearchAdmin(http)


@pytest.fixture
def spec(alias: str) -> IndexSpec:
    return IndexSpec(
        alias=alias, model="text-embedding-3-small", dimensions=4, metadata={"year": "long"}
    )


def fields(http: OpenSearchHttp, alias: str) -> dict[str, Any]:
    [index] = http.call("GET", f"{alias}/_mapping").values()
    found: dict[str, Any] = index["mappings"]["properties"]["metadata"]["properties"]
    return found


def test_index_is_created_and_takes_entries(
    http: OpenSearchHttp, admin: OpenSearchAdmin, spec: IndexSpec
) -> None:
    """R12: behind its alias, with the k-NN mapping of the model."""
    assert ensure_index(spec, admin) == "created"

    [written] = OpenSearchIndex(http, spec.alias).write([entry("a")], searchable_now=False).values()
    assert written is Written.WRITTEN
    [(name, index)] = http.call("GET", spec.alias).items()
    assert name == f"{spec.alias}-1"
    assert index["aliases"] == {spec.alias: {"is_write_index": True}, spec.read_alias: {}}
    assert index["mappings"]["_meta"] == spec.meta
    vector = index["mappings"]["properties"]["chunks"]["properties"]["vector"]
    assert (vector["dimension"], vector["method"]["engine"]) == (4, "lucene")


def test_source_without_metadata_has_an_index_too(admin: OpenSearchAdmin, spec: IndexSpec) -> None:
    """R12: the smallest stage; OpenSearch then says that the metadata is an object."""
    smallest = replace(spec, metadata={})

    assert [ensure_index(smallest, admin) for _ in range(2)] == ["created", "checked"]


def test_second_deployment_finds_it_as_it_is(
    http: OpenSearchHttp, admin: OpenSearchAdmin, spec: IndexSpec
) -> None:
    """R12: an update of the stack changes nothing that is there."""
    ensure_index(spec, admin)
    before = http.call("GET", spec.alias)

    assert ensure_index(spec, admin) == "checked"
    assert http.call("GET", spec.alias) == before


def test_new_metadata_field_is_added(
    http: OpenSearchHttp, admin: OpenSearchAdmin, spec: IndexSpec
) -> None:
    """R02: a source gets a new field to filter by; the others stay, the model too."""
    ensure_index(spec, admin)

    wider = replace(spec, metadata={"language": "keyword", "published": "date"})
    assert ensure_index(wider, admin) == "checked"

    assert {name: field["type"] for name, field in fields(http, spec.alias).items()} == {
        "year": "long",
        "language": "keyword",
        "published": "date",
    }
    assert ensure_index(spec, admin) == "checked"


def test_field_that_this_version_adds_is_mapped_in_an_existing_index(
    http: OpenSearchHttp, admin: OpenSearchAdmin, spec: IndexSpec
) -> None:
    """R12: an older version made the index; nothing that is written stays unmapped."""
    older = index_body(spec)
    whole = older["mappings"]["properties"]
    del whole["written_ms"], whole["chunks"]["properties"]["text"]
    admin.create(spec.index, older)
    OpenSearchIndex(http, spec.alias).write([entry("old")], searchable_now=False)

    assert ensure_index(spec, admin) == "checked"

    [index] = http.call("GET", f"{spec.alias}/_mapping").values()
    mapped = index["mappings"]["properties"]
    assert set(mapped) == set(spec.properties)
    assert mapped["written_ms"]["type"] == "date"
    assert mapped["chunks"]["properties"]["text"] == {"type": "text"}
    OpenSearchIndex(http, spec.alias).write([entry("new")], searchable_now=True)
    found = http.call(
        "POST", f"{spec.alias}/_count", {"query": {"exists": {"field": "written_ms"}}}
    )
    assert found["count"] == 1


def test_change_of_a_field_that_opensearch_refuses_is_a_misfit(
    http: OpenSearchHttp, admin: OpenSearchAdmin, spec: IndexSpec
) -> None:
    """R12: the type is the same, and still it cannot be changed; the index stays as it is."""
    older = index_body(spec)
    older["mappings"]["properties"]["source"] = {"type": "keyword", "index": False}
    admin.create(spec.index, older)
    before = http.call("GET", spec.alias)

    with pytest.raises(MisfitError, match=r"cannot take the fields of this version.*source"):
        ensure_index(spec, admin)

    assert http.call("GET", spec.alias) == before


@pytest.mark.parametrize("kind", ["keyword", "text", "long", "double", "boolean", "date"])
def test_every_metadata_type_is_known_to_the_index(
    admin: OpenSearchAdmin, spec: IndexSpec, kind: Any
) -> None:
    """R02: what the settings allow, the index takes, and takes again."""
    one = replace(spec, metadata={"field": kind})

    assert [ensure_index(one, admin), ensure_index(one, admin)] == ["created", "checked"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"dimensions": 8},
            "index {alias} holds vectors of 4 dimensions, the target asks for 8: give the new "
            "model a target of its own, or another index name",
        ),
        (
            {"model": "other"},
            "index {alias} holds vectors of model text-embedding-3-small, the target asks for "
            "other: give the new model a target of its own, or another index name",
        ),
        (
            {"compression": "4x"},
            "index {alias} holds vectors with compression none, the target asks for 4x, and "
            "OpenSearch cannot change it: set compression to none, or fill a second target with an "
            "index of its own from the sources",
        ),
        (
            {"metadata": {"year": "keyword"}},
            "index {alias} has field metadata.year as long, the target asks for keyword: use "
            "another field name, or another index name",
        ),
    ],
    ids=["dimensions", "model", "compression", "metadata type"],
)
def test_misfit_is_refused_and_nothing_changes(
    http: OpenSearchHttp,
    admin: OpenSearchAdmin,
    spec: IndexSpec,
    change: dict[str, Any],
    reason: str,
) -> None:
    """R12 R14: vectors of two models in one index would be found by neither."""
    ensure_index(spec, admin)
    before = http.call("GET", spec.alias)

    with pytest.raises(MisfitError) as caught:
        ensure_index(replace(spec, **change), admin)

    assert str(caught.value) == reason.format(alias=spec.alias)
    assert http.call("GET", spec.alias) == before


def test_index_of_a_version_without_compression_has_whole_vectors(
    admin: OpenSearchAdmin, spec: IndexSpec
) -> None:
    """R18: it fits a target without compression, and no other."""
    older = index_body(spec)
    del older["mappings"]["_meta"]["compression"]
    admin.create(spec.index, older)

    assert ensure_index(spec, admin) == "checked"
    with pytest.raises(MisfitError, match="with compression none"):
        ensure_index(replace(spec, compression="32x"), admin)


def test_index_of_an_earlier_version_gets_a_read_alias(
    http: OpenSearchHttp, admin: OpenSearchAdmin, spec: IndexSpec
) -> None:
    """R44 R51: once; where a person has moved it, it stays."""
    older = index_body(spec)
    admin.create(spec.index, older)

    ensure_index(spec, admin)

    assert list(http.call("GET", f"{spec.read_alias}/_mapping")) == [spec.index]
    other = f"{spec.alias}-other"
    http.call("PUT", other, {"settings": older["settings"], "mappings": older["mappings"]})
    moved = [
        {"remove": {"index": spec.index, "alias": spec.read_alias}},
        {"add": {"index": other, "alias": spec.read_alias}},
    ]
    http.call("POST", "_aliases", {"actions": moved})
    ensure_index(spec, admin)
    assert list(http.call("GET", f"{spec.read_alias}/_mapping")) == [other]


def test_index_without_its_alias_is_refused(
    http: OpenSearchHttp, admin: OpenSearchAdmin, spec: IndexSpec
) -> None:
    """R12: someone removed the alias; writes would not find the index."""
    ensure_index(spec, admin)
    http.call("DELETE", f"{spec.index}/_alias/{spec.alias}")

    with pytest.raises(MisfitError) as caught:
        ensure_index(spec, admin)

    assert str(caught.value) == (
        f"index {spec.index} exists without the alias {spec.alias}: add the alias to it, or use "
        "another index name"
    )


def test_bare_index_of_that_name_is_refused(
    http: OpenSearchHttp, admin: OpenSearchAdmin, spec: IndexSpec
) -> None:
    """R12: an index of someone else; entries are written through an alias only."""
    http.call("PUT", spec.alias, {"settings": index_body(spec)["settings"]})

    with pytest.raises(OpenSearchError, match="400 invalid_alias_name_exception"):
        ensure_index(spec, admin)


def test_two_deployments_at_once_create_one_index(admin: OpenSearchAdmin, spec: IndexSpec) -> None:
    """R12: the second one finds what the first has just made."""
    admin.create(spec.index, index_body(spec))
    admin.create(spec.index, index_body(spec))

    assert ensure_index(spec, admin) == "checked"


def test_replicas_are_those_of_the_settings(admin: OpenSearchAdmin, spec: IndexSpec) -> None:
    """R12: a changed number of replicas is applied, in both directions."""
    ensure_index(spec, admin)

    for replicas in (2, 0):
        assert ensure_index(replace(spec, replicas=replicas), admin) == "checked"
        assert admin.sizes(spec.alias) == (1, replicas)


def test_other_number_of_shards_is_refused(admin: OpenSearchAdmin, spec: IndexSpec) -> None:
    """R12: OpenSearch cannot change it; the deployment says how to go on."""
    ensure_index(spec, admin)

    with pytest.raises(MisfitError) as caught:
        ensure_index(replace(spec, shards=3, replicas=1), admin)

    assert str(caught.value) == (
        f"index {spec.alias} has 1 shards, the target asks for 3, and OpenSearch cannot change"
        " them: set shards to 1, or fill a second target with an index of its own from the sources"
    )
    assert admin.sizes(spec.alias) == (1, 0)
