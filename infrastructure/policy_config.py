"""What cdk.json says about one retry policy: a preset by name, changed as wished."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ModelWrapValidatorHandler, model_validator

from functions.core.failure import FailureKind
from functions.core.retry_policy import PRESETS, Backoff, RetryPolicy, Strategy
from infrastructure.config_mistakes import ConfigError, ConfigModel, Mistake

# The others either never pass or wait without spending an attempt, whatever a policy says.
CHARGED = tuple(k for k in FailureKind if k.spends_attempt and not k.is_permanent)
WEEK_SECONDS = 7 * 24 * 60 * 60

_KINDS = ", ".join(CHARGED)
PRESET_NAMES = ", ".join(PRESETS)
_STRATEGIES = ", ".join(Strategy)
SECONDS_RULE = "0 to 604800 (a week)"


def _charged(kind: FailureKind) -> FailureKind:
    if kind in CHARGED:
        return kind
    why = "never passes" if kind.is_permanent else "is waited out and spends no attempt"
    raise ConfigError([Mistake((), f'"{kind}" {why}', f"any of {_KINDS}")])


Kind = Annotated[FailureKind, AfterValidator(_charged)]
Seconds = Annotated[float, Field(ge=0, le=WEEK_SECONDS)]


class BackoffConfig(ConfigModel):
    """What differs from the preset, or from the policy that a kind belongs to."""

    max_attempts: int | None = Field(None, ge=1, le=100, description="1 to 100, the first included")
    strategy: Strategy | None = Field(None, description=f"one of {_STRATEGIES}")
    base_seconds: Seconds | None = Field(
        None, description=f"{SECONDS_RULE}, after the first attempt"
    )
    cap_seconds: Seconds | None = Field(None, description=f"{SECONDS_RULE}, no delay is longer")
    schedule_seconds: list[Seconds] | None = Field(
        None,
        min_length=1,
        description=f"a list of delays, {SECONDS_RULE} each; the last one repeats",
    )
    jitter: float | None = Field(
        None, ge=0, le=1, description="0 to 1, the share of a delay that is random"
    )

    def changes(self, base: Backoff) -> dict[str, Any]:
        """Return what is given, and what follows from it, as fields of a backoff."""
        given = self.model_dump(include=set(BackoffConfig.model_fields), exclude_none=True)
        strategy = given.get("strategy", base.strategy)
        if strategy is not Strategy.SCHEDULE:
            return {"schedule_seconds": (), **given}
        delays = tuple(given.get("schedule_seconds", base.schedule_seconds))
        # A schedule that was written down is meant as it stands.
        cap = {"cap_seconds": max(delays)} if "schedule_seconds" in given else {}
        return {**cap, **given, "schedule_seconds": delays}

    def mistakes(self, base: Backoff) -> Iterator[Mistake]:
        """Find what does not go together once the base has filled the gaps."""
        strategy = self.strategy or base.strategy
        if strategy is Strategy.SCHEDULE:
            delays = self.schedule_seconds or base.schedule_seconds
            if not delays:
                allowed = "a list of delays in seconds, as strategy schedule needs one"
                yield Mistake(("schedule_seconds",), "is missing", allowed)
                return
            least, what = max(delays), "the longest of schedule_seconds"
        else:
            if self.schedule_seconds is not None:
                wrong = f"does not go with strategy {strategy}"
                yield Mistake(
                    ("schedule_seconds",), wrong, "add strategy schedule, or leave it out"
                )
            least, what = self._base_of(base), "base_seconds"
        cap = self.changes(base).get("cap_seconds", base.cap_seconds)
        if cap < least and strategy is not Strategy.IMMEDIATE:
            wrong = f"{cap:g} is below {what}"
            yield Mistake(("cap_seconds",), wrong, f"at least {least:g}")

    def _base_of(self, base: Backoff) -> float:
        return base.base_seconds if self.base_seconds is None else self.base_seconds


class PolicyConfig(BackoffConfig):
    """A preset by its name, or an object that changes one."""

    preset: str = Field("standard", description=f"one of {PRESET_NAMES}")
    kinds: dict[Kind, BackoffConfig] = Field(
        {}, description=f"{{kind: {{max_attempts, ...}}}} for any of {_KINDS}"
    )
    retryable: list[Kind] | None = Field(
        None, description=f"a list of {_KINDS}; left out: all of them"
    )

    @property
    def policy(self) -> RetryPolicy:
        """Return the whole policy."""
        preset = PRESETS[self.preset]
        policy = preset.model_copy(update=self.changes(preset))
        base = Backoff(**{name: getattr(policy, name) for name in Backoff.model_fields})
        kinds = {
            kind: base.model_copy(update=given.changes(base)) for kind, given in self.kinds.items()
        }
        retryable = None if self.retryable is None else tuple(self.retryable)
        return policy.model_copy(update={"kinds": kinds, "retryable": retryable})

    @model_validator(mode="wrap")
    @classmethod
    def _by_name(
        cls, given: Any, handler: ModelWrapValidatorHandler["PolicyConfig"]
    ) -> "PolicyConfig":
        return handler({"preset": given} if isinstance(given, str) else given)

    @model_validator(mode="after")
    def _combinations(self) -> "PolicyConfig":
        if self.preset not in PRESETS:
            wrong = f'"{self.preset}" is no preset'
            raise ConfigError([Mistake(("preset",), wrong, f"one of {PRESET_NAMES}")])
        mistakes = [*self.mistakes(PRESETS[self.preset])]
        if not mistakes:
            policy = self.policy
            mistakes = [
                mistake.under(("kinds", kind))
                for kind, given in self.kinds.items()
                for mistake in given.mistakes(policy)
            ]
        if mistakes:
            raise ConfigError(mistakes)
        return self
