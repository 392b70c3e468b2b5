"""The client of a service: which stage it asks, and when a write is found."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

import embedq
from functions.adapters.dynamodb_values import to_dynamodb
from functions.adapters.opensearch_http import unavailable
from functions.core.document import Document, content_hash, read_document
from functions.core.failure import FailureError
from functions.core.identity import DocumentId
from functions.core.ledger_row import Status
from ops import client, embedding
from ops.client import Key
from ops.deployment import Deployment
from ops.index_questions import call_function
from ops.output import UsageError
from tests.builders import make_row, make_source, make_target
from tests.unit.ops.searches import Searches, asked_with

SOURCE, TARGET = make_source(), make_target()


class Index:
    """What the index holds for the one document of these tests."""

    def __init__(self) -> None:
        self.entry: dict[str, Any] | None = None
        self.asked: list[str] = []

    def call(
        self, method: str, path: str, body: Any = None, *, query: Mapping[str, str] | None = None
    ) -> Any:
        del method, query
        self.asked.append(path.rpartition("/")[2])
        [name] = body["query"]["ids"]["values"]
        found = [{"_id": name, "_version": 1, "_source": self.entry}] if self.entry else []
        return {"hits": {"hits": found}}


@pytest.fixture
def index() -> Index:
    return Index()


@pytest.fixture
def known(deployment: Deployment, index: Index, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    return asked(deployment, index, monkeypatch)


@pytest.fixture
def known_several(several: Deployment, index: Index, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    return asked(several, index, monkeypatch)


def asked(deployment: Deployment, index: Index, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    """Let the client find this deployment, with this index."""
    vars(deployment)["index"] = index
    monkeypatch.setenv(client.STAGE_VARIABLE, "prod")
    monkeypatch.setattr(client, "_deployment", {"prod": deployment}.__getitem__)
    return deployment


class NoStep:
    """Embed's step, which leaves the document to others."""

    def process(self, *_: Any, **__: Any) -> None:
        pass


def write(deployment: Deployment, body: str) -> str:
    """Write the item; return the content hash that its entry will have."""
    item = {"id": "a", "title": "T", "body": body}
    deployment.client("dynamodb").put_item(TableName=SOURCE.table, Item=to_dynamodb(item))
    document = read_document(item, SOURCE)
    assert isinstance(document, Document)
    return content_hash(document, TARGET)


def test_wait_returns_when_the_index_holds_the_last_write(known: Deployment, index: Index) -> None:
    """R51: as a search sees it, not the entry itself."""
    digest = write(known, "hello")
    index.entry = {"deleted": False, "content_hash": digest}

    embedq.wait("a")
    embedq.wait({"id": "a"}, source="articles", target="default")

    assert index.asked == ["_search"] * 2


@pytest.mark.parametrize(
    "entry", [None, {"deleted": False, "content_hash": "older"}, {"deleted": True}]
)
def test_wait_goes_on_while_the_index_holds_something_else(
    known: Deployment, index: Index, entry: dict[str, Any] | None
) -> None:
    """R51: an older text is not the last write; the error says how to find out more."""
    write(known, "hello")
    index.entry = entry

    with pytest.raises(TimeoutError) as caught:
        embedq.wait("a", seconds=0)

    assert str(caught.value) == (
        "the last write of 'a' cannot be found after 0 s:"
        " in default the ledger does not know it; see `embedq status a`"
    )


def test_target_that_the_source_does_not_feed_is_not_waited_for(
    deployment: Deployment, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R51: no write would ever come there."""
    other = make_target(name="other").model_dump_json()
    two = replace(deployment, outputs=deployment.outputs | {"TargetOtherSettings": other})
    asked(two, index, monkeypatch)

    with pytest.raises(UsageError, match="source articles does not feed target"):
        embedq.wait("a", source="articles", target="other")

    assert index.asked == []


def test_deleted_item_is_waited_for_until_no_search_finds_it(
    known: Deployment, index: Index
) -> None:
    """R51 R07: a tombstone, or nothing at all."""
    known.ledger.write([make_row(revision=0)])
    index.entry = {"deleted": False, "content_hash": "older"}
    with pytest.raises(TimeoutError):
        embedq.wait("a", seconds=0)

    for gone in ({"deleted": True}, None):
        index.entry = gone
        embedq.wait("a")
    assert known.stage is None


class BusyIndex(Index):
    """An index that has no time for the first questions."""

    def __init__(self, looks: float) -> None:
        super().__init__()
        self.looks = looks

    def call(
        self, method: str, path: str, body: Any = None, *, query: Mapping[str, str] | None = None
    ) -> Any:
        self.looks -= 1
        if self.looks >= 0:
            raise unavailable("it answered 503")
        return super().call(method, path, body, query=query)


def test_wait_goes_on_while_the_index_is_busy(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R51: the write is found when the index answers again, or the error says why it is not."""
    index = BusyIndex(looks=1)
    known = asked(deployment, index, monkeypatch)
    index.entry = {"deleted": False, "content_hash": write(known, "hello")}

    assert embedq.wait("a").found

    index.looks = float("inf")
    with pytest.raises(TimeoutError, match=r"'a' cannot be found after 0 s: .* it answered 503"):
        embedq.wait("a", seconds=0)


def test_wait_ends_at_once_without_the_right_to_read(
    known: Deployment, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R51: no time gives the right that is missing."""
    write(known, "hello")
    code = "AccessDeniedException"
    refused = ClientError({"Error": {"Code": code, "Message": "not authorized"}}, "Invoke")

    def invoke(**_: object) -> None:
        raise refused

    def ask(*_: object, **__: object) -> None:
        call_function(SimpleNamespace(invoke=invoke), "index-questions", {})

    monkeypatch.setattr(index, "call", ask)

    with pytest.raises(FailureError, match=code):
        embedq.wait("a", seconds=0)


def test_skipped_item_is_waited_for_with_its_reason(known: Deployment) -> None:
    """R51: not found as it should be, and the caller learns why."""
    known.dynamodb.put_item(TableName=SOURCE.table, Item=to_dynamodb({"id": "a", "boddy": "x"}))

    waited = embedq.wait("a", seconds=0)

    assert (waited.found, waited.skipped) == (
        False,
        f"the text is empty: {SOURCE.text!r} has nothing to show",
    )


def test_status_is_that_of_the_ledger(known: Deployment) -> None:
    """R51 R40: typed, as the command has it."""
    known.ledger.write([make_row(revision=0)])
    row = make_row()

    found = embedq.status(row.task.document_id)

    assert (found.status, found.row) == (Status(found.status), row.row_key)


@pytest.mark.usefixtures("known_several")
def test_half_of_a_key_of_several_attributes_is_refused() -> None:
    """R51: it says what the whole one is."""
    with pytest.raises(UsageError, match=r"it is CONVERSATION \(a text\)\|NUMBER \(a number\)"):
        embedq.wait("c1", source="messages")
    with pytest.raises(UsageError, match="pass an object with all of them"):
        embedq.wait({"conversation": "c1"}, source="messages")


@pytest.mark.parametrize(
    ("source", "document", "item"),
    [
        ("numbers", "7", {"id": 7}),
        ("numbers", "07.0", {"id": 7}),
        ("numbers", 7, {"id": 7}),
        ("numbers", Decimal("7.0"), {"id": 7}),
        ("files", "aGk=", {"id": b"hi"}),
        ("files", b"hi", {"id": b"hi"}),
        ("messages", {"conversation": "c1", "number": "7"}, {"conversation": "c1", "number": 7}),
        ("messages", {"number": 7, "conversation": "c1"}, {"conversation": "c1", "number": 7}),
        ("messages", "c1|7", {"conversation": "c1", "number": 7}),
    ],
)
def test_document_is_known_by_any_spelling_of_its_key(
    known_several: Deployment,
    index: Index,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    document: Key,
    item: dict[str, Any],
) -> None:
    """R51 R07: as a search names it, or as Python has it; always by the id of its one entry."""
    monkeypatch.setattr(embedding, "_step", lambda *_: NoStep())
    names = {"numbers": "7", "files": "aGk=", "messages": "c1|7"}
    known_several.dynamodb.put_item(
        TableName=known_several.source(source).table,
        Item=to_dynamodb({**item, "body": "hello"}),
    )
    index.entry = {
        "deleted": False,
        "content_hash": content_hash(Document("hello", "document"), TARGET),
    }

    waited = embedq.wait(document, source=source, seconds=0)
    embedded = embedq.embed(document, source=source)

    assert (waited.document, waited.found) == (names[source], True)
    assert embedded.row == f"default/{source}/{names[source]}"


@pytest.mark.parametrize("document", ["7", 7, Decimal("7.0")])
def test_status_is_found_by_any_number_of_the_same_value(
    known_several: Deployment, document: Key
) -> None:
    """R51: as the ledger spells it."""
    row = make_row(revision=0, source="numbers", document_id=DocumentId("7"))
    known_several.ledger.write([row])

    assert embedq.status(document, source="numbers").row == "default/numbers/7"


def test_status_takes_the_id_that_a_search_names(known_several: Deployment) -> None:
    """R51: a result is passed on as it is, also with a | in a value of the key."""
    name = DocumentId("c%7C1|7")
    known_several.ledger.write([make_row(revision=0, source="messages", document_id=name)])

    assert embedq.status(name, source="messages").row == f"default/messages/{name}"


@pytest.mark.usefixtures("known_several")
@pytest.mark.parametrize("document", [7.0, True, None, [7], "", {"id": None}, 10**40 + 1])
def test_status_of_what_is_no_key_is_refused(document: Any) -> None:
    """R51: in words, with what to pass; no table is asked, whose types would say more."""
    with pytest.raises(UsageError, match=r"ID of table numbers-table cannot be .*: pass a text"):
        embedq.status(document, source="numbers")


@pytest.mark.usefixtures("known_several")
@pytest.mark.parametrize("document", ["seven", True, 10**40 + 1, b"7"])
@pytest.mark.parametrize("ask", [embedq.wait, embedq.embed])
def test_what_is_no_key_is_refused(ask: Callable[..., object], document: Key) -> None:
    """R51: in words, with what a key is."""
    with pytest.raises(UsageError, match=r"is no key of table numbers-table: it is ID \(a number"):
        ask(document, source="numbers")


def test_unknown_document_is_not_waited_for(known: Deployment) -> None:
    """R51: a wrong id is no document that was deleted."""
    write(known, "hello")

    with pytest.raises(UsageError) as caught:
        embedq.wait("b")

    assert caught.value.message == (
        "neither table articles-table nor the ledger has 'b': it was never written, or deleted"
        " more than a day ago"
    )


def test_one_filter_or_source_needs_no_list(
    deployment: Deployment, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R51: its letters would be filters and sources."""
    searches = Searches(lambda _: ["a"])
    asked(asked_with(deployment, searches), index, monkeypatch)

    embedq.search("a bird", filters="year=2026", without="author=aesop", sources="articles")

    [question] = searches.asked
    sent = [question[name] for name in ("filters", "not", "sources")]
    assert sent == [["year=2026"], ["author=aesop"], ["articles"]]


def test_stage_of_the_environment_may_change(
    deployment: Deployment,
    index: Index,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """R51: each call asks the stage that is named then, and each stage is found once."""
    found: list[str] = []

    def find_stage(stage: str) -> Deployment:
        found.append(stage)
        there = replace(deployment, stage=stage)
        vars(there)["index"] = index
        return there

    monkeypatch.setattr(client, "find_stage", find_stage)
    client._deployment.cache_clear()
    request.addfinalizer(client._deployment.cache_clear)
    write(deployment, "hello")

    for stage in ("one", "two", "one"):
        monkeypatch.setenv(client.STAGE_VARIABLE, stage)
        with pytest.raises(TimeoutError, match=f"--stage {stage}"):
            embedq.wait("a", seconds=0)

    assert found == ["one", "two"]


def test_stage_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """R51: in the call or in the environment; never guessed."""
    monkeypatch.delenv(client.STAGE_VARIABLE, raising=False)

    with pytest.raises(UsageError, match="which stage"):
        embedq.search("a bird")


def test_client_needs_no_cdk() -> None:
    """R51: a service does without aws-cdk."""
    import subprocess
    import sys

    code = (
        "import sys; from embedq import search, wait, status, embed; "
        "sys.exit(sum(name.split('.')[0] in ('aws_cdk', 'jsii') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
