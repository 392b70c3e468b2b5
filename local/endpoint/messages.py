"""An HTTP request to AWS and its answer, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qsl, unquote, urlsplit

# These belong to one connection, not to the request:
# https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1
OF_THE_CONNECTION = frozenset(
    (
        "connection",
        "expect",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)


@dataclass(frozen=True)
class Request:
    """What a client asked; the names of headers are in lower case."""

    method: str
    target: str  # path and query as they came
    headers: Mapping[str, str]
    body: bytes = b""

    @cached_property
    def path(self) -> str:
        """Return the path alone, decoded."""
        return unquote(urlsplit(self.target).path)

    @cached_property
    def query(self) -> dict[str, str]:
        """Return the parameters of the URL."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @cached_property
    def form(self) -> dict[str, str]:
        """Return the parameters of a call in the query protocol, from URL and body."""
        kind = self.headers.get("content-type", "")
        if not kind.startswith("application/x-www-form-urlencoded"):
            return self.query
        return self.query | dict(parse_qsl(self.body.decode(), keep_blank_values=True))

    @property
    def action(self) -> str:
        """Return the operation, where the protocol names one; else nothing."""
        target = self.headers.get("x-amz-target")
        return target.rpartition(".")[2] if target else self.form.get("Action", "")


@dataclass(frozen=True)
class Answer:
    """What goes back."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes = b""
