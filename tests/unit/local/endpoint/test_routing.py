"""Which service a request is for."""

import pytest

from local.endpoint.messages import Request

FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}


def signed(service: str) -> dict[str, str]:
    scope = f"AKIA/20260101/us-east-1/{service}/aws4_request"
    return {"authorization": f"AWS4-HMAC-SHA256 Credential={scope}, Signature=0"}


@pytest.mark.parametrize(
    ("request_", "service"),
    [
        (Request("POST", "/", {"x-amz-target": "DynamoDB_20120810.GetItem"}), "dynamodb"),
        (Request("POST", "/", {"x-amz-target": "DynamoDBStreams_20120810.GetRecords"}), "dynamodb"),
        (Request("POST", "/", {"x-amz-target": "AmazonSQS.SendMessage"}), "sqs"),
        (
            Request(
                "POST",
                "/",
                {"x-amz-target": "secretsmanager.GetSecretValue", **signed("secretsmanager")},
            ),
            "secretsmanager",
        ),
        (Request("POST", "/0/queue", signed("sqs") | FORM, b"Action=SendMessage"), "sqs"),
        (Request("GET", "/bucket/key", signed("s3")), "s3"),
        (Request("POST", "/", {"x-amz-target": "AWSEvents.PutEvents"}), "events"),
        (Request("GET", "/b/k?X-Amz-Credential=A%2F20260101%2Fr%2Fs3%2Faws4_request", {}), "s3"),
        (Request("GET", "/2015-03-31/event-source-mappings/", {}), "lambda"),
        (Request("POST", "/", FORM, b"Action=ListQueues&Version=2012-11-05"), "sqs"),
        (Request("GET", "/?Action=DescribeStacks&Version=2010-05-15", {}), "cloudformation"),
        (Request("GET", "/", {}), ""),
    ],
    ids=lambda value: value.target if isinstance(value, Request) else value,
)
def test_a_request_finds_its_service(request_: Request, service: str) -> None:
    """R82: any SDK, signed or not, in any protocol."""
    assert request_.service.name == service
