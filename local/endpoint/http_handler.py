"""HTTP of the endpoint: reads requests from a connection that is kept alive, writes answers."""

from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, cast

from local.endpoint.messages import OF_THE_CONNECTION, Answer, Request

if TYPE_CHECKING:
    from local.endpoint.http_server import EndpointHttpServer

_LINE_BYTES = 65536


class EndpointRequestHandler(BaseHTTPRequestHandler):
    """One client's connection."""

    protocol_version = "HTTP/1.1"
    server_version = "embedq-endpoint"
    sys_version = ""
    # Head and body leave in one write, and at once: Nagle's algorithm would hold the second
    # packet of an answer back for up to 40 ms.
    wbufsize = -1
    disable_nagle_algorithm = True

    def setup(self) -> None:
        """Open this connection's ways to the services."""
        super().setup()
        self._services = cast("EndpointHttpServer", self.server).open_services()

    def finish(self) -> None:
        """Close them."""
        self._services.close()
        super().finish()

    def do_POST(self) -> None:
        """Answer any method alike."""
        body = self._read_body()
        headers = {
            lower: value
            for name, value in self.headers.items()
            if (lower := name.lower()) not in OF_THE_CONNECTION
        }
        headers["content-length"] = str(len(body))
        request = Request(self.command, self.path, headers, body)
        self._write(self._services.answer(request))

    do_GET = do_PUT = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = do_POST

    def handle_expect_100(self) -> bool:
        """Ask for the body at once: a client that hears nothing waits a second for it."""
        go_on = super().handle_expect_100()
        self.wfile.flush()
        return go_on

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a call is worth a line only to the one who made it."""

    def _read_body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            return b"".join(iter(self._read_chunk, b""))
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _read_chunk(self) -> bytes:
        size = int(self.rfile.readline(_LINE_BYTES).partition(b";")[0], 16)
        chunk = self.rfile.read(size)
        # After the data, or after the last chunk's trailers, stands an empty line.
        while self.rfile.readline(_LINE_BYTES).strip():
            continue
        return chunk

    def _write(self, answer: Answer) -> None:
        self.send_response(answer.status)
        is_head = self.command == "HEAD"
        for name, value in answer.headers:
            # The answer to HEAD tells the length of what it does not bring.
            if is_head or name.lower() != "content-length":
                self.send_header(name, value)
        if not is_head:
            self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        if not is_head:
            self.wfile.write(answer.body)
