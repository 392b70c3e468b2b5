"""Retries in cdk.json: presets, changes to them, and what does not go together."""

from typing import Any

import pytest

from functions.core.failure import FailureKind
from functions.core.next_step import LAST_HIDING_RECEIVE, MAX_RECEIVES
from functions.core.retry_policy import PRESETS, Healing, RetrySettings, Strategy
from functions.core.settings import BreakerSettings, TargetSettings
from infrastructure.config.parser import parse_stages
from infrastructure.config.retry import hidden_retries
from infrastructure.environment import compact, target_settings
from tests.infrastructure.stages import DEFAULT, mistakes, stage_with

CHARGED = "timeout, provider_error, index_unavailable, resource, unknown"
PRESET_NAMES = "standard, immediate, patient, capped, slow-3, slow-5, quick"
SECONDS = "0 to 604800 (a week)"


def settings(**target: Any) -> TargetSettings:
    """Return what a target's functions read, through the environment."""
    stage = stage_with(*(((*DEFAULT, key), value) for key, value in target.items()))
    config = parse_stages({"dev": stage})["dev"]
    made = target_settings(
        "default", config.targets["default"], index="i", workers=config.reserve_of("default")
    )
    return TargetSettings.model_validate_json(compact(made))


@pytest.mark.parametrize("name", PRESETS)
def test_preset_is_taken_by_its_name(name: str) -> None:
    """R21: a word in cdk.json is a whole policy, for all documents or for a type."""
    made = settings(retry={"default": name, "types": {"thread": {"preset": name}}}).retry

    assert made.default == made.policy("thread") == PRESETS[name]


def test_target_without_retry_has_the_standard_and_costs_no_room() -> None:
    """R21: what is as usual is not written into the environment."""
    made = settings()

    assert made.retry == RetrySettings()
    assert made.breaker == BreakerSettings()
    assert '"retry"' not in compact(made)


def test_preset_is_changed_by_type_and_by_kind() -> None:
    """R21, R22: attempts, strategy, base, cap, jitter and retryable kinds are configuration."""
    made = settings(
        retry={
            "types": {
                "archive": {
                    "preset": "slow-5",
                    "jitter": 0.25,
                    "kinds": {"timeout": {"max_attempts": 2, "strategy": "linear"}},
                    "retryable": ["timeout", "unknown"],
                }
            },
            "max_hide_seconds": 60,
            "healing": {"after_seconds": [600], "hours": 0},
        }
    ).retry

    archive = made.policy("archive")
    assert made.default == PRESETS["standard"]
    assert (
        archive.model_copy(update={"kinds": {}, "retryable": None, "jitter": 0.0})
        == (PRESETS["slow-5"])
    )
    timeout = archive.backoff(FailureKind.TIMEOUT)
    assert (timeout.max_attempts, timeout.strategy, timeout.base_seconds, timeout.jitter) == (
        2,
        Strategy.LINEAR,
        300,
        0.25,
    )
    assert archive.attempts_of(FailureKind.UNKNOWN) == 5
    assert archive.attempts_of(FailureKind.PROVIDER_ERROR) == 1
    assert (made.max_hide_seconds, made.healing) == (60, Healing(after_seconds=(600,), hours=0))


def test_schedule_is_kept_as_it_is_written() -> None:
    """R21: the standard's cap of two minutes does not shorten a schedule of ten."""
    policy = settings(
        retry={"default": {"strategy": "schedule", "schedule_seconds": [1, 600], "jitter": 0}}
    ).retry.default

    assert [policy.delay_seconds(attempts) for attempts in (1, 2, 3)] == [1, 600, 600]


def test_schedule_of_a_preset_ends_with_another_strategy() -> None:
    """R21: patient, but linear."""
    linear = {"preset": "patient", "strategy": "linear", "max_attempts": 5}

    policy = settings(retry={"default": linear}).retry.default

    assert policy.schedule_seconds == ()
    assert policy.delay_seconds(2) == 8


def test_limits_and_breaker_reach_the_functions() -> None:
    """R23, R25: the account's limits, how many runs share them, and when to stop."""
    made = settings(
        requests_per_minute=500,
        tokens_per_minute=1_000_000,
        reserved_concurrency=30,
        breaker={"window_seconds": 30, "failure_ratio": 1, "probe_after_seconds": [5]},
    )

    assert (made.requests_per_minute, made.tokens_per_minute) == (500, 1_000_000)
    assert made.workers == 30
    assert made.breaker == BreakerSettings(
        window_seconds=30, failure_ratio=1, probe_after_seconds=(5,)
    )


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        (
            "patiently",
            f'.preset: "patiently" is no preset: one of {PRESET_NAMES}; did you mean patient?',
        ),
        (
            {"preset": "slow"},
            f'.preset: "slow" is no preset: one of {PRESET_NAMES}; did you mean slow-5?',
        ),
        (3, f": 3 has the wrong type: {PRESET_NAMES}, or an object that changes one of them"),
        ({"attempts": 3}, ".attempts: unknown key: did you mean max_attempts?"),
        (
            {"strategy": "random"},
            '.strategy: "random" is not allowed:'
            " immediate, linear, exponential or schedule",
        ),
        (
            {"strategy": "schedule"},
            ".schedule_seconds: is missing: a list of delays in seconds, as strategy schedule"
            " needs one",
        ),
        (
            {"strategy": "schedule", "schedule_seconds": []},
            ".schedule_seconds: is missing: a list of delays in seconds, as strategy schedule"
            " needs one",
        ),
        (
            {"schedule_seconds": [1, 2]},
            ".schedule_seconds: does not go with strategy exponential: add strategy schedule, or"
            " leave it out",
        ),
        (
            {"strategy": "schedule", "schedule_seconds": [1, -1]},
            f".schedule_seconds.1: -1 is not allowed: a list of delays, {SECONDS} each; the last"
            " one repeats",
        ),
        (
            {"base_seconds": 10, "cap_seconds": 5},
            ".cap_seconds: 5 is below base_seconds: at least 10",
        ),
        (
            {"preset": "quick", "base_seconds": 10},
            ".cap_seconds: 4 is below base_seconds: at least 10",
        ),
        (
            {"preset": "patient", "cap_seconds": 60},
            ".cap_seconds: 60 is below the longest of schedule_seconds: at least 3600",
        ),
        (
            {"jitter": 1.5},
            ".jitter: 1.5 is not allowed: 0 to 1, the share of a delay that is random",
        ),
        ({"max_attempts": 0}, ".max_attempts: 0 is not allowed: 1 to 100, the first included"),
        (
            {"kinds": {"timeot": {}}},
            '.kinds.timeot: "timeot" is not allowed:'
            f" {{kind: {{max_attempts, ...}}}} for any of {CHARGED}; did you mean timeout?",
        ),
        (
            {"kinds": {"throttled": {"max_attempts": 3}}},
            '.kinds.throttled: "throttled" is waited out and spends no attempt:'
            f" any of {CHARGED}",
        ),
        (
            {"kinds": {"timeout": {"cap_seconds": 1}}},
            ".kinds.timeout.cap_seconds: 1 is below base_seconds: at least 4",
        ),
        (
            {"retryable": ["timeout", "invalid_input"]},
            f'.retryable.1: "invalid_input" never passes: any of {CHARGED}',
        ),
        (
            {"retryable": ["everything"]},
            f'.retryable.0: "everything" is not allowed: a list of {CHARGED}; left out: all of'
            " them",
        ),
        (
            {"preset": "capped", "max_attempts": 9},
            ": 8 of its retries wait 120 s or less, in the queue: at most 7: fewer max_attempts,"
            " longer delays or less max_hide_seconds",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("where", [("default",), ("types", "article")], ids=["default", "type"])
def test_mistake_in_a_policy_gets_one_line(where: tuple[str, ...], policy: Any, line: str) -> None:
    """R21: where it is, what is wrong, what is allowed."""
    expected = f"cdk.json: stages.dev.targets.default.retry.{'.'.join(where)}{line}"
    if where[0] == "types" and policy == 3:
        expected = expected.partition("wrong type: ")[0] + (
            "wrong type: {document type: policy}, each policy like the default one"
        )

    assert mistakes(stage_with(((*DEFAULT, "retry", *where), policy))) == [expected]


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (
            ("retry", "max_hide_seconds"),
            901,
            "retry.max_hide_seconds: 901 is not allowed:"
            " 1 to 900; a longer delay is kept in the ledger, not in the queue",
        ),
        (
            ("retry", "max_hide_seconds"),
            721,
            "retry.max_hide_seconds: 721 is longer than the lanes' visibility timeout:"
            " at most 720, 6 x timeout_seconds",
        ),
        (
            ("retry", "healing"),
            {"hours": 169},
            "retry.healing.hours: 169 is not allowed: 0 to 48; 0: no healing",
        ),
        (
            ("retry", "healing"),
            {"after_seconds": []},
            "retry.healing.after_seconds: [] is not allowed:"
            f" a list of delays, {SECONDS} each; the last one repeats",
        ),
        (
            ("breaker", "failure_ratio"),
            0,
            "breaker.failure_ratio: 0 is not allowed:"
            " above 0, at most 1: the share of failures that opens it",
        ),
        (
            ("requests_per_minute",),
            0,
            "requests_per_minute: 0 is not allowed: 1 to 10000000:"
            " the account's limit at the provider, where it sends no headers",
        ),
        (
            ("tokens_per_minute",),
            150_000,
            "tokens_per_minute: 150000 is less than one request may hold:"
            " at least 300000, or a smaller tokens_per_request",
        ),
        (
            ("tokens_per_minute",),
            539_999,
            "tokens_per_minute: 539999 for 27 calls of embed at once lets one wait more than 15"
            " minutes for a request of 300000 tokens: at least 540000, or a smaller"
            " tokens_per_request, or less concurrency",
        ),
    ],
)  # fmt: skip
def test_mistake_beside_the_policies_gets_one_line(
    path: tuple[str, ...], value: Any, line: str
) -> None:
    """R21, R23, R25: the same for hiding, healing, limits and breaker."""
    found = mistakes(stage_with(((*DEFAULT, *path), value)))

    assert found == [f"cdk.json: stages.dev.targets.default.{line}"]


@pytest.mark.parametrize("max_hide_seconds", [1, 120, 900])
@pytest.mark.parametrize("name", PRESETS)
def test_presets_never_reach_the_dead_letters_by_hiding(name: str, max_hide_seconds: int) -> None:
    """R20: SQS's receive count is above every policy's retries by visibility."""
    hidden = hidden_retries(PRESETS[name], max_hide_seconds)

    assert hidden < LAST_HIDING_RECEIVE < MAX_RECEIVES


def test_retries_of_all_kinds_count_together() -> None:
    """R20: a task may fail with another kind each time, and jitter may shorten a delay."""
    long = {"strategy": "schedule", "schedule_seconds": [200], "jitter": 0}
    short = {"strategy": "immediate", "max_attempts": 9}

    parked = settings(retry={"default": {**long, "max_attempts": 30}}).retry.default
    assert hidden_retries(parked, 120) == 0
    for policy in (
        {**long, "kinds": {"timeout": short}},
        {**long, "max_attempts": 9, "jitter": 0.5},
    ):
        (line,) = mistakes(stage_with(((*DEFAULT, "retry", "default"), policy)))
        assert "8 of its retries wait 120 s or less" in line
