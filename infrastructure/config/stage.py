"""The typed form of one stage of cdk.json: what differs from stage to stage, and nothing else."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from functions.core.frozen import Frozen
from functions.core.settings import Name, RetentionSettings, VerifySettings
from infrastructure.config.alarms import AlarmsConfig
from infrastructure.config.mistakes import ConfigError, Mistake
from infrastructure.config.opensearch import OpenSearchConfig
from infrastructure.config.source import KeyArn, SourceConfig
from infrastructure.config.target import TargetConfig
from infrastructure.config.vpc import VpcConfig

NAME_RULE = (
    "at least one, by its name: lower-case words joined by hyphens, each begins with a letter, at"
    " most 32 characters"
)
# "embedq-<stage>" is also the domain's name, and a domain takes 28 characters.
StageName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,19}$")]
Email = Annotated[str, StringConstraints(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$")]
# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
RetentionDays = Literal[
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922,
    3288, 3653,
]  # fmt: skip


class AlarmEmailsConfig(Frozen):
    """Who gets the alarms; each address gets a mail from AWS to confirm."""

    warning: tuple[Email, ...] = Field((), description="a list of email addresses")
    critical: tuple[Email, ...] = Field((), description="a list of email addresses")

    @field_validator("warning", "critical")
    @classmethod
    def _addresses_differ(cls, emails: tuple[str, ...]) -> tuple[str, ...]:
        if len({email.lower() for email in emails}) < len(emails):
            raise ConfigError([Mistake((), "names an address twice", "each address once")])
        return emails


class StageConfig(Frozen):
    """Everything that differs from stage to stage."""

    sources: dict[Name, SourceConfig] = Field(min_length=1, description=NAME_RULE)
    targets: dict[Name, TargetConfig] = Field(min_length=1, description=NAME_RULE)
    opensearch: OpenSearchConfig = Field(description="{endpoint} or {domain}")
    vpc: VpcConfig | None = Field(
        None,
        description="{id, subnets, security_groups, endpoints, route_tables}; left out: the"
        " functions and a domain made here are in none",
    )
    encryption_key_arn: KeyArn | None = Field(
        None,
        description="arn:aws:kms:<region>:<account>:key/<id>, your own KMS key for all that the"
        " stack makes; left out: keys of AWS",
    )
    removal: Literal["retain", "destroy"] = Field(
        "retain",
        description="... (what happens to data when the stack is deleted; tables of sources stay)",
    )
    log_retention_days: RetentionDays = 30
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    alarm_emails: AlarmEmailsConfig = AlarmEmailsConfig()
    alarms: AlarmsConfig = AlarmsConfig()
    completion_events: bool = Field(
        True, description="... (whether each document's end is sent to the event bus)"
    )
    stuck_hours: float = Field(
        24, ge=1, le=720, description="...; a task without news for so long is sent again"
    )
    verify: VerifySettings = VerifySettings()
    retention: RetentionSettings = RetentionSettings()
    account_concurrency: int = Field(
        1000, ge=110, le=100_000, description="...: the account's quota of Lambda, calls at once"
    )
    enabled: bool = Field(
        True, description="... (whether streams and lanes are read and schedules run)"
    )

    @field_validator("log_retention_days", mode="before")
    @classmethod
    def _days_are_a_number(cls, days: object) -> object:
        if isinstance(days, bool):  # In Python true is 1.
            raise ConfigError([Mistake((), f"{str(days).lower()} has the wrong type", "a number")])
        return days

    def sources_of(self, target: str) -> dict[str, SourceConfig]:
        return {name: s for name, s in self.sources.items() if target in s.targets}

    def sequential_sources_of(self, target: str) -> tuple[str, ...]:
        return tuple(name for name, s in self.sources_of(target).items() if s.is_sequential)

    def metadata_of(self, target: str) -> dict[str, str]:
        """Join the metadata fields of every source that feeds the target."""
        return {
            field: kind
            for source in self.sources_of(target).values()
            for field, kind in source.metadata.items()
        }

    def reuses_vectors(self, target: str) -> bool:
        """Tell whether a target can take vectors out of the index of the one that it replaces."""
        replaced = self.targets.get(self.targets[target].replaces or "")
        return replaced is not None and self.targets[target].same_model(replaced)

    def workers_of(self, target: str) -> int:
        """Return how many calls of embed its lanes may start at once."""
        sequential = len(self.sequential_sources_of(target))
        return self.targets[target].concurrency.total(sequential_sources=sequential)

    def reserve_of(self, target: str) -> int:
        # One more than the lanes can take: while they are busy, a probe gets through.
        return self.targets[target].reserved_concurrency or self.workers_of(target) + 1
