"""What all steps of a run share."""

from collections.abc import Callable
from dataclasses import dataclass

from functions.core.announcement import Announcements
from functions.core.ports import Clock, Ledger, TaskQueue, Telemetry
from functions.core.settings import TargetSettings


@dataclass(frozen=True)
class Tools:
    """The target of a worker, and what each of its steps reads or writes."""

    target: TargetSettings
    ledger: Ledger
    queue: TaskQueue
    announcements: Announcements
    telemetry: Telemetry
    clock: Clock
    jitter: Callable[[], float]
