"""Event source mappings through the Lambda API."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.endpoint import AwsEndpoint, MappingStatus
from local.specs import QueueMappingSpec, StreamMappingSpec

QUEUE_ID = "00000000-0000-0000-0000-000000000001"
STREAM_ID = "00000000-0000-0000-0000-000000000002"
QUEUE_ARN = "arn:aws:sqs:us-east-1:000000000000:lane.fifo"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:"


class TwoMappings:
    """A queue's mapping and a stream's, switched at once."""

    def __init__(self) -> None:
        lane = QueueMappingSpec(QUEUE_ID, "embed", "lane.fifo", 10, 0, 2, True, True)
        stream = StreamMappingSpec(
            STREAM_ID, "enqueue", "t", 100, 1, "TRIM_HORIZON", 1, True, 30, 60, True, True, "failed"
        )
        self._all = {
            QUEUE_ID: MappingStatus(lane, QUEUE_ARN, f"{FUNCTION}embed", "Enabled", 1.5),
            STREAM_ID: MappingStatus(stream, "arn:s", f"{FUNCTION}enqueue", "Enabled", 2.5),
        }

    def list(self) -> Sequence[MappingStatus]:
        return list(self._all.values())

    def get(self, mapping_id: str) -> MappingStatus | None:
        return self._all.get(mapping_id)

    def set_enabled(self, mapping_id: str, enabled: bool) -> MappingStatus | None:
        if mapping_id in self._all:
            state = "Enabling" if enabled else "Disabling"
            self._all[mapping_id] = replace(self._all[mapping_id], state=state)
        return self.get(mapping_id)


@pytest.fixture
def lambda_(endpoint: AwsEndpoint, client: Callable[[str], Any]) -> Any:
    """Return Lambda with the two mappings."""
    endpoint.serve_mappings(TwoMappings())
    return client("lambda")


def test_a_mapping_is_described_as_lambda_does(lambda_: Any) -> None:
    """R82: the breaker reads states in the Lambda API's shape."""
    found = lambda_.get_event_source_mapping(UUID=QUEUE_ID)

    assert found["State"] == "Enabled"
    assert found["BatchSize"] == 10
    assert found["EventSourceArn"] == QUEUE_ARN
    assert found["FunctionArn"] == f"{FUNCTION}embed"
    assert found["ScalingConfig"] == {"MaximumConcurrency": 2}
    assert found["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert found["LastModified"].timestamp() == 1.5


def test_a_stream_mapping_has_its_failure_bucket_and_limits(lambda_: Any) -> None:
    """R82: every setting of the template can be read back."""
    found = lambda_.get_event_source_mapping(UUID=STREAM_ID)

    assert found["DestinationConfig"] == {"OnFailure": {"Destination": "arn:aws:s3:::failed"}}
    assert found["MaximumRetryAttempts"] == 30
    assert found["MaximumRecordAgeInSeconds"] == 60
    assert found["BisectBatchOnFunctionError"] is True


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, [QUEUE_ID, STREAM_ID]),
        ({"FunctionName": "embed"}, [QUEUE_ID]),
        ({"FunctionName": f"{FUNCTION}enqueue"}, [STREAM_ID]),
        ({"EventSourceArn": QUEUE_ARN}, [QUEUE_ID]),
        ({"FunctionName": "unknown"}, []),
    ],
    ids=str,
)
def test_mappings_are_listed_by_function_and_source(
    lambda_: Any, wanted: dict[str, str], found: list[str]
) -> None:
    """R82: as the command line finds a stage's mappings."""
    listed = lambda_.list_event_source_mappings(**wanted)["EventSourceMappings"]

    assert [mapping["UUID"] for mapping in listed] == found


def test_a_long_list_comes_in_pages(lambda_: Any) -> None:
    """R82: an SDK's paginator sees all of them."""
    pages = list(
        lambda_.get_paginator("list_event_source_mappings").paginate(
            PaginationConfig={"PageSize": 1}
        )
    )

    assert [page["EventSourceMappings"][0]["UUID"] for page in pages] == [QUEUE_ID, STREAM_ID]


def test_a_mapping_is_switched_off_and_on(lambda_: Any) -> None:
    """R82: the breaker pauses a lane through the Lambda API."""
    off = lambda_.update_event_source_mapping(UUID=QUEUE_ID, Enabled=False)
    assert off["State"] == "Disabling"

    on = lambda_.update_event_source_mapping(UUID=QUEUE_ID, Enabled=True)
    assert on["State"] == "Enabling"
    assert lambda_.update_event_source_mapping(UUID=QUEUE_ID)["State"] == "Enabling"


@pytest.mark.parametrize(
    ("call", "arguments", "code"),
    [
        ("get_event_source_mapping", {"UUID": "0" * 36}, "ResourceNotFoundException"),
        (
            "update_event_source_mapping",
            {"UUID": "0" * 36, "Enabled": True},
            "ResourceNotFoundException",
        ),
        (
            "update_event_source_mapping",
            {"UUID": QUEUE_ID, "BatchSize": 5},
            "InvalidParameterValueException",
        ),
        (
            "create_event_source_mapping",
            {"FunctionName": "embed", "EventSourceArn": QUEUE_ARN},
            "InvalidParameterValueException",
        ),
        ("delete_event_source_mapping", {"UUID": QUEUE_ID}, "InvalidParameterValueException"),
    ],
    ids=["get-unknown", "switch-unknown", "change-size", "create", "delete"],
)
def test_what_only_the_template_can_do_is_refused(
    lambda_: Any, call: str, arguments: dict[str, Any], code: str
) -> None:
    """R82: a mapping never reaches moto, which would poll the queue itself."""
    with pytest.raises(ClientError) as raised:
        getattr(lambda_, call)(**arguments)

    assert raised.value.response["Error"]["Code"] == code
