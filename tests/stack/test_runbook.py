"""The commands of the runbook, run as they stand there, on the real stack."""

import re
import shlex
from pathlib import Path

import pytest

from functions.core.ledger_row import Status
from local import background
from ops import frame
from ops.cli import main
from tests.repo.checkout import ROOT
from tests.stack.articles import Articles

PAGES = sorted((ROOT / "docs/operations").glob("*.md"))
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
# A difference that was found, or a part that does not answer, is an answer too.
ANSWERED = (0, 1)
PAUSE = ["pause", "--reason", "there is something to resume"]


def commands(page: Path) -> list[str]:
    """Return the commands of a page, in their order."""
    return [line for block in BLOCK.findall(page.read_text()) for line in block.splitlines()]


def test_every_page_of_an_alarm_has_commands() -> None:
    """R61: at night nobody looks for them elsewhere."""
    assert [page.stem for page in PAGES if not commands(page)] == ["proven"]


def test_commands_of_the_runbook_run(
    articles: Articles,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """R61: page by page, with a document that was rejected: none is misspelt or refused."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(frame, "connect", lambda *_: articles.deployment)
    monkeypatch.setattr(background, "folders", list)
    rejected = articles.new_name("bad")
    articles.put(rejected, {"not": "a text"})
    articles.wait(rejected, status=Status.FAILED)

    codes = {}
    for page in PAGES:
        for command in commands(page):
            line = command.replace(" ID ", f" {rejected} ").replace(" --stage NAME", "")
            program, *arguments = shlex.split(line)
            assert program == "embedq"
            if arguments[0] == "resume":
                assert main(PAUSE) == 0
            codes[f"{page.stem}: {command}"] = main(arguments)
            capsys.readouterr()

    articles.delete(rejected)
    articles.wait(rejected, status=Status.DELETED)
    articles.forget_dead_letters()
    assert {command: code for command, code in codes.items() if code not in ANSWERED} == {}
