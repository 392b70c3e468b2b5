"""QUESTION -> INDEX: wiring. Called directly or by its URL, with one JSON object either way."""

import base64
import json
import time
from functools import cache
from typing import Any

import boto3
from pydantic import ValidationError

from functions.adapters.aws_clients import CLIENT_CONFIG
from functions.adapters.clock import now_ms
from functions.adapters.dynamodb_control import DynamoDbControl
from functions.adapters.emf import FunctionMetrics
from functions.adapters.opensearch_http import OpenSearchHttp
from functions.adapters.opensearch_search import OpenSearchSearch
from functions.adapters.providers import make_embedder
from functions.adapters.secret import ApiKey
from functions.adapters.telemetry import PowertoolsTelemetry, make_logger
from functions.core.ports import Embedder, InvocationContext
from functions.core.search import SearchRequest
from functions.core.settings import SearchSettings
from functions.search.process import BAD_REQUEST, UNAVAILABLE, Search, SearchError
from functions.search.vectors import ProviderState, QueryVectors

OK = 200
logger = make_logger("search")


@cache
def search() -> Search:
    """Build the step once per process."""
    settings = SearchSettings.from_environment()
    session = boto3.Session()
    secrets = session.client("secretsmanager", config=CLIENT_CONFIG)
    dynamodb = session.client("dynamodb", config=CLIENT_CONFIG)
    control = DynamoDbControl(dynamodb, settings.ledger_table)
    telemetry = PowertoolsTelemetry(logger, FunctionMetrics("search"))
    targets = {one.name: one for one in settings.targets}

    @cache
    def embedder_of(name: str) -> Embedder:
        key = ApiKey(secrets, settings.secrets.get(name, ""))
        return make_embedder(targets[name], key, is_query=True, client=session.client)

    return Search(
        index=OpenSearchSearch(OpenSearchHttp.of(session, settings.index_endpoint)),
        vector_of=QueryVectors(lambda target: embedder_of(target.name)),
        why_stopped=ProviderState(control.read, telemetry, now_ms),
        targets=targets,
        sources=settings.sources,
    )


def lambda_handler(event: Any, context: InvocationContext) -> dict[str, Any]:  # noqa: ARG001
    """Answer a question; a wrong one, too, is answered, with its status."""
    is_url = isinstance(event, dict) and "requestContext" in event
    began = time.monotonic()
    status, answer = _answer(_body(event) if is_url else event)
    spent = round(1000 * (time.monotonic() - began))
    seen = {"status": status, "found": len(answer.get("results", ())), "milliseconds": spent}
    if status == UNAVAILABLE:
        # Has no word of the question, unlike what is said about a wrong one.
        logger.warning("search_failed", extra=seen | {"reason": answer["error"]["message"]})
    else:
        logger.info("searched", extra=seen)
    if not is_url:
        return answer
    headers = {"content-type": "application/json"}
    return {
        "statusCode": status,
        "headers": headers,
        "body": json.dumps(answer, ensure_ascii=False),
    }


def _answer(asked: object) -> tuple[int, dict[str, Any]]:
    try:
        request = SearchRequest.model_validate(asked)
    except ValidationError as error:
        return _refused(BAD_REQUEST, _words(error))
    try:
        answer = search().answer(request)
    except SearchError as error:
        return _refused(error.status, str(error))
    return OK, answer.model_dump(mode="json")


def _refused(status: int, message: str) -> tuple[int, dict[str, Any]]:
    # Half a character, which a question may hold, is no JSON in UTF-8: it is spelled out.
    said = message.encode(errors="backslashreplace").decode()
    return status, {"error": {"status": status, "message": said}}


def _words(error: ValidationError) -> str:
    """Say what is wrong with each field, without the values."""
    mistakes = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(
        f"{'.'.join(map(str, one['loc'])) or 'the body'}: {one['msg']}" for one in mistakes
    )


def _body(event: dict[str, Any]) -> object:
    text = event.get("body") or ""
    try:
        return json.loads(base64.b64decode(text) if event.get("isBase64Encoded") else text)
    except (TypeError, ValueError, RecursionError):
        return None
