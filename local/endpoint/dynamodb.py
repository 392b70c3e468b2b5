"""DynamoDB and its streams, on DynamoDB Local, with ARNs of our region.

The engine writes the region ddblocal into every ARN, and knows its streams by these only.
"""

from dataclasses import replace

from local.endpoint.messages import Answer, Request
from local.endpoint.upstream import Upstream

# Calls that describe tables and streams; no document is in their answers. A shard iterator
# holds an ARN too, and must come back as it was given.
_DESCRIBING = frozenset(
    ("CreateTable", "DeleteTable", "DescribeStream", "DescribeTable", "ListStreams", "UpdateTable")
)
_TAKING_STREAMS = frozenset(("DescribeStream", "GetShardIterator", "ListStreams"))
_ENGINE = b"arn:aws:dynamodb:ddblocal:"


class DynamoDb:
    """Sends calls to the engine."""

    def __init__(self, *, region: str) -> None:
        """Use this region in ARNs."""
        self._ours = f"arn:aws:dynamodb:{region}:".encode()

    def answer(self, request: Request, engine: Upstream) -> Answer:
        """Let the engine answer a call."""
        action = request.action
        if action in _TAKING_STREAMS:
            request = replace(request, body=request.body.replace(self._ours, _ENGINE))
        answer = engine.forward(request)
        if action not in _DESCRIBING:
            return answer
        # The checksum is of the body as it was.
        headers = [pair for pair in answer.headers if pair[0].lower() != "x-amz-crc32"]
        return replace(answer, headers=headers, body=answer.body.replace(_ENGINE, self._ours))
