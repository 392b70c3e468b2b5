"""COMMAND -> INDEX: wiring. What OpenSearch refuses is an answer too, and no error of ours."""

from functools import cache
from typing import Any

import boto3

from functions.adapters.opensearch_http import (
    FORBIDDEN,
    OpenSearchError,
    OpenSearchHttp,
    failed,
    refused,
)
from functions.adapters.telemetry import make_logger
from functions.core.failure import FailureError
from functions.core.ports import InvocationContext
from functions.core.settings import QuerySettings
from functions.query.question import Question, why_refused

logger = make_logger("query")


@cache
def settings() -> QuerySettings:
    """Read the environment once per process."""
    return QuerySettings.from_environment()


@cache
def index() -> OpenSearchHttp:
    """Connect once per process."""
    return OpenSearchHttp.of(boto3.Session(), settings().index_endpoint)


def lambda_handler(event: dict[str, Any], context: InvocationContext) -> dict[str, Any]:  # noqa: ARG001
    """Ask OpenSearch; return its answer, or why there is none."""
    question = Question.model_validate(event)
    logger.info("index_asked", extra={"path": question.path})
    if reason := why_refused(question, settings().indexes):
        return refused(OpenSearchError(FORBIDDEN, "not_allowed", reason))
    try:
        answer = index().call("POST", question.path, question.body, query=question.query)
    except OpenSearchError as error:
        return refused(error)
    except FailureError as error:
        return failed(error)
    return {"answer": answer}
