"""A small stack for one test: the sample function, queues and tables of its own, and its notes."""

import json
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from local.runner.place import RunnerPlace
from local.runner.runner import Runner
from local.specs import FunctionSpec, QueueMappingSpec, StreamMappingSpec
from tests.waiting import until

SAMPLES = Path(__file__).with_name("functions_sample")


class Stage:
    """Engines, a folder, and the runners that a test starts."""

    def __init__(self, folder: Path, sqs_url: str, dynamodb_url: str, aws_url: str = "") -> None:
        """Take the engines; nothing is made yet."""
        self.place = RunnerPlace(
            folder=folder,
            sqs_url=sqs_url,
            dynamodb_url=dynamodb_url,
            aws_url=aws_url or sqs_url,
            code_root=SAMPLES,
        )
        self.sqs = self.place.client("sqs", sqs_url)
        self.dynamodb = self.place.client("dynamodb", dynamodb_url)
        self.name = f"t{uuid.uuid4().hex[:12]}"
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop every runner."""
        self._ends.close()

    def function(
        self, timeout_seconds: int = 10, reserved: int | None = None, folder: str = "sample"
    ) -> FunctionSpec:
        """Describe the sample function."""
        return FunctionSpec(
            name="sample",
            logical_id="Sample",
            folder=folder,
            handler="handler.lambda_handler",
            environment={"NOTES": str(self.place.folder / "notes")},
            timeout_seconds=timeout_seconds,
            memory_mb=128,
            reserved_concurrency=reserved,
        )

    def start(
        self,
        function: FunctionSpec,
        queues: Sequence[QueueMappingSpec] = (),
        streams: Sequence[StreamMappingSpec] = (),
    ) -> Runner:
        """Start a runner that ends with the test."""
        runner = Runner(self.place, [function], queues, streams)
        self._ends.callback(runner.stop, grace_seconds=0.5)
        runner.start()
        return runner

    def start_warm(self, function: FunctionSpec, mapping: QueueMappingSpec) -> Runner:
        """Start a runner whose processes are there before the first message.

        A cold start on a busy machine may outlast the short visibility timeouts of these tests.
        """
        runner = self.start(function, [replace(mapping, enabled=False)])
        count = function.reserved_concurrency or mapping.max_concurrency or 1
        with ThreadPoolExecutor(count) as callers:
            order = json.dumps({"do": "sleep", "seconds": 0.3}).encode()
            list(callers.map(lambda _: runner.invoke("sample", order), range(count)))
        runner.set_enabled(mapping.mapping_id, True)
        return runner

    def queue(self, *, fifo: bool = False, visibility_seconds: int = 30, **more: str) -> str:
        """Create a queue and return its URL."""
        attributes = {"VisibilityTimeout": str(visibility_seconds), **more}
        if fifo:
            attributes["FifoQueue"] = "true"
        name = self.queue_name(fifo=fifo)
        url: str = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url

    def queue_name(self, *, fifo: bool = False) -> str:
        """Return the name of the test's queue."""
        return f"{self.name}{'.fifo' if fifo else ''}"

    def queue_mapping(
        self,
        *,
        fifo: bool = False,
        batch_size: int = 10,
        window_seconds: int = 0,
        max_concurrency: int | None = 2,
        enabled: bool = True,
    ) -> QueueMappingSpec:
        """Describe a mapping from the test's queue."""
        return QueueMappingSpec(
            mapping_id="queue-mapping",
            function="sample",
            queue=self.queue_name(fifo=fifo),
            batch_size=batch_size,
            window_seconds=window_seconds,
            max_concurrency=max_concurrency,
            reports_failures=True,
            enabled=enabled,
        )

    def send(self, url: str, *orders: Mapping[str, Any]) -> list[str]:
        """Send messages; on a FIFO queue their group is in the order."""
        ids: list[str] = []
        for start in range(0, len(orders), 10):
            entries = [
                _entry(number, order, fifo=url.endswith(".fifo"))
                for number, order in enumerate(orders[start : start + 10])
            ]
            answer = self.sqs.send_message_batch(QueueUrl=url, Entries=entries)
            ids += [entry["MessageId"] for entry in answer["Successful"]]
        return ids

    def left(self, url: str) -> int:
        """Return how many messages the queue holds, in flight or not."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        answer = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)
        return sum(int(answer["Attributes"][name]) for name in names)

    def table(self) -> str:
        """Create a table with a stream and return its name."""
        self.dynamodb.create_table(
            TableName=self.name,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
        return self.name

    def put(self, item: str, **more: Any) -> None:
        """Write an item; `do` is the order for the function, other values are typed."""
        if "do" in more:
            more["do"] = {"S": more["do"]}
        self.dynamodb.put_item(TableName=self.name, Item={"id": {"S": item}, **more})

    def stream_mapping(
        self,
        *,
        batch_size: int = 100,
        window_seconds: int = 0,
        max_retries: int = 1,
        bucket: str | None = None,
    ) -> StreamMappingSpec:
        """Describe a mapping from the test's table."""
        return StreamMappingSpec(
            mapping_id="stream-mapping",
            function="sample",
            table=self.name,
            batch_size=batch_size,
            window_seconds=window_seconds,
            starting_position="TRIM_HORIZON",
            parallelization_factor=1,
            bisects=True,
            max_retries=max_retries,
            max_age_seconds=-1,
            reports_failures=True,
            enabled=True,
            failure_bucket=bucket,
        )

    def wait_until_empty(self, url: str) -> None:
        """Wait until every message is deleted."""
        until(lambda: self.left(url) == 0, "the queue is empty")

    def notes(self) -> list[dict[str, Any]]:
        """Return what the function noted, one for each run that was not killed."""
        path = self.place.folder / "notes"
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text().splitlines()]

    def bodies(self) -> list[list[Any]]:
        """Return the messages of each run."""
        return [[json.loads(r["body"]) for r in note["records"]] for note in self.notes()]

    def changed(self) -> list[list[str]]:
        """Return the ids of the items in each run on stream records."""
        return [
            [record["dynamodb"]["Keys"]["id"]["S"] for record in note["records"]]
            for note in self.notes()
        ]


def _entry(number: int, order: Mapping[str, Any], *, fifo: bool) -> dict[str, Any]:
    entry = {"Id": str(number), "MessageBody": json.dumps(order)}
    if fifo:
        entry |= {
            "MessageGroupId": order.get("group", "g"),
            "MessageDeduplicationId": uuid.uuid4().hex,
        }
    return entry
