"""Which mappings are on: switched while they run, and remembered over a restart."""

import threading
from collections.abc import Mapping
from pathlib import Path

from local.files import read_json, write_json

ENABLED, DISABLING, DISABLED, ENABLING = "Enabled", "Disabling", "Disabled", "Enabling"
_ON_THE_WAY = {True: ENABLING, False: DISABLING}
_THERE = {True: ENABLED, False: DISABLED}


class Switch:
    """The wanted state of one mapping, and the state it is in."""

    def __init__(self, *, enabled: bool) -> None:
        """Begin in the wanted state."""
        self._changed = threading.Condition()
        self._wanted = enabled
        self._state = _THERE[enabled]

    @property
    def is_on(self) -> bool:
        """Return whether the mapping should work."""
        return self._wanted

    @property
    def state(self) -> str:
        """Return the state, in the words of the Lambda API."""
        return self._state

    def turn(self, *, enabled: bool) -> None:
        """Ask for another state; the mapping gets there in its own time."""
        with self._changed:
            if self._wanted != enabled:
                self._wanted = enabled
                self._state = _ON_THE_WAY[enabled]
                self._changed.notify_all()

    def settle(self, *, enabled: bool) -> None:
        """Note that the mapping works, or that it has come to rest."""
        with self._changed:
            if self._wanted == enabled and self._state != _THERE[enabled]:
                self._state = _THERE[enabled]
                self._changed.notify_all()

    def wait_until_on(self, seconds: float) -> None:
        """Wait a while for the mapping to be asked to work."""
        with self._changed:
            self._changed.wait_for(lambda: self._wanted, seconds)


class Switches:
    """The switches of all mappings, and the file that remembers what was asked for."""

    def __init__(self, file: Path, enabled: Mapping[str, bool]) -> None:
        """Take the remembered states; the template's where none is remembered."""
        self._file = file
        self._lock = threading.Lock()
        self._remembered = read_json(file)
        self._switches = {
            mapping: Switch(enabled=self._remembered.get(mapping, default))
            for mapping, default in enabled.items()
        }

    def __getitem__(self, mapping: str) -> Switch:
        """Return the switch of a mapping; KeyError where there is no such mapping."""
        return self._switches[mapping]

    def turn(self, mapping: str, *, enabled: bool) -> None:
        """Ask for a state and remember it."""
        with self._lock:
            self._switches[mapping].turn(enabled=enabled)
            self._remembered[mapping] = enabled
            write_json(self._file, self._remembered)
