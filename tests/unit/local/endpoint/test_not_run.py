"""What is not run on one machine says so, instead of answering an empty list."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError


@pytest.mark.parametrize(
    ("service", "operation", "reason"),
    [
        ("cloudwatch", "describe_alarms", "no stack runs yet whose metrics could be read"),
        ("lambda", "list_layers", "only the template changes functions"),
        ("sns", "list_topics", "sns is not run on one machine: only dynamodb"),
        ("iam", "list_roles", "iam is not run on one machine"),
        ("kms", "list_keys", "kms is not run on one machine"),
        ("ecs", "list_clusters", "ecs is not run on one machine"),
    ],
)
def test_what_is_not_run_says_so(
    client: Callable[[str], Any], service: str, operation: str, reason: str
) -> None:
    """R82: with what to use instead."""
    with pytest.raises(ClientError, match=reason) as refused:
        getattr(client(service), operation)()

    assert refused.value.response["Error"]["Code"] == "NotRunHere"
