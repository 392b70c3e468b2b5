"""Many questions to the search function, in one mode: what each of them found."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from functions.core.search import Mode
from ops.output import CommandError, progress
from ops.quality import DEPTH, Judgment
from ops.searching import ask

if TYPE_CHECKING:
    from ops.deployment import Deployment

# At a time: a search shares the index with the searches of applications.
AT_ONCE = 4


class OtherModeError(CommandError):
    """The searches were answered in another mode than they asked for; the message says why."""


def found_by(
    deployment: "Deployment",
    judgments: Sequence[Judgment],
    *,
    source: str,
    target: str,
    mode: Mode,
    weight: float = 0.5,
) -> dict[str, list[str]]:
    """Return the ids of the first documents of a source that each question finds."""

    def found(judgment: Judgment) -> tuple[str, list[str]]:
        answer = ask(
            deployment,
            query=judgment.query,
            mode=mode,
            weight=weight,
            sources=(source,),
            target=target,
            size=DEPTH,
        )
        if answer.mode != mode:
            raise OtherModeError(f"asked by {mode}, answered {'; '.join(answer.notes)}")
        return judgment.id, [one.document for one in answer.results]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            answers = pool.map(found, judgments)
            return dict(progress(answers, f"asking by {mode}", len(judgments)))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
