"""The command plan from numbers: no stack is needed, and wrong use gets one line."""

import json
from typing import Any

import pytest

from ops.cli import main

NUMBERS = ["--documents", "1000", "--tokens", "300", "--writes-per-second", "5"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--documents", "5"], "--tokens N"),
        ([*NUMBERS, "--model", "my-model"], "say its --dimensions"),
        ([*NUMBERS, "--dimensions", "4000"], "4000"),
        (["--model", "my-model"], "are those of the stack"),
        (["--check", "no-such-file.json"], "does not exist"),
    ],
)
def test_what_is_wrong_is_said(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """R50 R40: wrong use is exit code 2, with what to add."""
    assert main(["plan", *options]) == 2

    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "dollars"),
    [
        ([], 300_000 * 0.02 / 1e6),
        (["--model", "amazon.titan-embed-text-v2:0"], 300_000 * 0.02 / 1e6),
        (["--model", "voyage-4", "--dimensions", "1024"], 300_000 * 0.06 / 1e6),
        (["--model", "my-model", "--dimensions", "64"], None),
    ],
)
def test_plan_from_numbers_needs_no_stack(
    options: list[str], dollars: float | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """R50: tokens times the model's price; a price that is not known is said."""
    assert main(["plan", *NUMBERS, *options, "--json"]) == 0
    plan: dict[str, Any] = json.loads(capsys.readouterr().out)
    [provider] = [one["load"] for one in plan["dollars"] if one["part"] == "provider"]

    assert plan["is_priced"] is (dollars is not None)
    assert provider == pytest.approx(dollars or 0)
    assert [one["lane"] for one in plan["lanes"]] == ["high", "normal", "bulk", "delete"]
