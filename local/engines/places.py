"""Where an engine's data and log live: on disk to be kept, or in memory to go with the engine."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Place:
    """The folder an engine works in, its log, and whether the folder goes with the engine."""

    data: Path
    log: Path
    # Done by the engine's watcher, so that even a killed owner leaves nothing in memory.
    remove_at_end: bool = False

    def last_lines(self, count: int = 15) -> str:
        """Return the end of the log, for an error message."""
        lines = self.log.read_text(errors="replace").splitlines()[-count:]
        return f"The end of {self.log}:\n" + "\n".join(lines)


def place_for(name: str, folder: Path, *, in_memory: bool) -> Place:
    """Choose the place of one engine; the log of the run before is kept beside the new one."""
    log = folder / "logs" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists():
        log.replace(log.with_suffix(".old.log"))
    log.touch()
    if not in_memory:
        return Place(folder / name, log)
    data = Path(tempfile.mkdtemp(prefix=f"embedq-{name}-", dir=MEMORY if MEMORY.is_dir() else None))
    # mkdtemp makes it for us alone; OpenSearch may run as another user.
    data.chmod(0o711)
    return Place(data, log, remove_at_end=True)
