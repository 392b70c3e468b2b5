"""What is not run on one machine says so, instead of answering an empty list."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError


@pytest.mark.parametrize(
    ("service", "operation", "reason"),
    [
        ("logs", "describe_log_groups", "`embedq logs` shows the functions' lines"),
        ("cloudwatch", "describe_alarms", "metrics and alarms are not run on one machine"),
        ("cloudwatch", "list_metrics", "metrics and alarms are not run on one machine"),
        ("lambda", "list_functions", "the names of the functions are outputs of the stack"),
    ],
)
def test_what_is_not_run_says_so(
    client: Callable[[str], Any], service: str, operation: str, reason: str
) -> None:
    """R82: with what to use instead."""
    with pytest.raises(ClientError, match=reason) as refused:
        getattr(client(service), operation)()

    assert refused.value.response["Error"]["Code"] == "NotRunHere"
