"""Alarms over time: each minute a look, and what changed since the last one."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from local.watch.alarms import Alarm, Composite
from local.watch.expressions import Series
from local.watch.rules import State
from local.watch.store import MetricStore


@dataclass(frozen=True)
class Standing:
    """The state of an alarm, since when, and the numbers that made it."""

    alarm: Alarm | Composite
    state: State
    since_ms: int
    values: Series

    @property
    def reason(self) -> str:
        """Say why, for a person."""
        if isinstance(self.alarm, Composite):
            return self.alarm.rule
        numbers = ", ".join("none" if one is None else f"{one:g}" for one in self.values)
        return f"{self.alarm.comparison} {self.alarm.threshold:g}, the oldest first: {numbers}"


class Evaluator:
    """The alarms of one stack; a new one has too little data to be anything."""

    def __init__(self, store: MetricStore, alarms: Sequence[Alarm | Composite]) -> None:
        self._store = store
        self._alarms = list(alarms)
        self._lock = threading.Lock()
        self._standings: dict[str, Standing] = {}

    def look(self, now_ms: int) -> list[Standing]:
        """Judge every alarm; return those that have changed."""
        changed = []
        with self._lock:
            for alarm in self._alarms:
                before = self._standings.get(alarm.name)
                state, values = self._judge(alarm, before, now_ms)
                is_new = before is None or before.state is not state
                since_ms = now_ms if before is None or is_new else before.since_ms
                after = self._standings[alarm.name] = Standing(alarm, state, since_ms, values)
                if is_new:
                    changed.append(after)
        return changed

    def standings(self) -> dict[str, Standing]:
        """Return every alarm by its name, as of the last look."""
        with self._lock:
            return dict(self._standings)

    def _judge(
        self, alarm: Alarm | Composite, before: Standing | None, now_ms: int
    ) -> tuple[State, Series]:
        if isinstance(alarm, Composite):
            return alarm.judge({n: one.state for n, one in self._standings.items()}), []
        values = alarm.values(self._store, now_ms)
        now = before.state if before is not None else State.INSUFFICIENT_DATA
        return alarm.judge(values, now), values
