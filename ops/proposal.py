"""What a command would do: counted by `--dry-run`, asked about, done, and noted in the actions."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ops.output import Answer, confirm, say

if TYPE_CHECKING:
    from ops.deployment import Deployment

AnswerT = TypeVar("AnswerT", bound=Answer, covariant=True)


@dataclass(frozen=True)
class Proposal(Generic[AnswerT]):
    """A change of a stack that has not begun."""

    what: str  # begins with a verb: "send 12 documents again"
    documents: int  # that it touches
    act: Callable[[], AnswerT]
    questions: tuple[str, ...] = ()  # each is asked first; none if there is nothing to do


class DryRun(Answer):
    """What a command would have done."""

    would: str
    documents: int

    def view(self) -> Iterable[str]:
        return [f"would {self.would}; documents: {self.documents}; nothing was changed"]


def carry_out(
    deployment: "Deployment",
    command: str,
    proposal: Proposal[AnswerT],
    *,
    reason: str | None,
    dry_run: bool,
    yes: bool,
) -> AnswerT | DryRun:
    """Do what is proposed, and note who did it, why, and how it ended."""
    if dry_run:
        return DryRun(would=proposal.what, documents=proposal.documents)
    for question in proposal.questions:
        confirm(question, yes=yes)
    # Loaded only now: help and completion need no client of AWS.
    from ops.action_log import ActionLog

    log = ActionLog(deployment, say)
    action = log.begin(
        command=command, what=proposal.what, documents=proposal.documents, reason=reason
    )
    try:
        answer = proposal.act()
    except BaseException as error:
        log.end(action, f"failed: {str(error) or type(error).__name__}")
        raise
    log.end(action, answer.outcome)
    return answer
