"""The runner's own mappings through the Lambda API, in every state."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.aws_client import local_client
from local.endpoint import AwsEndpoint, EngineUrls
from local.mapping_states import RunnerMappings
from local.processes import wait_for
from local.runner.runner import Runner
from local.specs import QueueMappingSpec, StackSpec
from tests.unit.local.runner.conftest import NOWHERE, sample_function, sample_place

LIMIT_SECONDS = 20.0
UUID = "00000000-0000-0000-0000-000000000001"


@pytest.fixture
def lambda_(tmp_path: Path) -> Iterator[Any]:
    """Return Lambda with one mapping, whose queue cannot be reached."""
    place, function = sample_place(tmp_path), sample_function(tmp_path)
    lane = QueueMappingSpec(UUID, "sample", "lane.fifo", 10, 0, 2, True, True)
    runner = Runner(place, [function], [lane])
    with AwsEndpoint(EngineUrls(dynamodb=NOWHERE, sqs=NOWHERE)) as endpoint:
        stack = StackSpec("embedq-local", [], [], [], [], [function], [lane], [])
        endpoint.serve_mappings(RunnerMappings(runner, stack))
        runner.start()
        client = local_client("lambda", endpoint.url)
        yield client
        client.close()
        runner.stop(grace_seconds=0)


def test_a_mapping_comes_to_the_state_that_was_asked_for(lambda_: Any) -> None:
    """R25 R82: the breaker asks, looks, and at last finds the state it asked for."""

    def state() -> str:
        found: str = lambda_.get_event_source_mapping(UUID=UUID)["State"]
        return found

    assert state() == "Enabled"
    for wanted, on_the_way, there in (
        (False, "Disabling", "Disabled"),
        (True, "Enabling", "Enabled"),
    ):
        answer = lambda_.update_event_source_mapping(UUID=UUID, Enabled=wanted)

        # It may be there already.
        assert answer["State"] in (on_the_way, there)
        assert wait_for(lambda there=there: state() == there, LIMIT_SECONDS)  # type: ignore[misc]
    [listed] = lambda_.list_event_source_mappings()["EventSourceMappings"]
    assert (listed["UUID"], listed["State"]) == (UUID, "Enabled")
