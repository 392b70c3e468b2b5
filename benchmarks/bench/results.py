"""Where a run leaves its figures: what it ran on, a file for programs, a page and a picture."""

import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bench.picture import draw
from benchmarks.bench.row import Row, markdown, table

FOLDER = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Circumstances:
    """When, what and on what; a busy machine makes every time longer."""

    date: str
    commit: str
    cores: int
    load_before: float  # processes that wanted a core in the minute before the run

    @classmethod
    def now(cls) -> "Circumstances":
        return cls(
            date=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
            commit=_commit(),
            cores=os.cpu_count() or 1,
            load_before=os.getloadavg()[0],
        )

    def line(self, seconds: float) -> str:
        """Write them for people."""
        return (
            f"{self.date}, commit {self.commit}, {self.cores} cores, load before"
            f" {self.load_before:.1f}, {seconds:.0f} s in all"
        )


def _commit() -> str:
    """Name the commit, with a + if files of it were changed."""

    def ask(*words: str) -> str:
        answer = subprocess.run(
            ["git", *words], cwd=FOLDER, stdout=subprocess.PIPE, text=True, check=False
        )
        return answer.stdout.strip()

    changed = ask("status", "--porcelain", "--untracked-files=no", "--", "..", ":!results*")
    return (ask("rev-parse", "--short=10", "HEAD") or "none") + ("+" if changed else "")


def keep(
    name: str, rows: Sequence[Row], given: Circumstances, seconds: float, **more: Any
) -> list[str]:
    """Write NAME.json, NAME.md and NAME.svg; return the lines for people."""
    line = given.line(seconds)
    record = {
        "date": given.date,
        "commit": given.commit,
        "cores": given.cores,
        "load_before": round(given.load_before, 2),
        "seconds": round(seconds),
        **more,
        "rows": [row.record() for row in rows],
    }
    (FOLDER / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    (FOLDER / f"{name}.svg").write_text(draw(rows, line))
    missed = [row for row in rows if row.is_met is False]
    with_goal = [row for row in rows if row.is_met is not None]
    end = ["", line, "", f"{len(with_goal) - len(missed)} of {len(with_goal)} goals met"]
    (FOLDER / f"{name}.md").write_text("\n".join([*markdown(rows), *end, ""]))
    return [*table(rows), *end]
