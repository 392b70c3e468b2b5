"""Who may talk to the console: a browser on this machine that was given its address.

Other web pages reach a port of this machine too: by a form, by a foreign name that leads here, or
in a frame. Each of these is refused before any page is made.
"""

import secrets
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost", "::1")
COOKIE = "embedq-console"
READING = ("GET", "HEAD")
# No script, style or frame but our own; nothing of a document's text is ever run.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    # With none at all, browsers send the origin `null` with our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
FOREIGN_HOST = "The console answers to the names of this machine only."
FOREIGN_PAGE = "The console answers its own pages only."
NO_TOKEN = "Open the address that `embedq console` has printed: it holds the token."


class Guard:
    """Passes on what comes from the console's own pages, and sets the headers of every answer."""

    def __init__(self, app: ASGIApp, *, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self._refusal(scope) or self._entry(scope)
        await (answer or self._app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if _place(host)[0] not in HOSTS:
            return PlainTextResponse(FOREIGN_HOST, 403)
        origin = headers.get("origin")
        # A change always names where it comes from; a browser that is asked for a page may not.
        is_own = origin == f"http://{host}" or (origin is None and scope["method"] in READING)
        if not is_own or not self._is_asked_here(scope, headers):
            return PlainTextResponse(FOREIGN_PAGE, 403)
        return None

    def _is_asked_here(self, scope: Scope, headers: Headers) -> bool:
        """Tell whether a person or our own page asks; the token proves it, wherever it stood."""
        site = headers.get("sec-fetch-site", "none")
        return site in ("none", "same-origin") or self._has_token(scope)

    def _entry(self, scope: Scope) -> Response | None:
        """Put the token of the address into a cookie; refuse those who have neither."""
        headers = Headers(scope=scope)
        name = cookie_name(headers.get("host", ""))
        if self._has_token(scope):
            rest = [(k, v) for k, v in _query(scope) if k != "token"]
            # With one slash before it: two would lead to another host.
            path = f"/{scope['path'].lstrip('/')}"
            answer = RedirectResponse(f"{path}?{urlencode(rest)}".rstrip("?"), 303)
            answer.set_cookie(name, self._token, httponly=True, samesite="strict")
            return answer
        known = cookie_parser(headers.get("cookie", "")).get(name, "")
        if not secrets.compare_digest(known.encode(), self._token.encode()):
            return PlainTextResponse(NO_TOKEN, 403)
        return None

    def _has_token(self, scope: Scope) -> bool:
        given = dict(_query(scope)).get("token", "")
        return scope["method"] in READING and secrets.compare_digest(
            given.encode(), self._token.encode()
        )


def cookie_name(host: str) -> str:
    """Name the cookie: those of all ports of a machine share one jar."""
    return f"{COOKIE}-{_place(host)[1] or 80}"


def _place(host: str) -> tuple[str | None, int | None]:
    """Part a Host header into name and port; one that no browser sends has neither."""
    try:
        parts = urlsplit(f"//{host}")
        return parts.hostname, parts.port
    except ValueError:
        return None, None


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"))
