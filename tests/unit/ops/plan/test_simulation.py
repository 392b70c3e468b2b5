"""A load under faults, by the functions' own rules."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from functions.core.breaker import Circuit
from functions.core.lane import Lane
from infrastructure.config.target import TargetConfig
from ops.plan.picture import draw
from ops.plan.simulation import Simulation, simulated
from ops.plan.story import HOUR, Faults, Moment, Story
from ops.plan.workload import Worked, Workload

WORKED = Worked.of(
    TargetConfig(model="text-embedding-3-small"), dimensions=1536, tokens_per_minute=10_000_000
)
LOAD = Workload(10_000_000, tokens=300, chunks=1, item_bytes=1200, writes_per_second=100)
NEVER = (0, 0)
CALM = Faults(throttled=NEVER, outage=NEVER, shaky=NEVER, slow_share=0, rejected_share=0)


@pytest.fixture(scope="module")
def story() -> Story:
    return simulated(WORKED, LOAD)


def within(story: Story, span: tuple[int, int]) -> list[Moment]:
    return [one for one in story.moments if span[0] < one.seconds <= span[1]]


def test_every_document_of_a_load_is_accounted_for(story: Story) -> None:
    """R50: completed, given up, or still waiting; none is made or lost."""
    last = story.moments[-1]
    written = LOAD.documents + LOAD.writes_per_second * last.seconds
    waiting = last.waiting + last.bulk + last.to_load + last.parked + last.healing

    assert story.completed + story.failed + waiting == pytest.approx(written, abs=1)
    assert last.to_load == 0


def test_calm_load_goes_at_the_speed_of_its_tightest_limit() -> None:
    """R50: the provider's tokens, less those of live writes, which stay fresh."""
    simulation = Simulation(WORKED, LOAD, CALM)
    for _ in range(60):
        simulation.step()
    loaded = LOAD.documents - simulation.story.moments[-1].to_load

    assert loaded / HOUR == pytest.approx(10_000_000 / 60 / 300 - 100, rel=0.02)
    assert {one.freshness for one in simulation.story.moments} == {3}


def test_throttled_provider_slows_the_load_and_not_the_live_writes(story: Story) -> None:
    """R50 R23: live lanes are worked first."""
    throttled = within(story, story.faults.throttled)

    assert throttled[0].to_load - throttled[-1].to_load < 0.1 * 455 * HOUR
    assert {one.freshness for one in throttled} == {3}


def test_outage_opens_the_breaker_once_and_everything_waits(story: Story) -> None:
    """R50 R24: few are tried, nobody is given up for it, and the backlog is worked off after."""
    outage = within(story, story.faults.outage)

    assert story.opened == 1
    assert all(one.is_open for one in outage)
    assert outage[-1].waiting == pytest.approx(100 * HOUR, rel=0.02)
    assert story.failed < 2 * story.faults.rejected_share * story.completed
    assert story.moments[-1].waiting < 100 * 60


def test_what_fails_for_now_heals_while_a_backfill_goes_on(story: Story) -> None:
    """R50 R26: a load of days does not hold the failed documents of live writes for days."""
    shaky = within(story, story.faults.shaky)
    hours_later = within(story, (story.faults.shaky[1] + HOUR, 10**9))

    assert max(one.healing for one in shaky) > 100
    assert hours_later[0].to_load > 1_000_000
    assert min(one.healing for one in hours_later) < 1
    assert story.healed > 100


def test_lanes_come_back_one_by_one() -> None:
    """R50 R24: the breaker's own rules decide what is polled after a probe has passed."""
    simulation = Simulation(WORKED, LOAD, replace(CALM, outage=(0, 600)))
    states = []
    while simulation._now < 3 * HOUR:
        simulation.step()
        states.append((simulation._control.provider.state, simulation._enabled(Lane.BULK)))

    assert [state for state, _ in dict.fromkeys(states)] == [
        Circuit.OPEN,
        Circuit.REOPENING,
        Circuit.REOPENING,
        Circuit.CLOSED,
    ]


def test_picture_is_drawn_for_light_and_dark_pages(story: Story) -> None:
    """R50: one SVG, with every panel, line and fault."""
    picture = draw(story)
    root = ET.fromstring(picture)
    names = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]

    assert "prefers-color-scheme: dark" in picture
    assert {"live lanes", "bulk lane", "parked and healing", "p95 of live writes"} <= set(names)
    assert len(root.findall("{http://www.w3.org/2000/svg}rect")) == 3 * 2
    assert len(picture) < 200_000
