"""Stack outputs: everything a command line needs to find a deployed stage's parts by name."""

from aws_cdk import CfnOutput, Stack

from functions.core.settings import SourceSettings, TargetSettings
from infrastructure.alarm_topics import AlarmTopics
from infrastructure.api_key import ApiKey
from infrastructure.embed_function import EmbedFunction
from infrastructure.enqueue_function import EnqueueFunction
from infrastructure.function_environment import compact
from infrastructure.lanes import Lanes
from infrastructure.resource_names import pascal
from infrastructure.source_table import SourceTable


class Outputs:
    """Write outputs whose names stay the same from deployment to deployment."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack

    def add(self, name: str, value: str, description: str | None = None) -> None:
        CfnOutput(self._stack, name, value=value, description=description)

    def add_source(
        self, settings: SourceSettings, table: SourceTable, enqueue: EnqueueFunction
    ) -> None:
        name = settings.name
        self.add(pascal("source", name, "settings"), compact(settings))
        self.add(pascal("source", name, "table"), table.name)
        self.add(pascal("source", name, "stream-arn"), table.stream_arn)
        self.add(pascal("source", name, "mapping-id"), enqueue.mappings[name].ref)

    def add_target(
        self, settings: TargetSettings, *, lanes: Lanes, embed: EmbedFunction, key: ApiKey
    ) -> None:
        name = settings.name
        self.add(pascal("target", name, "settings"), compact(settings))
        self.add(pascal("target", name, "embed-function"), embed.function.function_name)
        self.add(pascal("target", name, "api-key-secret-arn"), key.arn)
        if key.is_made_here:
            self.add(
                pascal("target", name, "fill-api-key"),
                f"aws secretsmanager put-secret-value --secret-id {key.arn}"
                " --secret-string file://key.txt",
                "Run this once, with the provider's key in key.txt. Until then no document of"
                " this target is embedded.",
            )
        for queue_name, queue in lanes.queues.items():
            lane = pascal("target", name, "lane", queue_name)
            self.add(f"{lane}Url", queue.queue_url)
            self.add(f"{lane}MappingId", embed.mappings[queue_name].event_source_mapping_id)
        for fifo, queue in lanes.dead_letters.items():
            kind = "fifo" if fifo else "standard"
            self.add(pascal("target", name, "dead-letters", kind, "url"), queue.queue_url)

    def add_topics(self, topics: AlarmTopics) -> None:
        self.add("WarningTopicArn", topics.warning.topic_arn)
        self.add("CriticalTopicArn", topics.critical.topic_arn)
