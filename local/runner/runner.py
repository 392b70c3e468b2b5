"""Run the functions, mappings and schedules of a stack on this machine, until stopped."""

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from random import Random

from local.processes import Processes
from local.runner.asynchronous import RETRY_SECONDS, AsynchronousInvocations, Schedule
from local.runner.execution import Execution
from local.runner.function_pool import FunctionPool, Measured, unmeasured
from local.runner.invocation import Invocation
from local.runner.mapping import MappingCounts, Wiring
from local.runner.place import RunnerPlace
from local.runner.queue_mapping import QueueMapping
from local.runner.stream_mapping import StreamMapping
from local.runner.switches import Switches
from local.specs import FunctionSpec, QueueMappingSpec, ScheduleSpec, StreamMappingSpec

GRACE_SECONDS = 5.0
# Above the loggers of every module here.
logger = logging.getLogger(__package__)


class Runner:
    """The Lambda service of one stack."""

    def __init__(
        self,
        place: RunnerPlace,
        functions: Iterable[FunctionSpec],
        queue_mappings: Iterable[QueueMappingSpec] = (),
        stream_mappings: Iterable[StreamMappingSpec] = (),
        schedules: Iterable[ScheduleSpec] = (),
        *,
        retry_seconds: Sequence[float] = RETRY_SECONDS,
        measured: Measured = unmeasured,
    ) -> None:
        """Take the stack; nothing runs yet. A failed asynchronous event waits `retry_seconds`."""
        queues, streams = list(queue_mappings), list(stream_mappings)
        place.folder.mkdir(parents=True, exist_ok=True)
        self._log = logging.FileHandler(place.folder / "runner.log", delay=True)
        self._log.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self._stop = threading.Event()
        self._is_started = False
        self._asynchronous = AsynchronousInvocations(self._stop, retry_seconds)
        self._processes = Processes()
        self._pools = {
            function.name: FunctionPool(function, place, self._processes, measured)
            for function in functions
        }
        self._switches = Switches(
            place.folder / "switches.json",
            {s.mapping_id: s.enabled for s in queues} | {s.mapping_id: s.enabled for s in streams},
        )

        def wiring(mapping_id: str, function: str) -> Wiring:
            switch = self._switches[mapping_id]
            return Wiring(place, self._pools[function].invoke, switch, self._stop)

        self._mappings: dict[str, QueueMapping | StreamMapping] = {
            **{s.mapping_id: QueueMapping(s, wiring(s.mapping_id, s.function)) for s in queues},
            **{s.mapping_id: StreamMapping(s, wiring(s.mapping_id, s.function)) for s in streams},
        }
        self._schedules = [
            Schedule(spec, partial(self.invoke_later, spec.function), self._stop)
            for spec in schedules
        ]

    def warm(self) -> None:
        """Start a process of each function that a mapping feeds, while other things get ready."""
        for function in {mapping.spec.function for mapping in self._mappings.values()}:
            self._pools[function].warm()

    def start(self) -> None:
        """Begin to poll, and to wait for the times of the schedules."""
        self._is_started = True
        logger.addHandler(self._log)
        logger.propagate = False
        for mapping in self._mappings.values():
            mapping.start()
        for schedule in self._schedules:
            schedule.start()

    def stop(self, *, grace_seconds: float = GRACE_SECONDS) -> None:
        """Stop polling, let what runs end for a while, kill the rest, leave no process behind."""
        self._stop.set()
        killer = threading.Timer(grace_seconds, self._close_pools)
        killer.start()
        for source in (*self._mappings.values(), *self._schedules) if self._is_started else ():
            source.join()
        self._asynchronous.join()
        killer.cancel()
        self._close_pools()
        self._processes.close()
        logger.removeHandler(self._log)
        logger.propagate = True
        self._log.close()

    def has(self, function: str) -> bool:
        """Return whether there is a function of this name."""
        return function in self._pools

    def invoke(self, function: str, payload: bytes) -> Invocation:
        """Run a function on an event and wait for its end; KeyError if there is no such one."""
        return self._pools[function].invoke(payload)

    def invoke_later(self, function: str, payload: bytes) -> None:
        """Run a function on an event, with retries, and do not wait for it."""
        self._asynchronous.begin(function, self._pools[function].invoke, payload)

    def kill_one(self, function: str) -> bool:
        """Kill one process of a function, a busy one if there is any."""
        return self._pools[function].kill_one()

    def kill_busy(self, folder: str, chance: Random, *, after_seconds: float = 0.0) -> bool:
        """Kill a process in the middle of its work, by chance, of a folder; False if none works.

        `after_seconds` spares those that have just begun. It may end before the signal comes:
        `killed_invocations` counts those that did not.
        """
        working = [one for one in self.in_work(folder) if one.worked_seconds >= after_seconds]
        if not working:
            return False
        chance.choice(working).kill()
        return True

    def in_work(self, folder: str) -> list[Execution]:
        """Return the processes that work on an event now, of the functions of a folder."""
        pools = [pool for pool in self._pools.values() if pool.function.folder == folder]
        return [one for pool in pools for one in pool.busy() if one.is_in_work]

    @property
    def killed_invocations(self) -> int:
        """Return how many invocations were ended by a kill that was asked for here."""
        return sum(pool.killed_invocations for pool in self._pools.values())

    @property
    def whole_invocations(self) -> int:
        """Return how many invocations came to an end of their own."""
        return sum(pool.whole_invocations for pool in self._pools.values())

    def pids(self, function: str) -> list[int]:
        """Return the process ids of a function."""
        return self._pools[function].pids()

    @property
    def supervisor_pid(self) -> int:
        """Return the supervisor of all functions' processes, 0 before the first of them."""
        return self._processes.supervisor_pid

    def set_enabled(self, mapping_id: str, enabled: bool) -> None:
        """Switch a mapping, now and over restarts; KeyError if there is no such mapping."""
        self._switches.turn(mapping_id, enabled=enabled)

    def state(self, mapping_id: str) -> str:
        """Return Enabled, Disabling, Disabled or Enabling."""
        return self._switches[mapping_id].state

    def statistics(self) -> Mapping[str, MappingCounts]:
        """Return what each mapping has done since the start."""
        return {name: mapping.wiring.counter.counts for name, mapping in self._mappings.items()}

    def _close_pools(self) -> None:
        for pool in self._pools.values():
            pool.close()
