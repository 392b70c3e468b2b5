"""What people have started from the console: each runs in a thread, is followed, and can end."""

import itertools
import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ops.console.changes import Changes
from ops.deployment import STACK_ERRORS
from ops.output import FOLLOWER, CommandError, as_text
from ops.proposal import Proposal, carry_out

if TYPE_CHECKING:
    from ops.deployment import Deployment

KEPT_RUNS = 50
KEPT_LINES = 100
END_SECONDS = 10.0

RunState = Literal["running", "done", "failed", "aborted"]


class AbortedError(CommandError):
    """A person has ended it."""


@dataclass
class Run:
    """One change that a person has confirmed."""

    id: int
    command: str
    what: str
    documents: int
    reason: str
    changes: Changes
    started: float = field(default_factory=time.time)
    ended: float | None = None
    state: RunState = "running"
    doing: str = ""
    done: int = 0
    total: int | None = None
    result: str = ""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))
    wanted: threading.Event = field(default_factory=threading.Event)  # to end it
    thread: threading.Thread | None = None

    def said(self, text: str) -> None:
        self.lines.append(text)
        self.changes.note("runs")

    def moved(self, what: str, done: int, total: int | None) -> None:
        self.doing, self.done, self.total = what, done, total
        self.changes.note("runs")
        if self.wanted.is_set():
            raise AbortedError("ended by a person; what was done until then stays")

    def end(self, state: RunState, result: str) -> None:
        self.state, self.result, self.ended = state, result, time.time()
        self.changes.note("runs")


class Runs:
    """The runs of this console; the log of actions in the table has those of everybody."""

    def __init__(self, deployment: "Deployment", changes: Changes) -> None:
        self._deployment = deployment
        self._changes = changes
        self._runs: OrderedDict[int, Run] = OrderedDict()
        self._numbers = itertools.count(1)

    def start(
        self, command: str, proposal: Proposal[Any], reason: str, *, is_noted: bool = True
    ) -> Run:
        """Carry out a proposal in a thread of its own; what changes nothing is not noted."""
        run = Run(
            id=next(self._numbers),
            command=command,
            what=proposal.what,
            documents=proposal.documents,
            reason=reason,
            changes=self._changes,
        )
        self._runs[run.id] = run
        while len(self._runs) > KEPT_RUNS:
            self._runs.popitem(last=False)
        run.thread = threading.Thread(
            target=self._work, args=(run, proposal, is_noted), name=f"run {run.id}", daemon=True
        )
        run.thread.start()
        return run

    def find(self, number: int) -> Run | None:
        return self._runs.get(number)

    def newest(self) -> list[Run]:
        return list(reversed(self._runs.values()))

    def abort(self, run: Run) -> None:
        """End a run at its next step."""
        run.wanted.set()
        self._changes.note("runs")

    def close(self) -> None:
        """Let what runs end at its next step, and wait for a while: it is noted how it ended."""
        going = [run for run in self._runs.values() if run.state == "running"]
        for run in going:
            self.abort(run)
        deadline = time.monotonic() + END_SECONDS
        for run in going:
            if run.thread is not None:
                run.thread.join(max(0.0, deadline - time.monotonic()))

    def _work(self, run: Run, proposal: Proposal[Any], is_noted: bool) -> None:
        # A thread has a context of its own.
        FOLLOWER.set(run)
        try:
            answer = self._carry_out(run, proposal) if is_noted else proposal.act()
        except AbortedError as error:
            run.end("aborted", error.message)
        except (*STACK_ERRORS, CommandError) as error:
            run.end("failed", str(error))
        except BaseException as error:
            run.end("failed", f"a defect of the console: {type(error).__name__}: {error}")
            raise
        else:
            run.end("failed" if answer.exit_code else "done", as_text(answer))

    def _carry_out(self, run: Run, proposal: Proposal[Any]) -> Any:
        return carry_out(
            self._deployment, run.command, proposal, reason=run.reason, dry_run=False, yes=True
        )
