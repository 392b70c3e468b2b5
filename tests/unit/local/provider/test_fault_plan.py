"""Which request meets which fault, and what a plan may say."""

from __future__ import annotations

import re
from typing import Any

import pytest

from local.provider.faults import Fault, FaultError, FaultKind, FaultPlan, parse_fault, parse_faults
from local.provider.request import EmbeddingsRequest


def make_request(model: str = "m", text: str = "text", tokens: int = 1) -> EmbeddingsRequest:
    return EmbeddingsRequest(model, (text,), dimensions=8, base64=True, tokens=tokens)


def met(plan: FaultPlan, times: int) -> list[FaultKind | None]:
    faults = [plan.meet(make_request()).fault for _ in range(times)]
    return [fault.kind if fault else None for fault in faults]


def test_faults_for_the_next_requests_end_by_themselves() -> None:
    """R81: the first fault in force decides; the next follows when it is used up."""
    plan = FaultPlan()
    plan.replace(
        Fault(FaultKind.RATE_LIMITED, requests=2), Fault(FaultKind.SERVER_ERROR, requests=1)
    )

    assert met(plan, 5) == [
        FaultKind.RATE_LIMITED,
        FaultKind.RATE_LIMITED,
        FaultKind.SERVER_ERROR,
        None,
        None,
    ]


def test_fault_for_a_time_ends_by_itself_and_leaves_the_others() -> None:
    """R81: one that is added comes first; those that are over are no longer listed."""
    now = 100.0
    plan = FaultPlan(clock=lambda: now)
    plan.replace(Fault(FaultKind.RATE_LIMITED))
    plan.add(Fault(FaultKind.SERVER_ERROR, for_seconds=60))

    assert met(plan, 1) == [FaultKind.SERVER_ERROR]
    now = 159.0
    assert met(plan, 1) == [FaultKind.SERVER_ERROR]
    assert [one.get("left_seconds") for one in plan.as_json()] == [1.0, None]
    now = 160.0
    assert met(plan, 1) == [FaultKind.RATE_LIMITED]
    assert [one["kind"] for one in plan.as_json()] == ["rate_limited"]


def test_share_hits_the_same_requests_again_with_the_same_seed() -> None:
    """R81: a random run can be repeated."""
    plan = FaultPlan()
    runs = []
    for seed in (1, 1, 2):
        plan.replace(Fault(FaultKind.RESET, share=0.3, seed=seed))
        runs.append(met(plan, 1000))

    assert runs[0] == runs[1] != runs[2]
    assert 250 < runs[0].count(FaultKind.RESET) < 350


def test_fault_of_one_model_leaves_the_others_alone() -> None:
    """R14: one target's trouble never stops another."""
    plan = FaultPlan()
    plan.replace(Fault(FaultKind.SERVER_ERROR, model="large"))

    assert plan.meet(make_request("large")).fault is not None
    assert plan.meet(make_request("small")).fault is None


def test_delays_add_up_before_the_fault_that_decides() -> None:
    """R81: latency joins with other kinds."""
    plan = FaultPlan()
    plan.replace(
        Fault(FaultKind.LATENCY, seconds=1),
        Fault(FaultKind.LATENCY, seconds=0.5),
        Fault(FaultKind.NAN, requests=1),
    )

    first, second = plan.meet(make_request()), plan.meet(make_request())

    assert (first.delay_seconds, second.delay_seconds) == (1.5, 1.5)
    assert first.fault == Fault(FaultKind.NAN, requests=1)
    assert second.fault is None


def test_plan_lists_what_is_in_force_and_how_often_it_was_met() -> None:
    """R81: a demo or a test can see that its fault was met."""
    plan = FaultPlan()
    plan.replace(Fault(FaultKind.POISON, marker="bad"), Fault(FaultKind.HANG, requests=3))
    met(plan, 2)

    assert plan.as_json() == [
        {"kind": "poison", "marker": "bad", "fired": 0},
        {"kind": "hang", "requests": 3, "fired": 2},
    ]


@pytest.mark.parametrize("kind", FaultKind)
def test_every_kind_survives_the_way_through_json(kind: FaultKind) -> None:
    """R81: what GET /faults returns, PUT /faults accepts."""
    needed: dict[str, Any] = {"latency": {"seconds": 0.1}, "poison": {"marker": "x"}}
    fault = Fault(kind, requests=2, share=0.5, seed=3, model="m", **needed.get(str(kind), {}))

    assert parse_fault(fault.as_json()) == fault
    assert parse_faults([fault.as_json()]) == parse_faults(fault.as_json()) == (fault,)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("hang", "a fault is a JSON object with at least a kind, not 'hang'"),
        ({"kind": "flood"}, "kind: 'flood' is not one of latency, rate_limited, "),
        ({}, "kind: None is not one of latency"),
        (
            {"kind": "hang", "marker": "x"},
            "fault hang: unknown field marker; allowed: kind, requests, share, seed, model",
        ),
        ({"kind": "latency"}, "fault latency: seconds is required"),
        ({"kind": "latency", "seconds": -1}, "seconds is -1, must be a number of at least 0"),
        ({"kind": "latency", "seconds": "1"}, "seconds is '1', must be a number of at least 0"),
        ({"kind": "poison"}, "fault poison: marker is required"),
        ({"kind": "poison", "marker": ""}, "marker is '', must be a text that is not empty"),
        ({"kind": "nan", "requests": 0}, "requests is 0, must be an integer of at least 1"),
        ({"kind": "nan", "requests": True}, "requests is True, must be an integer of at least 1"),
        ({"kind": "nan", "share": 1.5}, "share is 1.5, must be a number above 0 and up to 1"),
        ({"kind": "nan", "seed": "a"}, "seed is 'a', must be an integer"),
        ({"kind": "nan", "model": 3}, "model is 3, must be a model's name"),
        ({"kind": "server_error", "status": 404}, "status is 404, must be from 500 to 599"),
        ({"kind": "too_large", "status": 400}, "status is 400, must be 413 or 429"),
        ({"kind": "too_large", "tokens": -1}, "tokens is -1, must be an integer of at least 0"),
        (
            {"kind": "rate_limited", "retry_after": "soon"},
            "retry_after: 'soon' is not one of seconds, date, ms, none",
        ),
    ],
)
def test_plan_that_makes_no_sense_is_refused_with_what_is_allowed(
    given: object, message: str
) -> None:
    """R81: a mistyped fault must not pass as a healthy server."""
    with pytest.raises(FaultError, match=re.escape(message)):
        parse_fault(given)


def test_status_of_a_kind_without_a_choice_is_refused() -> None:
    """R81: also where a fault is made in Python."""
    with pytest.raises(FaultError, match="this kind has no choice of status"):
        Fault(FaultKind.HANG, status=500)
