"""What cdk.json says about retries: policies by document type, and healing -> RetrySettings."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, model_validator

from functions.core.next_step import LAST_HIDING_RECEIVE
from functions.core.retry_policy import RetryPolicy, RetrySettings
from infrastructure.config_mistakes import ConfigError, ConfigModel, Mistake
from infrastructure.policy_config import PRESET_NAMES, SECONDS_RULE, PolicyConfig, Seconds

STANDARD = RetrySettings()


class HealingConfig(ConfigModel):
    """What comes after the last attempt of a failure that may pass."""

    after_seconds: list[Seconds] = Field(
        [round(seconds) for seconds in STANDARD.heal_after_seconds],
        min_length=1,
        description=f"a list of delays, {SECONDS_RULE} each; the last one repeats",
    )
    hours: float = Field(24, ge=0, le=168, description="0 (no healing) to 168")


class RetryConfig(ConfigModel):
    """How a target retries."""

    default: PolicyConfig = Field(
        PolicyConfig(), description=f"{PRESET_NAMES}, or an object that changes one of them"
    )
    types: dict[Annotated[str, Field(min_length=1)], PolicyConfig] = Field(
        {}, description="{document type: policy}, each policy like the default one"
    )
    max_hide_seconds: int = Field(
        120,
        ge=1,
        le=900,
        description="1 to 900; a longer delay is kept in the ledger, not in the queue",
    )
    healing: HealingConfig = Field(HealingConfig(), description="{after_seconds, hours}")

    @property
    def settings(self) -> RetrySettings:
        """Return what embed and sweep go by."""
        return RetrySettings(
            default=self.default.policy,
            types={name: policy.policy for name, policy in self.types.items()},
            max_hide_seconds=self.max_hide_seconds,
            heal_after_seconds=tuple(self.healing.after_seconds),
            heal_hours=self.healing.hours,
        )

    @model_validator(mode="after")
    def _schedules_outlive_no_message(self) -> "RetryConfig":
        policies = {("default",): self.default} | {
            ("types", name): policy for name, policy in self.types.items()
        }
        mistakes = [
            mistake.under(path)
            for path, config in policies.items()
            for mistake in self._hidden_too_often(config.policy)
        ]
        if mistakes:
            raise ConfigError(mistakes)
        return self

    def _hidden_too_often(self, policy: RetryPolicy) -> Iterator[Mistake]:
        # SQS moves a message to the DLQ after MAX_RECEIVES; from LAST_HIDING_RECEIVE on a task is
        # parked, and waits for the next minute instead of its own delay.
        count, most = hidden_retries(policy, self.max_hide_seconds), LAST_HIDING_RECEIVE - 1
        if count > most:
            yield Mistake(
                (),
                f"{count} of its retries wait {self.max_hide_seconds} s or less, in the queue",
                f"at most {most}: fewer max_attempts, longer delays or less max_hide_seconds",
            )


def hidden_retries(policy: RetryPolicy, max_hide_seconds: float) -> int:
    """Count the retries that may hide the message, whichever kinds come in which order."""
    backoffs = [policy, *policy.kinds.values()]
    most = max(backoff.max_attempts for backoff in backoffs)
    return sum(
        any(
            # Jitter shortens a delay.
            attempts < one.max_attempts
            and one.delay_seconds(attempts, jitter=1) <= max_hide_seconds
            for one in backoffs
        )
        for attempts in range(1, most)
    )
