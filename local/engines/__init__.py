"""The real engines of one-machine mode: fetched by pin, started, watched, and stopped whole."""

from local.engines.errors import EngineError, EnginesRunningError
from local.engines.records import find_running, stop_running
from local.engines.start import ENGINES, Engines, fetch_engines, start_engines

__all__ = [
    "ENGINES",
    "EngineError",
    "Engines",
    "EnginesRunningError",
    "fetch_engines",
    "find_running",
    "start_engines",
    "stop_running",
]
