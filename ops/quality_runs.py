"""Many questions to the search function, in one mode: what each of them found."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from functions.core.search import Mode
from ops.output import CommandError, progress
from ops.quality import DEPTH, Judgment, Run
from ops.searching import ask

if TYPE_CHECKING:
    from functions.core.search import SearchAnswer, SearchResult
    from ops.deployment import Deployment

# At a time: a search shares the index with the searches of applications.
AT_ONCE = 4


class OtherModeError(CommandError):
    """The searches were answered in another mode than they asked for; the message says why."""


class OtherIndexError(CommandError):
    """Another index answered than the one that is measured: two models would be mixed."""


@dataclass(frozen=True)
class Answered:
    """What each question found, and the index that answered all of them."""

    run: Run
    index: str


def found_by(
    deployment: "Deployment",
    judgments: Sequence[Judgment],
    *,
    target: str,
    mode: Mode,
    weight: float = 0.5,
    source: str | None = None,
    index: str = "",
) -> Answered:
    """Return the first documents that each question finds: of one source, or as SOURCE/ID of any.

    All must be answered by one index: by `index`, or by that of the first answer.
    """

    def found(judgment: Judgment) -> "SearchAnswer":
        return ask(
            deployment,
            query=judgment.query,
            mode=mode,
            weight=weight,
            sources=() if source is None else (source,),
            target=target,
            size=DEPTH,
        )

    run: dict[str, list[str]] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = pool.map(found, judgments)
        try:
            for answer in progress(answers, f"asking {target} by {mode}", len(judgments)):
                if answer.mode != mode:
                    # Words alone would find the same in any index.
                    notes = "; ".join(answer.notes)
                    raise OtherModeError(f"{target} did not answer by {mode}: {notes}")
                index = index or answer.index
                if answer.index != index:
                    raise OtherIndexError(_other(deployment, target, answer.index, index))
                run[judgments[len(run)].id] = [_name(one, source) for one in answer.results]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return Answered(run, index)


def _name(found: "SearchResult", source: str | None) -> str:
    return found.document if source else f"{found.source}/{found.document}"


def _other(deployment: "Deployment", target: str, found: str, expected: str) -> str:
    look = deployment.command("migrate", "status")
    return (
        f"{target} was answered by the index {found}, and not by {expected} alone: somebody has"
        f" moved its alias; `{look}` shows who answers"
    )
