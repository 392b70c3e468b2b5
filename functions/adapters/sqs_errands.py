"""The small queue of the function backfill: it sends itself what it goes on with."""

from contextlib import suppress
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from functions.adapters.store_errors import store_failures
from functions.core.errand import Errand, to_json

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class SqsErrands:
    """Sends errands, and brings the one that is being worked back soon after a crash."""

    def __init__(self, client: "SQSClient", url: str) -> None:
        self._client = client
        self._url = url

    def send(self, errand: Errand, *, delay_seconds: int = 0) -> None:
        with store_failures("sending to the queue of backfill"):
            self._client.send_message(
                QueueUrl=self._url, MessageBody=to_json(errand), DelaySeconds=delay_seconds
            )

    def hide(self, receipt_handle: str, seconds: int) -> None:
        """Let a message come again after so many seconds; if SQS does not, it comes later."""
        try:
            self._client.change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=receipt_handle, VisibilityTimeout=seconds
            )
        except (ClientError, BotoCoreError):
            return

    def forget(self, receipt_handle: str) -> None:
        """Delete a message now; where that fails, it comes again."""
        with suppress(ClientError, BotoCoreError):
            self._client.delete_message(QueueUrl=self._url, ReceiptHandle=receipt_handle)
