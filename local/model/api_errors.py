"""Refusals in the shape that OpenAI sends, so that the SDK raises its own exception classes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer, ready to be sent."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


class ApiError(Exception):
    """A request that is refused with an HTTP status and OpenAI's error body."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Keep what the answer will say."""
        super().__init__(message)
        self.status = status
        self.error = {"message": message, "type": kind, "param": param, "code": code}
        self.headers = headers or {}

    def reply(self) -> Reply:
        """Return the HTTP answer of this refusal."""
        return Reply(self.status, json.dumps({"error": self.error}).encode(), self.headers)


def invalid_input(message: str, *, param: str | None = "input") -> ApiError:
    """Refuse a request for what it says."""
    return ApiError(400, message, param=param)


def invalid_key() -> ApiError:
    """Refuse a missing or wrong key, without repeating it."""
    return ApiError(401, "Incorrect API key provided.", code="invalid_api_key")


def unknown_model(model: str) -> ApiError:
    """Refuse a model that this server does not serve."""
    message = f"The model `{model}` does not exist or you do not have access to it."
    return ApiError(404, message, code="model_not_found")


def unknown_path(method: str, path: str) -> ApiError:
    """Refuse a path that this server does not have."""
    return ApiError(404, f"Invalid URL ({method} {path})", code="unknown_url")


def server_error(status: int) -> ApiError:
    """Answer as a provider in trouble."""
    message = "The server had an error while processing your request. Sorry about that!"
    return ApiError(status, message, kind="server_error")


def insufficient_quota() -> ApiError:
    """Answer as for an account without money: a 429 that no waiting helps."""
    message = "You exceeded your current quota, please check your plan and billing details."
    return ApiError(429, message, kind="insufficient_quota", code="insufficient_quota")


def rate_limited(
    model: str, *, what: str = "requests", detail: str = "", headers: Mapping[str, str]
) -> ApiError:
    """Refuse a request that comes too soon; `what` is requests or tokens, as in the headers."""
    unit = {"requests": "requests per min (RPM)", "tokens": "tokens per min (TPM)"}[what]
    message = f"Rate limit reached for {model} on {unit}{detail}."
    return ApiError(429, message, kind=what, code="rate_limit_exceeded", headers=headers)


def too_large(model: str, *, limit: int, asked: int, status: int = 429) -> ApiError:
    """Refuse a request larger than the account's own limit: splitting helps, waiting never."""
    message = (
        f"Request too large for {model} on tokens per min (TPM): Limit {limit}, Requested {asked}."
        " The input or output tokens must be reduced in order to run successfully."
    )
    return ApiError(status, message, kind="tokens", code="rate_limit_exceeded")
