"""One document from the command line: written with its types, and shown with its history."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from functions.core.failure import FailureKind
from functions.core.identity import DocumentId
from functions.core.ledger_row import ErrorRecord, Status
from ops.breakers import pause
from ops.deployment import Deployment
from ops.documents import delete, get, put, status
from ops.output import UsageError, as_text
from tests.builders import NOW_MS, make_row, make_source, make_target


def stored(deployment: Deployment, name: str) -> object:
    """Return an item as DynamoDB has it."""
    client = deployment.client("dynamodb")
    return client.get_item(TableName=make_source().table, Key={"id": {"S": name}})["Item"]


def test_put_keeps_the_types_of_json(deployment: Deployment) -> None:
    """R40: a number stays a number, with all its digits."""
    answer = put(deployment, '{"id": "a", "body": "hello", "price": 1.10, "n": 3}').act()

    assert as_text(answer) == "written to articles-table: see `embedq status a`"
    assert stored(deployment, "a") == {
        "id": {"S": "a"},
        "body": {"S": "hello"},
        "price": {"N": "1.10"},
        "n": {"N": "3"},
    }


class EmptyIndex:
    """An index that holds nothing."""

    def call(self, *_: object, **__: object) -> object:
        return {"hits": {"hits": []}}


def test_put_does_not_call_a_skipped_document_found(deployment: Deployment, tmp_path: Path) -> None:
    """R40 R51: an attribute that is spelled wrongly gives no text, and nothing to find."""
    vars(deployment)["index"] = EmptyIndex()
    file = tmp_path / "many.jsonl"
    file.write_text("".join(f'{{"id": "{i}", "boddy": "x"}}\n' for i in range(7)))

    one = put(deployment, '{"id": "a", "boddy": "hello"}', wait=True).act()
    many = put(deployment, file=file, wait=True).act()

    why = f"the text is empty: {make_source().text!r} has nothing to show"
    assert one.found_after_seconds is None
    assert as_text(one).splitlines() == [
        "written to articles-table, and skipped: no search finds it",
        f"a is skipped: {why}",
    ]
    assert as_text(many).splitlines()[-2:] == [f"4 is skipped: {why}", "and 2 more"]


def test_put_names_a_document_so_that_a_shell_takes_it(deployment: Deployment) -> None:
    """R40: what is printed can be pasted."""
    here = put(deployment, '{"id": "a b", "body": "hello"}').act()
    there = put(replace(deployment, stage="prod"), '{"id": "a b", "body": "hello"}').act()

    assert (here.see, there.see) == ("embedq status 'a b'", "embedq status 'a b' --stage prod")


def test_put_names_a_document_that_looks_like_an_option(deployment: Deployment) -> None:
    """R40: what is printed can be pasted; ids such as -5 and -dQw4 are common."""
    here = put(deployment, '{"id": "-5", "body": "hello"}').act()
    there = put(replace(deployment, stage="prod"), '{"id": "-5", "body": "hello"}').act()

    assert (here.see, there.see) == ("embedq status -- -5", "embedq status --stage prod -- -5")


def test_put_names_source_and_target_where_there_are_several(deployment: Deployment) -> None:
    """R40: the command that it names needs no more thought."""
    outputs = {
        **deployment.outputs,
        "SourceNotesSettings": make_source(name="notes", targets=("large",)).model_dump_json(),
        "TargetLargeSettings": make_target(name="large").model_dump_json(),
    }

    several = replace(deployment, outputs=outputs)

    answer = put(several, '{"id": "a", "body": "x"}', source="notes").act()

    assert answer.see == "embedq status a --source notes --target large"


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("{", "the item is not JSON"),
        ('{"id": "a", "x": NaN}', "NaN is no number of JSON"),
        ("5", "the item is a JSON number: expected is an object with the key id"),
        ("null", "the item is a JSON null: expected is an object with the key id"),
        ('["id"]', "the item is a JSON array: expected is an object with the key id"),
        ('{"body": "hello"}', "the item has no id: expected is an object with the key id"),
        ('{"id": "a", "n": 1' + 40 * "1" + "}", "that DynamoDB cannot hold: more than 38 digits"),
        ('{"id": "a", "n": 1e500}', "a number that DynamoDB cannot hold"),
        ('{"id": null}', "the item has a wrong id: a key is a text or a number"),
        ('{"id": true}', "the item has a wrong id: a key is a text or a number"),
        ('{"id": 1e126}', "DynamoDB cannot hold the number 1E"),
        ('{"id": ""}', "DynamoDB refused item 1: "),
        ('{"id": 5}', "DynamoDB refused item 1: "),
        ('{"id": "\\ud800"}', "the item has half of a character"),
        ('{"id": "a", "title": ["\\ud800"]}', "the item has half of a character"),
        ('{"id": "a", "x": ' + 90_000 * "[" + 90_000 * "]" + "}", "the item is nested too deeply"),
        ('{"id": "a", "x": ' + 400 * "[" + 400 * "]" + "}", "the item is nested too deeply"),
        ("old.jsonl", "the item is not JSON: .*; a file is named with --file"),
    ],
)
def test_put_says_what_is_wrong(deployment: Deployment, item: str, message: str) -> None:
    """R40: one sentence for each mistake, and nothing written."""
    with pytest.raises(UsageError, match=message):
        put(deployment, item).act()

    table = make_source().table
    assert deployment.client("dynamodb").scan(TableName=table)["Count"] == 0


def test_put_names_a_document_as_the_stream_will(several: Deployment, tmp_path: Path) -> None:
    """R40 R07: two spellings of a number are one document, which can be waited for."""
    file = tmp_path / "items.jsonl"
    file.write_text('{"id": 9.0}\n{"id": 9}\n{"id": 1E2}\n')

    proposal = put(several, file=file, source="numbers")

    assert proposal.documents == 2
    assert proposal.act().documents == ("9", "9", "100")


def test_item_is_shown_and_deleted_by_any_spelling_of_its_number(several: Deployment) -> None:
    """R40 R07: by its value, as DynamoDB finds it."""
    put(several, '{"id": 8}', source="numbers").act()

    assert get(several, "8.0", source="numbers").document == "8"
    assert delete(several, "08", source="numbers").act().document == "8"


def test_put_asks_for_a_source_that_exists(deployment: Deployment) -> None:
    """R40: the known ones are named."""
    with pytest.raises(
        UsageError, match=r"is no source of this stack: --source is one of: articles"
    ):
        put(deployment, '{"id": "a"}', source="books")


def test_status_shows_the_error_history(deployment: Deployment) -> None:
    """R28 R40: reason, times and every error with its kind."""
    error = ErrorRecord(NOW_MS, FailureKind.PROVIDER_ERROR, "the provider answered 503")
    row = make_row(
        revision=0,
        status=Status.FAILED_MAX_RETRIES,
        reason="5 attempts failed",
        attempts=5,
        max_attempts=5,
        failed_ms=NOW_MS,
        errors=(error,),
    )
    deployment.ledger.write([row])

    lines = as_text(status(deployment, "a")).splitlines()

    assert lines[0] == "default/articles/a: failed_max_retries (5 attempts failed)"
    assert "  attempts   5 of 5" in lines
    assert lines[-2:] == [
        "  failed     2023-11-14 22:13:20 UTC",
        "  error      2023-11-14 22:13:20 UTC provider_error: the provider answered 503",
    ]


def test_status_of_an_unknown_document_says_what_that_means(deployment: Deployment) -> None:
    """R40: never written, or ended long ago."""
    deployment.ledger.write([make_row(revision=0, document_id=DocumentId("other"))])

    with pytest.raises(UsageError, match="default/articles/a: it was never written, "):
        status(deployment, "a")


@pytest.mark.parametrize(
    ("written", "source", "stored_id"),
    [
        ("4.50", "numbers", "4.5"),
        ("a|4.50", "messages", "a|4.5"),
        ("a|b|-07", "messages", "a%7Cb|-7"),
    ],
)
def test_status_takes_any_spelling_of_a_number(
    several: Deployment, written: str, source: str, stored_id: str
) -> None:
    """R40 R07: by its value, as the table finds it."""
    several.ledger.write([make_row(revision=0, source=source, document_id=DocumentId(stored_id))])

    assert status(several, written, source=source).row == f"default/{source}/{stored_id}"


@pytest.mark.parametrize("written", ["4.50", "tortoise"])
def test_status_takes_a_text_as_it_is(several: Deployment, written: str) -> None:
    """R40: a text that looks like a number is another one for each spelling."""
    several.ledger.write([make_row(revision=0, document_id=DocumentId("4.5"))])

    with pytest.raises(UsageError, match=f"no row default/articles/{written}: "):
        status(several, written, source="articles")


def test_file_of_json_lines_is_written(deployment: Deployment, tmp_path: Path) -> None:
    """R40: one item a line; empty lines are passed over."""
    file = tmp_path / "items.jsonl"
    file.write_text('{"id": "a", "body": "x"}\n\n{"id": "b", "body": "y"}\n')

    proposal = put(deployment, file=file)

    assert proposal.documents == 2
    assert as_text(proposal.act()) == (
        "2 documents written to articles-table: see `embedq status a`"
    )
    assert stored(deployment, "b") == {"id": {"S": "b"}, "body": {"S": "y"}}


def test_wrong_line_of_a_file_is_named_and_nothing_is_written(
    deployment: Deployment, tmp_path: Path
) -> None:
    """R40: the number of the line, and what is expected."""
    file = tmp_path / "items.jsonl"
    file.write_text('{"id": "a"}\n{"body": "x"}\n')

    with pytest.raises(UsageError, match=r"line 2 of .*items.jsonl has no id: expected is"):
        put(deployment, file=file)
    with pytest.raises(UsageError, match=r"missing\.jsonl cannot be read"):
        put(deployment, file=tmp_path / "missing.jsonl")
    with pytest.raises(UsageError, match="name one item as JSON, or --file"):
        put(deployment)

    assert deployment.client("dynamodb").scan(TableName=make_source().table)["Count"] == 0


@pytest.mark.parametrize("text", ['[\n {"id": "a"}\n]\n', '{\n "id": "a"\n}\n'])
def test_item_on_several_lines_is_explained(
    deployment: Deployment, tmp_path: Path, text: str
) -> None:
    """R40: as an editor or jq writes it."""
    file = tmp_path / "items.json"
    file.write_text(text)

    with pytest.raises(UsageError, match=r"line 1 of .* is not JSON: .*; each line is one item"):
        put(deployment, file=file)


def test_file_may_begin_with_a_byte_order_mark(deployment: Deployment, tmp_path: Path) -> None:
    """R40: as programs on Windows write it."""
    file = tmp_path / "items.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"id": "a"}\n')

    assert put(deployment, file=file).documents == 1


@pytest.mark.parametrize(
    ("priority", "is_said"), [("urgent", True), ("low", False), (" High", False), (None, False)]
)
def test_unknown_priority_is_said(
    deployment: Deployment, capsys: pytest.CaptureFixture[str], priority: str, is_said: bool
) -> None:
    """R32: with its value and those that there are; the item is written."""
    source = make_source(priority_attribute="urgency").model_dump_json()
    outputs = {**deployment.outputs, "SourceArticlesSettings": source}

    put(replace(deployment, outputs=outputs), json.dumps({"id": "a", "urgency": priority})).act()

    said = capsys.readouterr().err
    assert ("'urgent', which is none of high, normal and low" in said) is is_said
    assert stored(deployment, "a")


def test_item_is_shown_as_the_table_has_it(deployment: Deployment) -> None:
    """R40: as JSON, with all its types."""
    item = {
        "id": {"S": "a|b"},
        "n": {"N": "3"},
        "price": {"N": "1.5"},
        "tags": {"SS": ["y", "x"]},
        "raw": {"B": b"hi"},
        "inner": {"M": {"list": {"L": [{"NULL": True}, {"BOOL": True}]}}},
    }
    deployment.dynamodb.put_item(TableName=make_source().table, Item=item)

    assert json.loads(as_text(get(deployment, "a|b"))) == {
        "id": "a|b",
        "n": 3,
        "price": 1.5,
        "tags": ["x", "y"],
        "raw": "aGk=",
        "inner": {"list": [None, True]},
    }


def test_deleted_document_leaves_its_table(deployment: Deployment) -> None:
    """R40: and what is not there is said."""
    put(deployment, '{"id": "a"}').act()

    assert as_text(delete(deployment, "a").act()) == (
        "deleted from articles-table: see `embedq status a`"
    )

    for command in (get, delete):
        with pytest.raises(UsageError, match="table articles-table has no item 'a'"):
            command(deployment, "a")


def test_status_of_a_paused_target_says_that_it_waits(deployment: Deployment) -> None:
    """R40: who waits for a pause is told so; what has ended does not wait."""
    deployment.ledger.write(
        [
            make_row(revision=0, document_id=DocumentId("open")),
            make_row(revision=0, document_id=DocumentId("done"), status=Status.COMPLETED),
        ]
    )
    pause(deployment, reason="moving house").act()

    text = as_text(status(deployment, "open"))

    assert "  waits      the provider's breaker of target default is paused since " in text
    assert text.endswith("moving house")
    assert "waits" not in as_text(status(deployment, "done"))


def test_status_says_until_when_the_provider_throttles(deployment: Deployment) -> None:
    """R40 R24: a document that waits without an error says what for."""
    deployment.ledger.write([make_row(revision=0, document_id=DocumentId("open"))])
    deployment.control.cool("default", until_ms=time.time_ns() // 1_000_000 + 60_000, after=0)

    text = as_text(status(deployment, "open"))

    assert "  waits      the provider of target default throttles: no request before " in text
