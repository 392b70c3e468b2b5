"""The settings of a function, as it reads them from its environment."""

import pytest
from pydantic import ValidationError

from functions.core.settings import SweepSettings, TargetSettings, unnamed_target
from tests.builders import make_target

GIVEN = {
    "LEDGER_TABLE": "ledger",
    "SOURCES": "[]",
    "TARGETS": "[]",
    "QUEUES": '{"default": {"high": "url"}}',
    "INDEX_ENDPOINT": "https://index",
    "FAILED_CHANGES_BUCKET": "bucket",
    "STUCK_HOURS": "24",
    "ledger_table": "not this one",
    "AWS_REGION": "eu-central-1",
}
READ = {
    "ledger_table": "ledger",
    "sources": (),
    "targets": (),
    "queues": {"default": {"high": "url"}},
    "index_endpoint": "https://index",
    "failed_changes_bucket": "bucket",
    "event_bus": "",
    "stuck_hours": 24.0,
}


def test_settings_are_read_from_variables_in_upper_case() -> None:
    """R01: what is not a setting is left alone, what is left out has its default."""
    assert SweepSettings.from_environment(GIVEN).model_dump() == READ


def test_settings_of_a_function_come_from_its_own_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R01: unless variables are given."""
    for name, value in GIVEN.items():
        monkeypatch.setenv(name, value)

    assert SweepSettings.from_environment().model_dump() == READ
    with pytest.raises(ValidationError, match="ledger_table"):
        SweepSettings.from_environment({})


OLD = make_target()
NEW = make_target(name="next", index="next", replaces="default")


@pytest.mark.parametrize(
    ("targets", "meant"),
    [
        ([OLD], "default"),
        ([OLD, NEW], "default"),
        ([NEW, OLD], "default"),
        ([OLD, make_target(name="other")], None),
        ([OLD, make_target(name="other"), NEW], None),
    ],
)
def test_target_that_is_being_filled_is_asked_by_its_name_only(
    targets: list[TargetSettings], meant: str | None
) -> None:
    """R44: an application that names none is answered as before."""
    found = unnamed_target({one.name: one for one in targets})

    assert (found and found.name) == meant
