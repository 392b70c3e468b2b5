"""The breaker handler on moto's table and a small Lambda API."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from moto import mock_aws

from functions.adapters.dynamodb_control import DynamoDbControl
from functions.breaker import handler
from functions.core.breaker import Breaker, Circuit
from functions.core.failure import Part
from tests.builders import NOW_MS
from tests.contract.ledger_engines import ledger_table
from tests.handlers.conftest import REGION, event, written_metrics
from tests.unit.adapters.scripted_server import Answer, Asked, ScriptedServer

QUEUES = ("high", "normal", "bulk", "delete")
MAPPINGS = {queue: f"a1b2c3d4-5678-90ab-cdef-{queue:>012}" for queue in QUEUES}


class Context:
    """A function that has two minutes."""

    def get_remaining_time_in_millis(self) -> int:
        return 120_000


@dataclass
class LambdaApi(ScriptedServer):
    """Keeps the state of mappings, and answers every probe alike."""

    states: dict[str, str] = field(
        default_factory=lambda: dict.fromkeys(MAPPINGS.values(), "Enabled")
    )
    failure: str | None = None

    def __post_init__(self) -> None:
        super().__init__()

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        if asked.path.endswith("/invocations"):
            return _json(dict.fromkeys(json.loads(asked.body)["probe"], self.failure))
        mapping = asked.path.rpartition("/")[2]
        if asked.method == "PUT":
            enabled = json.loads(asked.body)["Enabled"]
            self.states[mapping] = "Enabled" if enabled else "Disabled"
        return _json({"UUID": mapping, "State": self.states[mapping]})

    @property
    def polled(self) -> set[str]:
        return {queue for queue, name in MAPPINGS.items() if self.states[name] == "Enabled"}

    @property
    def probes(self) -> list[str]:
        return [asked.path for asked in self.asked if asked.path.endswith("/invocations")]


def _json(value: Any) -> Answer:
    return Answer(200, json.dumps(value).encode())


@dataclass(frozen=True)
class Stage:
    """What the function talks to."""

    control: DynamoDbControl
    api: LambdaApi

    def run(self) -> None:
        handler.lambda_handler(event("10-breaker-reconcile"), Context())

    @property
    def provider(self) -> Breaker:
        return self.control.read("default").provider


@pytest.fixture
def stage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    target = {
        "name": "default",
        "embed_function": "embed-default",
        "mappings": MAPPINGS,
    }
    with mock_aws(), LambdaApi() as api, ledger_table(request, "moto") as table:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", api.url)
        monkeypatch.setenv("LEDGER_TABLE", table.name)
        monkeypatch.setenv("TARGETS", json.dumps([target]))
        handler.breaker.cache_clear()
        yield Stage(DynamoDbControl(table.client, table.name), api)


def test_healthy_stage_is_left_alone(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    """R25: no probe, no change; the gauge says that all is well."""
    stage.run()

    assert stage.api.polled == set(QUEUES)
    assert {asked.method for asked in stage.api.asked} == {"GET"}
    assert written_metrics(capsys)["BreakerOpen"] == [0.0, 0.0]


def test_open_breaker_pauses_the_lanes(stage: Stage) -> None:
    """R25: the mappings of all lanes but the deletes'."""
    far_ms = NOW_MS * 2
    stage.control.swap(
        "default", Part.PROVIDER, Breaker(), Breaker(Circuit.OPEN, "down", NOW_MS, due_ms=far_ms)
    )

    stage.run()

    assert stage.api.polled == {"delete"}
    assert stage.api.probes == []


def test_passed_probe_brings_the_first_lane_back(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """R25: through embed itself, logged as an event with its target, part and reason."""
    stage.control.swap(
        "default", Part.PROVIDER, Breaker(), Breaker(Circuit.OPEN, "down", NOW_MS, due_ms=NOW_MS)
    )

    stage.run()

    [line] = [vars(r) for r in caplog.records if r.getMessage() == "breaker_reopening"]
    assert stage.api.probes == ["/2015-03-31/functions/embed-default/invocations"]
    assert stage.api.polled == {"delete", "high"}
    assert stage.provider.state is Circuit.REOPENING
    assert (line["target"], line["part"], line["reason"]) == (
        "default",
        "provider",
        "a probe has passed",
    )


def test_failed_probe_leaves_the_lanes_paused(stage: Stage) -> None:
    """R25: its answer is the new reason."""
    stage.control.swap(
        "default", Part.PROVIDER, Breaker(), Breaker(Circuit.OPEN, "down", NOW_MS, due_ms=NOW_MS)
    )
    stage.api.failure = "timeout: the provider did not answer in time"

    stage.run()

    assert stage.api.polled == {"delete"}
    assert (stage.provider.state, stage.provider.probes) == (Circuit.OPEN, 1)
    assert stage.provider.reason == stage.api.failure
