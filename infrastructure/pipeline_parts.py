"""What the stack has made so far, handed on by name to what is built on it."""

from collections.abc import Mapping
from dataclasses import dataclass

from constructs import Construct

from infrastructure.api_key import ApiKey
from infrastructure.embed_function import EmbedFunction
from infrastructure.failed_changes import FailedChanges
from infrastructure.function_environment import Environments
from infrastructure.lanes import Lanes
from infrastructure.ledger import Ledger
from infrastructure.stage_config import StageConfig
from infrastructure.vector_index import VectorIndex


@dataclass(frozen=True)
class TargetParts:
    """What the stack makes for one target."""

    scope: Construct
    lanes: Lanes
    key: ApiKey


@dataclass(frozen=True)
class PipelineParts:
    """The pipeline from source to index, whole."""

    stage: str
    environments: Environments
    config: StageConfig
    ledger: Ledger
    targets: Mapping[str, TargetParts]
    embeds: Mapping[str, EmbedFunction]
    index: VectorIndex
    failed: FailedChanges
