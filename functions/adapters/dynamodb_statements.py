"""BatchExecuteStatement in full: the answer to each statement, and what is tried again."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from functions.adapters.store_errors import store_failure, store_failures
from functions.core.failure import FailureError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html
MAX_STATEMENTS = 25
# Of the values of a request. A character takes up to six bytes there, and DynamoDB takes 16 MB.
MAX_CHARACTERS = 1_000_000
MAX_TRIES = 6
PAUSE_SECONDS = 0.02
# The SDK does not repeat them: they stand in an answer that says OK.
# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchStatementError.html
PASSING = (
    "InternalServerError",
    "ProvisionedThroughputExceeded",
    "RequestLimitExceeded",
    "ThrottlingError",
    "TransactionConflict",
)


@dataclass(frozen=True)
class Unmet:
    """The condition of a statement was not met."""

    standing: dict[str, Any] | None  # the item that was met, if the statement asks for it


# None: the statement was done.
Answer = Unmet | FailureError | None


def execute(
    client: "DynamoDBClient", table: str, statements: Sequence[dict[str, Any]]
) -> list[Answer]:
    """Run at most 25 statements that change a table; return their answers, in their order."""
    answers: dict[int, Answer] = {}
    waiting = list(range(len(statements)))
    for number in range(MAX_TRIES):
        if number:
            time.sleep(random.uniform(0, PAUSE_SECONDS * 2**number))
        answered = _ask(client, table, [statements[place] for place in waiting])
        errors = dict(zip(waiting, answered, strict=True))
        answers |= {place: _answer(table, error) for place, error in errors.items()}
        waiting = [place for place, error in errors.items() if _may_pass(error)]
        if not waiting:
            break
    return [answers[place] for place in range(len(statements))]


# What stands in an answer in place of a success, or the failure of the whole request.
Error = dict[str, Any] | FailureError | None


def _ask(client: "DynamoDBClient", table: str, statements: Sequence[dict[str, Any]]) -> list[Error]:
    try:
        with store_failures(_doing(table)):
            answer: Any = client.batch_execute_statement(Statements=statements)  # type: ignore[arg-type]
    except FailureError as failure:
        if len(statements) > 1 and _is_refused(failure):
            # Perhaps for one of them: of two with one key, DynamoDB does none.
            return [error for one in statements for error in _ask(client, table, [one])]
        return [failure] * len(statements)
    return [one.get("Error") for one in answer["Responses"]]


def _is_refused(failure: FailureError) -> bool:
    cause = failure.__cause__
    return (
        isinstance(cause, ClientError) and cause.response["Error"]["Code"] == "ValidationException"
    )


def _may_pass(error: Error) -> bool:
    return isinstance(error, dict) and error["Code"] in PASSING


def _answer(table: str, error: Error) -> Answer:
    if not isinstance(error, dict):
        return error
    if error["Code"] == "ConditionalCheckFailed":
        return Unmet(error.get("Item"))
    return FailureError(store_failure(_doing(table), error["Code"]))


def _doing(table: str) -> str:
    return f"writing table {table}"
