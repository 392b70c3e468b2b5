"""Find a free port for an engine, and wait until launched engines answer."""

import contextlib
import http.client
import random
import socket
import time
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from local.engines.errors import EngineStartError
from local.engines.supervise import EngineProcess

# Below the range from which systems take ports for outgoing connections, so that none of those
# takes ours in the seconds until the engine has it.
FIRST_PORT, LAST_PORT = 18000, 29999
LOOPBACK = "127.0.0.1"
POLL_SECONDS = 0.05
ANSWER_SECONDS = 3.0
START_SECONDS = 120.0


@dataclass(frozen=True)
class Engine:
    """An engine that was launched, and how to know that it is ready."""

    name: str
    url: str
    process: EngineProcess
    answers: Callable[[], bool]
    prepare: Callable[[], None] = lambda: None


def free_port() -> int:
    """Return a port on which nothing listens, on any interface."""
    for port in random.sample(range(FIRST_PORT, LAST_PORT + 1), k=200):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("", port))
            return port
    raise EngineStartError(f"no free port between {FIRST_PORT} and {LAST_PORT}")


def wait_until_ready(
    engines: Iterable[Engine], *, log: Callable[[str], None], seconds: float = START_SECONDS
) -> None:
    """Return when every engine answers; raise as soon as one has ended or takes too long."""
    began = time.monotonic()
    waiting = list(engines)
    while waiting:
        passed = time.monotonic() - began
        for engine in tuple(waiting):
            if engine.process.ended():
                raise _not_started(engine, "ended while starting")
            if engine.answers():
                engine.prepare()
                waiting.remove(engine)
                log(f"{engine.name} ready after {time.monotonic() - began:.1f} s: {engine.url}")
            elif passed > seconds:
                raise _not_started(engine, f"did not answer within {seconds:.0f} s")
        time.sleep(POLL_SECONDS)


def _not_started(engine: Engine, what: str) -> EngineStartError:
    return EngineStartError(f"{engine.name} {what}. {engine.process.place.last_lines()}")


def answers_http(request: urllib.request.Request | str) -> bool:
    """Tell whether the request gets a good answer soon."""
    # Our own machine is never behind the proxy that the environment may name.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(request, timeout=ANSWER_SECONDS):
            return True
    except (OSError, http.client.HTTPException):
        return False
