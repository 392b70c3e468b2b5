"""The pages tell the truth: settings, commands and log lines are those of the code."""

import json
import re
from pathlib import Path

import pytest

from functions.adapters.telemetry import ERRORS, WARNINGS
from functions.core.failure import FailureKind
from infrastructure.config.parser import parse_stages
from ops import commands_doc
from ops.cli import main
from scripts import metrics_doc
from scripts.settings_doc import PATH, settings_page
from scripts.transcript import NoBlockError, normalised, played, with_transcript
from tests.repo.checkout import ROOT, texts
from tests.stack.rights import granted

README = (ROOT / "README.md").read_text()


def test_settings_page_is_that_of_the_models() -> None:
    """R01: every setting with its default; `make docs` writes it."""
    assert PATH.read_text() == settings_page()


def test_commands_page_is_the_help_of_every_command() -> None:
    """R40: `make docs` writes it."""
    assert commands_doc.PATH.read_text() == commands_doc.commands_page()


def test_schema_of_the_answers_is_that_of_every_command() -> None:
    """R40: `make docs` writes it; no command prints anything else with --json."""
    assert commands_doc.SCHEMA_PATH.read_text() == commands_doc.schema_page()
    schemas = commands_doc.schemas()
    assert "Answer" not in schemas["$defs"]
    assert all(one["anyOf"] for one in schemas["commands"].values())


def test_smallest_stage_of_the_readme_is_enough() -> None:
    """R01: what a newcomer copies is accepted."""
    [block] = re.findall(r"```json\n(.*?)```", README, re.DOTALL)

    stages = parse_stages({"mine": json.loads(block)})

    assert list(stages) == ["mine"]


@pytest.mark.parametrize(
    "command",
    sorted(set(re.findall(r"`embedq ((?:dead )?[a-z]+)", README))),
)
def test_command_of_the_readme_is_there(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """R40: each has help with an example."""
    assert main([*command.split(), "--help"]) == 0

    assert f"embedq {command}" in capsys.readouterr().out


PLANS = "\n".join((ROOT / "docs" / name).read_text() for name in ("scale.md", "costs.md"))


@pytest.mark.parametrize("block", re.findall(r"```\n\$ embedq (.*?)```", PLANS, re.DOTALL))
def test_pages_of_scale_and_costs_have_what_the_plan_prints(
    block: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """R50: their numbers come from the command, and so does the picture."""
    command, _, printed = block.partition("\n")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()

    assert main(command.split()) == 0

    assert capsys.readouterr().out == printed
    for picture in (tmp_path / "docs").iterdir():
        assert picture.read_text() == (ROOT / "docs" / picture.name).read_text()


def test_table_of_costs_is_that_of_its_plans() -> None:
    """R50: the overview of the page has the sums of the plans below it."""
    page = (ROOT / "docs/costs.md").read_text()
    sums = re.findall(r"^together +([\d.,]+) +([\d.,]+)$", page, re.MULTILINE)
    months = re.findall(r"\*\*([\d,]+) USD\*\*", page)
    [loads] = re.findall(r"^\| the first load, once \|(.*)\|$", page, re.MULTILINE)

    assert months == [f"{float(month.replace(',', '')):,.0f}" for _, month in sums]
    for shown, (load, _) in zip(re.findall(r"([\d.]+) USD", loads), sums, strict=True):
        assert float(shown) == pytest.approx(float(load.replace(",", "")), rel=0.02)


CODE = "\n".join(texts("functions/*.py").values())
OPERATIONS = (ROOT / "docs/operations.md").read_text()


def section(title: str) -> set[str]:
    """Return what is named in the first columns of a section of docs/operations.md."""
    [text] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", OPERATIONS, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"`([\w.]+)`", text))


def test_every_log_line_is_explained() -> None:
    """R63: an operator finds each message of the functions in docs/operations.md."""
    logged = set(re.findall(r'"((?:task|change|message)_[a-z_]+)"', CODE))
    logged |= set(re.findall(r'\.(?:event|error|info|warning|exception)\(\s*"([a-z_]+)"', CODE))
    logged |= WARNINGS | ERRORS

    assert sorted(logged - section("Log lines")) == []


def test_every_failure_kind_is_explained() -> None:
    """R22: an operator finds each kind, and whether it spends an attempt."""
    assert sorted(set(FailureKind) - section("Retry policies")) == []


def test_rights_of_operators_are_those_of_calls_that_commands_make() -> None:
    """R84: no more than that; a test on the engines finds what is missing."""
    code = "\n".join([*texts("ops/*.py").values(), *texts("functions/adapters/*.py").values()])
    calls = {
        "InvokeFunction": "invoke",
        "ListBucket": "head_bucket",
        "BatchWriteItem": "batch_writer",
        "PartiQLUpdate": "batch_execute_statement",
    }
    rights = {right.split(":")[1] for right in granted("looks") | granted("acts")}

    named = {
        right: calls.get(right, re.sub(r"(?<!^)(?=[A-Z])", "_", right).lower()) for right in rights
    }

    assert [right for right, call in named.items() if not re.search(rf"\b{call}", code)] == []
    assert not {right for right in granted("looks") if re.search("Put|Update|Delete|Send", right)}


def test_metrics_page_is_that_of_the_metrics() -> None:
    """R60: an operator finds each metric with its unit, meaning and dimensions; `make docs`."""
    assert metrics_doc.PATH.read_text() == metrics_doc.metrics_page()


def test_answers_are_put_below_the_commands_of_a_page() -> None:
    """R40: old answers go, also below a command of two lines; other blocks stay."""
    page = "```\n$ a\n```\n```console\n$ b \\\n  c\nold\n$ d\nold\n```\n"

    answers = {"b \\\n  c": "new\n", "d": ""}

    found = played(page, answers.__getitem__)

    assert found == "```\n$ a\n```\n```console\n$ b \\\n  c\nnew\n$ d\n```\n"


def test_pages_are_compared_without_times_ports_and_versions() -> None:
    """R40: all else has to be the same."""
    one = "at 2026-11-17 05:40:05 UTC  localhost:25873, version 1794894005195, 0.73 after 1.5 s"
    other = "at 2027-01-01 00:00:00 UTC localhost:1, version 1794894005196, 0.61 after 12 s"

    assert normalised(one) == normalised(other)
    assert normalised("1 document") != normalised("2 documents")


def test_transcript_goes_between_its_marks() -> None:
    """Docs: made by the run itself."""
    page = "a\n<!-- transcript -->\n```\nold\n```\n<!-- end -->\nb\n"

    assert with_transcript(page, "new \\1\n") == page.replace("old", "new \\1")
    assert with_transcript(README, "x") != README
    with pytest.raises(NoBlockError):
        with_transcript("nothing", "x")
