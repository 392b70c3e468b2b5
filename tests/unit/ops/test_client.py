"""The client of a service: which stage it asks, and when a write is found."""

from collections.abc import Mapping
from typing import Any

import pytest

import embedq
from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.document import Document, content_hash, read_document
from functions.core.ledger_row import Status
from ops import client
from ops.deployment import Deployment
from ops.output import UsageError
from tests.builders import make_row, make_source, make_target

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
    vars(deployment)["index"] = index
    monkeypatch.setattr(client, "_deployment", lambda _: deployment)
    return deployment


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


def test_deleted_item_is_waited_for_until_no_search_finds_it(
    known: Deployment, index: Index
) -> None:
    """R51 R07: a tombstone, or nothing at all."""
    index.entry = {"deleted": False, "content_hash": "older"}
    with pytest.raises(TimeoutError):
        embedq.wait("a", seconds=0)

    for gone in ({"deleted": True}, None):
        index.entry = gone
        embedq.wait("a")
    assert known.stage is None


def test_status_is_that_of_the_ledger(known: Deployment) -> None:
    """R51 R40: typed, as the command has it."""
    known.ledger.write([make_row(revision=0)])
    row = make_row()

    found = embedq.status(row.task.document_id)

    assert (found.status, found.row) == (Status(found.status), row.row_key)


def test_key_of_several_attributes_is_an_object(
    known: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R51: one text would be one attribute of it."""
    pair = make_source(key=("conversation", "number"))
    monkeypatch.setitem(vars(known), "sources", {"articles": pair})

    with pytest.raises(UsageError, match="pass an object with all of them"):
        embedq.wait("c1")


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
