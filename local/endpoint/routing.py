"""Which service a request is for: by its target, its signature, its path or its API version."""

import re

from local.endpoint.messages import Request

DYNAMODB, SQS, LAMBDA, CLOUDFORMATION = "dynamodb", "sqs", "lambda", "cloudformation"
EVENTS = "events"

_TARGETS = {
    "DynamoDB_20120810": DYNAMODB,
    "DynamoDBStreams_20120810": DYNAMODB,
    "AmazonSQS": SQS,
    "AWSEvents": EVENTS,
}
# <key>/<date>/<region>/<service>/aws4_request
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
_SCOPE = re.compile(r"[^/\s]+/\d{8}/[^/]+/([^/]+)/aws4_request")
_VERSIONS = {"2012-11-05": SQS, "2010-05-15": CLOUDFORMATION}
_LAMBDA_PATHS = ("/2015-03-31/",)


def service_of(request: Request) -> str:
    """Name the service as its signature does; empty where nothing tells it."""
    target = request.headers.get("x-amz-target", "").partition(".")[0]
    if target in _TARGETS:
        return _TARGETS[target]
    credential = request.headers.get("authorization") or request.query.get("X-Amz-Credential", "")
    if scope := _SCOPE.search(credential):
        return scope[1]
    if request.path.startswith(_LAMBDA_PATHS):
        return LAMBDA
    return _VERSIONS.get(request.form.get("Version", ""), "")
