"""The lanes of one target, its two DLQs, and how Lambda reads the lanes for embed."""

from aws_cdk import Duration, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IDependable

from functions.core.lane import RETENTION_DAYS, Lane, lanes_of, queue_name
from functions.core.next_step import MAX_RECEIVES
from infrastructure.config.stage import StageConfig
from infrastructure.encryption import own_key
from infrastructure.names import (
    dead_letter_queue_name,
    lane_queue_name,
    pascal,
)
from infrastructure.python_function import PythonFunction
from infrastructure.removal import removal_policy

RETENTION = Duration.days(RETENTION_DAYS)


class Lanes(Construct):
    """Carry the tasks of one target; one that fails for good stays for days in a DLQ."""

    def __init__(
        self, scope: Construct, id_: str, *, stage: str, config: StageConfig, target_name: str
    ) -> None:
        super().__init__(scope, id_)
        self._stage = stage
        self._target_name = target_name
        self._target = config.targets[target_name]
        self._removal = removal_policy(config)
        self._key = own_key(self, config)
        self._dead_letter_days = config.retention.dead_letters
        wanted = lanes_of(config.sequential_sources_of(target_name))
        self.dead_letters = {
            fifo: self._dead_letters(
                fifo=fifo, sources=[pair for pair in wanted if pair[0].is_fifo is fifo]
            )
            for fifo in (True, False)
        }
        self.lane_of = {queue_name(lane, source): lane for lane, source in wanted}
        self.queues = {
            queue_name(lane, source): self._queue(lane, source) for lane, source in wanted
        }

    @property
    def _encryption(self) -> sqs.QueueEncryption:
        return sqs.QueueEncryption.KMS if self._key else sqs.QueueEncryption.SQS_MANAGED

    @property
    def urls(self) -> dict[str, str]:
        return {name: queue.queue_url for name, queue in self.queues.items()}

    def arns(self) -> list[str]:
        return [queue.queue_arn for queue in self.queues.values()]

    def feed(
        self, embed: PythonFunction, *, enabled: bool, after: IDependable
    ) -> dict[str, lambda_.EventSourceMapping]:
        """Let Lambda read every lane, once the index is there to be written."""
        return {
            name: self._mapping(name, embed, enabled=enabled, after=after) for name in self.queues
        }

    def _mapping(
        self, name: str, embed: PythonFunction, *, enabled: bool, after: IDependable
    ) -> lambda_.EventSourceMapping:
        lane = self.lane_of[name]
        batch_size, window_seconds = self._target.batch_of(lane)
        mapping = lambda_.EventSourceMapping(
            embed,
            pascal(name, "mapping"),
            target=embed.function,
            event_source_arn=self.queues[name].queue_arn,
            enabled=enabled,
            batch_size=batch_size,
            max_batching_window=Duration.seconds(window_seconds) if window_seconds else None,
            max_concurrency=self._target.concurrency.of(lane),
            report_batch_item_failures=True,
        )
        mapping.node.add_dependency(after)
        return mapping

    def _queue(self, lane: Lane, source: str) -> sqs.Queue:
        _, window = self._target.batch_of(lane)
        # High throughput lifts 300 calls/s to thousands, one limit for each document's group. A
        # sequential source has one group, where it would change nothing.
        fast = lane.is_fifo and not lane.traits.is_per_source
        return sqs.Queue(
            self,
            pascal(queue_name(lane, source)),
            queue_name=lane_queue_name(self._stage, self._target_name, lane, source),
            fifo=True if lane.is_fifo else None,
            deduplication_scope=sqs.DeduplicationScope.MESSAGE_GROUP if fast else None,
            fifo_throughput_limit=sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID if fast else None,
            visibility_timeout=Duration.seconds(self._target.visibility_seconds + window),
            retention_period=RETENTION,
            encryption=self._encryption,
            encryption_master_key=self._key,
            enforce_ssl=True,
            # Above every policy's retries by visibility, so that only a task that is given up, or
            # kills its function again and again, reaches the DLQ.
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.dead_letters[lane.is_fifo], max_receive_count=MAX_RECEIVES
            ),
        )

    def _dead_letters(self, *, fifo: bool, sources: list[tuple[Lane, str]]) -> sqs.Queue:
        return sqs.Queue(
            self,
            "DeadLettersFifo" if fifo else "DeadLettersStandard",
            queue_name=dead_letter_queue_name(self._stage, self._target_name, fifo=fifo),
            fifo=True if fifo else None,
            retention_period=Duration.days(self._dead_letter_days),
            encryption=self._encryption,
            encryption_master_key=self._key,
            enforce_ssl=True,
            removal_policy=self._removal,
            redrive_allow_policy=sqs.RedriveAllowPolicy(
                redrive_permission=sqs.RedrivePermission.BY_QUEUE,
                source_queues=[self._by_name(lane, source) for lane, source in sources],
            ),
        )

    def _by_name(self, lane: Lane, source: str) -> sqs.IQueue:
        # A reference to the queue itself would be a circle: the queue names its DLQ too.
        name = lane_queue_name(self._stage, self._target_name, lane, source)
        arn = Stack.of(self).format_arn(service="sqs", resource=name)
        return sqs.Queue.from_queue_arn(self, f"{pascal(queue_name(lane, source))}Arn", arn)
