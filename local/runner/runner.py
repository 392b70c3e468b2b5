"""Run the functions and mappings of a stack on this machine, until stopped."""

import json
import logging
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from local.runner.counts import MappingCounts
from local.runner.function_pool import FunctionPool
from local.runner.invocation import Invocation
from local.runner.mapping import Wiring
from local.runner.place import RunnerPlace
from local.runner.processes import Processes
from local.runner.queue_mapping import QueueMapping
from local.runner.stream_mapping import StreamMapping
from local.runner.switches import Switches
from local.specs import FunctionSpec, QueueMappingSpec, StreamMappingSpec

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
    ) -> None:
        """Take the stack; nothing runs yet."""
        queues, streams = list(queue_mappings), list(stream_mappings)
        place.folder.mkdir(parents=True, exist_ok=True)
        self._log = logging.FileHandler(place.folder / "runner.log", delay=True)
        self._log.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self._stop = threading.Event()
        self._is_polling = False
        self._processes = Processes()
        self._pools = {
            function.name: FunctionPool(function, place, self._processes) for function in functions
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

    def warm(self) -> None:
        """Start a process of each function that a mapping feeds, while other things get ready."""
        for function in {mapping.spec.function for mapping in self._mappings.values()}:
            self._pools[function].warm()

    def start(self) -> None:
        """Begin to poll."""
        self._is_polling = True
        logger.addHandler(self._log)
        logger.propagate = False
        for mapping in self._mappings.values():
            mapping.start()

    def stop(self, *, grace_seconds: float = GRACE_SECONDS) -> None:
        """Stop polling, let what runs end for a while, kill the rest, leave no process behind."""
        self._stop.set()
        killer = threading.Timer(grace_seconds, self._close_pools)
        killer.start()
        for mapping in self._mappings.values() if self._is_polling else ():
            mapping.join()
        killer.cancel()
        self._close_pools()
        self._processes.close()
        logger.removeHandler(self._log)
        logger.propagate = True
        self._log.close()

    def invoke(self, function: str, event: Any) -> Invocation:
        """Run a function on an event and wait for its end; KeyError if there is no such one."""
        return self._pools[function].invoke(json.dumps(event).encode())

    def kill_one(self, function: str) -> bool:
        """Kill one process of a function, a busy one if there is any."""
        return self._pools[function].kill_one()

    def pids(self, function: str) -> list[int]:
        """Return the process ids of a function."""
        return self._pools[function].pids()

    @property
    def nursery_pid(self) -> int:
        """Return the process that keeps all functions' processes, 0 before the first of them."""
        return self._processes.nursery_pid

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
