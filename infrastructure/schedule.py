"""Ticks: EventBridge runs a function at a steady rate, with an event that names the job."""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from infrastructure.python_function import TICK_AGE, PythonFunction


@dataclass(frozen=True)
class Tick:
    """What is to be done every so many minutes."""

    job: str
    minutes: int

    @property
    def event(self) -> Mapping[str, str]:
        return {"job": self.job}


def run_every(scope: Construct, tick: Tick, function: PythonFunction, *, enabled: bool) -> None:
    """Run a function for each tick."""
    events.Rule(
        scope,
        f"{tick.job.capitalize()}Tick",
        schedule=events.Schedule.rate(Duration.minutes(tick.minutes)),
        enabled=enabled,
        targets=[
            targets.LambdaFunction(
                function.function,
                event=events.RuleTargetInput.from_object(dict(tick.event)),
                # The next tick does the same: one that could not be delivered is not kept.
                retry_attempts=0,
                max_event_age=TICK_AGE,
            )
        ],
    )
