"""What SQS itself moves back from dead letters: how far it is, and stopped by a person."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ops.dead_queue import Move, move_of
from ops.frame import TARGET, Noun
from ops.output import Answer, UsageError
from ops.proposal import Proposal

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("Dead letters", group="dead")


class StoppedMoves(Answer):
    """Dead letters that SQS does not move any more."""

    moved: int

    def view(self) -> Iterable[str]:
        return [f"SQS has stopped; {self.moved} dead letters are back in their lanes"]


@NOUN.change_command(TARGET, examples=["dead stop", "dead stop --stage prod"])
def stop(deployment: "Deployment", *, target: str | None = None) -> Proposal[StoppedMoves]:
    """Stop SQS while it moves dead letters back; those that are not moved yet stay."""
    going = moves(deployment, target=target)
    if not going:
        raise UsageError("SQS moves no dead letters just now")

    def act() -> StoppedMoves:
        return StoppedMoves(moved=sum(one.stop(deployment.sqs) for one in going))

    left = sum(one.left for one in going)
    return Proposal("stop SQS, which moves dead letters back to their lanes", left, act)


def moves(deployment: "Deployment", *, target: str | None = None) -> list[Move]:
    """Say what SQS moves back just now, of one target or of all."""
    names = [deployment.target(target).name] if target else deployment.targets
    urls = [url for name in names for url in deployment.dead_letter_urls(name)]
    return [found for url in urls if (found := move_of(deployment.sqs, url)) is not None]
