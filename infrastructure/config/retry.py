"""What cdk.json says about retries: a preset by name, or one with changes, by document type."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field, model_validator

from functions.core.next_step import LAST_HIDING_RECEIVE
from functions.core.retry_policy import (
    PRESETS,
    RETRYABLE,
    Backoff,
    RetryPolicy,
    RetrySettings,
    Strategy,
)
from infrastructure.config.mistakes import ConfigError, Mistake, one_of

PRESET_NAMES = ", ".join(PRESETS)
DocumentType = Annotated[str, Field(min_length=1)]


def _merged(base: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Lay the given fields over the base, with what follows from them."""
    # Strict Python takes no list for a tuple. A null is as good as nothing.
    changes = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in given.items()
        if value is not None or name not in RetryPolicy.model_fields
    }
    merged = {**base, **changes}
    is_scheduled = merged["strategy"] == Strategy.SCHEDULE
    if "schedule_seconds" not in changes and not is_scheduled:
        merged["schedule_seconds"] = ()
    elif is_scheduled and "schedule_seconds" in changes and "cap_seconds" not in changes:
        # A schedule that was written down is meant as it stands.
        merged["cap_seconds"] = _longest(changes["schedule_seconds"], base["cap_seconds"])
    return merged


def _longest(delays: Any, otherwise: float) -> float:
    is_list = isinstance(delays, tuple) and all(isinstance(one, int | float) for one in delays)
    return max(delays, default=otherwise) if is_list else otherwise


class PolicyConfig(RetryPolicy):
    """A preset by its name, or an object that changes one."""

    preset: str = Field("standard", exclude=True, description=f"one of {PRESET_NAMES}")

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, given: Any) -> Any:
        """Merge what is given over the preset, and what each kind is given over that."""
        changes = {"preset": given} if isinstance(given, str) else given
        if not isinstance(changes, Mapping):
            return given
        name = changes.get("preset", "standard")
        if not isinstance(name, str):
            return changes
        if name not in PRESETS:
            wrong = f'"{name}" is no preset'
            raise ConfigError([Mistake(("preset",), wrong, one_of(name, PRESETS))])
        policy = _merged(PRESETS[name].model_dump(), changes)
        base = {field: policy[field] for field in Backoff.model_fields}
        kinds = changes.get("kinds", {})
        if isinstance(kinds, Mapping):
            kinds = {
                kind: _merged(base, change) if isinstance(change, Mapping) else change
                for kind, change in kinds.items()
            }
        return {**policy, "kinds": kinds}


class RetryConfig(RetrySettings):
    """How a target retries."""

    default: PolicyConfig = Field(
        PolicyConfig(), description=f"{PRESET_NAMES}, or an object that changes one of them"
    )
    types: Mapping[DocumentType, PolicyConfig] = Field(
        {}, description="{document type: policy}, each policy like the default one"
    )

    @model_validator(mode="after")
    def _policies_can_be_kept(self) -> "RetryConfig":
        policies = {("default",): self.default} | {
            ("types", name): policy for name, policy in self.types.items()
        }
        mistakes = [
            mistake.under(path)
            for path, policy in policies.items()
            for mistake in _policy_mistakes(policy, self.max_hide_seconds)
        ]
        if mistakes:
            raise ConfigError(mistakes)
        return self


def _policy_mistakes(policy: RetryPolicy, max_hide_seconds: float) -> list[Mistake]:
    """List what does not go together, what is no kind of a policy, and too many hidden retries."""
    return (
        [*_kind_mistakes(policy)]
        or [*_backoff_mistakes(policy)]
        or [
            mistake.under(("kinds", kind))
            for kind, backoff in policy.kinds.items()
            for mistake in _backoff_mistakes(backoff)
        ]
        or [*_hidden_too_often(policy, max_hide_seconds)]
    )


def _kind_mistakes(policy: RetryPolicy) -> Iterator[Mistake]:
    named = {("kinds", kind): kind for kind in policy.kinds} | {
        ("retryable", place): kind for place, kind in enumerate(policy.retryable or ())
    }
    for path, kind in named.items():
        if kind not in RETRYABLE:
            why = "never passes" if kind.is_permanent else "is waited out and spends no attempt"
            yield Mistake(path, f'"{kind}" {why}', f"any of {', '.join(RETRYABLE)}")


def _backoff_mistakes(backoff: Backoff) -> Iterator[Mistake]:
    least, what = backoff.base_seconds, "base_seconds"
    if backoff.strategy is Strategy.SCHEDULE:
        if not backoff.schedule_seconds:
            rule = "a list of delays in seconds, as strategy schedule needs one"
            yield Mistake(("schedule_seconds",), "is missing", rule)
            return
        least, what = max(backoff.schedule_seconds), "the longest of schedule_seconds"
    elif backoff.schedule_seconds:
        wrong = f"does not go with strategy {backoff.strategy}"
        yield Mistake(("schedule_seconds",), wrong, "add strategy schedule, or leave it out")
    if backoff.cap_seconds < least and backoff.strategy is not Strategy.IMMEDIATE:
        wrong = f"{backoff.cap_seconds:g} is below {what}"
        yield Mistake(("cap_seconds",), wrong, f"at least {least:g}")


def _hidden_too_often(policy: RetryPolicy, max_hide_seconds: float) -> Iterator[Mistake]:
    # SQS moves a message to the DLQ after MAX_RECEIVES; from LAST_HIDING_RECEIVE on a task is
    # parked, and waits for the next minute instead of its own delay.
    count, most = hidden_retries(policy, max_hide_seconds), LAST_HIDING_RECEIVE - 1
    if count > most:
        yield Mistake(
            (),
            f"{count} of its retries wait {max_hide_seconds:g} s or less, in the queue",
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
