"""The runner's mappings, as the Lambda API tells and switches them."""

import time
from collections.abc import Sequence

from local.aws_client import local_arn
from local.endpoint.lambda_api import MappingStatus
from local.runner.runner import Runner
from local.specs import QueueMappingSpec, StackSpec, StreamMappingSpec


class RunnerMappings:
    """Answers for one stack."""

    def __init__(self, runner: Runner, spec: StackSpec) -> None:
        self._runner = runner
        self._outputs = spec.outputs
        self._changed_at = time.time()
        every: list[QueueMappingSpec | StreamMappingSpec] = []
        every += spec.queue_mappings
        every += spec.stream_mappings
        self._mappings = {mapping.mapping_id: mapping for mapping in every}

    def list(self) -> Sequence[MappingStatus]:
        return [self._status(mapping) for mapping in self._mappings.values()]

    def get(self, mapping_id: str) -> MappingStatus | None:
        mapping = self._mappings.get(mapping_id)
        return None if mapping is None else self._status(mapping)

    def set_enabled(self, mapping_id: str, enabled: bool) -> MappingStatus | None:
        if mapping_id in self._mappings:
            self._runner.set_enabled(mapping_id, enabled)
        return self.get(mapping_id)

    def _status(self, mapping: QueueMappingSpec | StreamMappingSpec) -> MappingStatus:
        return MappingStatus(
            mapping=mapping,
            source_arn=self._source_arn(mapping),
            function_arn=local_arn("lambda", f"function:{mapping.function}"),
            state=self._runner.state(mapping.mapping_id),
            changed_at=self._changed_at,
        )

    def _source_arn(self, mapping: QueueMappingSpec | StreamMappingSpec) -> str:
        if isinstance(mapping, QueueMappingSpec):
            return local_arn("sqs", mapping.queue)
        stream = f":table/{mapping.table}/stream/"
        return next(value for value in self._outputs.values() if stream in value)
