"""The pages tell the truth: settings, commands and log lines are those of the code."""

import json
import re

import pytest

from functions.adapters.telemetry import ERRORS, GAUGES, WARNINGS
from functions.core.failure import FailureKind
from infrastructure.config.parser import parse_stages
from ops import commands_doc
from ops.cli import main
from scripts.settings_doc import PATH, settings_page
from scripts.transcript import NoBlockError, with_transcript
from tests.repo.checkout import ROOT, texts

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


def test_every_metric_is_listed_and_no_other() -> None:
    """R60: an operator finds each metric of the functions in docs/operations.md."""
    counted = set(re.findall(r'\.count\(\s*"([A-Z]\w+)"', CODE)) | GAUGES
    listed = section("Metrics") - {"embedq", "service", "stage"}

    assert sorted(counted - listed) == []
    # Some names are made from parts, such as the kind of a failure.
    assert sorted(name for name in listed if name.split(".")[0] not in CODE) == []


def test_transcript_goes_between_its_marks() -> None:
    """Docs: made by the run itself."""
    page = "a\n<!-- transcript -->\n```\nold\n```\n<!-- end -->\nb\n"

    assert with_transcript(page, "new \\1\n") == page.replace("old", "new \\1")
    assert with_transcript(README, "x") != README
    with pytest.raises(NoBlockError):
        with_transcript("nothing", "x")
