"""Refusals in the shape that OpenAI sends, so that the SDK raises its own exception classes."""

from collections.abc import Mapping

from starlette.responses import JSONResponse


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
        super().__init__(message)
        self.status = status
        self.error = {"message": message, "type": kind, "param": param, "code": code}
        self.headers = headers or {}

    def response(self) -> JSONResponse:
        """Return the HTTP answer of this refusal."""
        return JSONResponse({"error": self.error}, self.status, self.headers)


def invalid_input(message: str, *, param: str | None = "input") -> ApiError:
    """Refuse a request for its contents."""
    return ApiError(400, message, param=param)


def invalid_key() -> ApiError:
    """Refuse a missing or wrong key, without repeating it."""
    return ApiError(401, "Incorrect API key provided.", code="invalid_api_key")


def unknown_path(method: str, path: str) -> ApiError:
    """Refuse a path that this server does not have."""
    return ApiError(404, f"Invalid URL ({method} {path})", code="unknown_url")


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
