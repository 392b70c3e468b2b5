"""Control items -> mappings, each minute: mappings that were switched otherwise are set right.

An item that cannot be read changes nothing: neither a pause nor a release is guessed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from functions.breaker.reconcile import steps, switch, wanted
from functions.core.breaker import Breaker, Timing, advanced, log_transition, needs_probe, probed
from functions.core.control import Control, log_unreadable
from functions.core.failure import FailureError, Part
from functions.core.ports import Clock, ControlStore, Mappings, Prober, Telemetry
from functions.core.settings import BreakerTarget

# What a probe takes at the longest, and the switching after it; of a short run, the half.
PROBE_SECONDS = 60.0


@dataclass(frozen=True)
class Reconcile:
    """The step with its dependencies."""

    control: ControlStore
    mappings: Mappings
    prober: Prober
    telemetry: Telemetry
    clock: Clock
    jitter: Callable[[], float]
    targets: Sequence[BreakerTarget]

    def run(self, seconds_left: Callable[[], float]) -> None:
        """Settle every target, and then send the probes that are due: a probe takes its time."""
        enough = min(PROBE_SECONDS, seconds_left() / 2)
        settled = [(target, self._settle(target)) for target in self.targets]
        for target, control in settled:
            if control is not None and seconds_left() >= enough:
                with self._logged(target):
                    self._probe(target, control)

    def _settle(self, target: BreakerTarget) -> Control | None:
        try:
            control = self.control.read(target.name)
        except FailureError as error:
            log_unreadable(self.telemetry, target.name, error)
            return None
        with self._logged(target):
            control = self._advance(target, control)
        for part in Part:
            is_open = control.breaker(part).state.stops_work
            self.telemetry.count("BreakerOpen", int(is_open), target=target.name)
        self._converge(target, control)
        return control

    def _advance(self, target: BreakerTarget, control: Control) -> Control:
        for part in Part:
            before = control.breaker(part)
            if not before.is_logged:
                after = replace(before, is_logged=True)
                control = self._swap(target, control, part, after, is_news=True)
            count = len(steps(part, target.mappings))
            after = advanced(control.breaker(part), self._timing(target), steps=count)
            if after != control.breaker(part):
                control = self._swap(target, control, part, after)
        return control

    def _probe(self, target: BreakerTarget, control: Control) -> None:
        parts = [p for p in Part if needs_probe(control.breaker(p), now_ms=self.clock())]
        answers = self.prober.probe(target.embed_function, parts) if parts else {}
        if answers is None:
            # All its workers are busy: the next minute tries again.
            self.telemetry.event("probe_not_sent", target=target.name)
            return
        for part, failure in answers.items():
            self.telemetry.count("ProbesFailed" if failure else "ProbesPassed")
            if failure:
                self.telemetry.event(
                    "probe_failed", target=target.name, part=str(part), reason=failure
                )
            after = probed(control.breaker(part), self._timing(target), failure=failure)
            control = self._swap(target, control, part, after)
        if None in answers.values():
            self._converge(target, control)

    def _timing(self, target: BreakerTarget) -> Timing:
        return Timing(self.clock(), target.settings, self.jitter())

    def _swap(
        self,
        target: BreakerTarget,
        control: Control,
        part: Part,
        after: Breaker,
        *,
        is_news: bool = False,
    ) -> Control:
        """Store a breaker; the change of a faster worker or person is read in the next minute."""
        before = control.breaker(part)
        if not self.control.swap(target.name, part, before, after):
            return control
        if is_news or after.state is not before.state:
            log_transition(self.telemetry, target.name, part, after)
        return control.with_breaker(part, after)

    def _converge(self, target: BreakerTarget, control: Control) -> None:
        for queue, want in wanted(control, target.mappings).items():
            # The other mappings do not wait for one that fails.
            with self._logged(target):
                self._converge_one(target, queue, want=want)

    def _converge_one(self, target: BreakerTarget, queue: str, *, want: bool) -> None:
        mapping = target.mappings[queue]
        change = switch(self.mappings.state(mapping), want=want)
        if change is not None and self.mappings.switch(mapping, enabled=change):
            self.telemetry.count("MappingsSwitched")
            self.telemetry.event(
                "mapping_enabled" if change else "mapping_disabled",
                target=target.name,
                queue=queue,
                mapping=mapping,
            )

    @contextmanager
    def _logged(self, target: BreakerTarget) -> Iterator[None]:
        """Log a failure and go on: the next minute tries again."""
        try:
            yield
        except FailureError as error:
            self.telemetry.count("ReconcileFailures")
            self.telemetry.event("reconcile_failed", target=target.name, failure=str(error))
