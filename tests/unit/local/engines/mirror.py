"""A Maven repository on loopback that can break off, refuse ranges and keep a client waiting."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from local.engines.fetch import Artifact


@dataclass
class Mirror:
    """What the repository holds, how it misbehaves, and what it was asked."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    # For the next answers, in order: send so many bytes, then hang up.
    break_after: list[int] = field(default_factory=list)
    # For the next answers, in order: this status instead of the file.
    refuse_with: list[int] = field(default_factory=list)
    has_ranges: bool = True
    # Files that are sent without end, until the client hangs up.
    endless: set[str] = field(default_factory=set)
    # While there is such a file, a missing one is refused only once the client takes it.
    taken: threading.Event = field(default_factory=threading.Event)
    hung_up: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)
    may_answer: threading.Event = field(default_factory=threading.Event)
    # The Range header of every request, in order.
    ranges: list[str | None] = field(default_factory=list)

    def hold(self, name: str, content: bytes) -> Artifact:
        """Put a file into the repository and return its pin."""
        artifact = Artifact(f"org.example:{name}:jar:1.0", sha256(content).hexdigest())
        self.files[f"/{artifact.path}"] = content
        return artifact


@contextmanager
def running_mirror() -> Iterator[Mirror]:
    """Serve a mirror while the block runs."""
    mirror = Mirror()
    mirror.may_answer.set()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"mirror": mirror}))
    mirror.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield mirror
    finally:
        mirror.may_answer.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    mirror: Mirror

    def do_GET(self) -> None:
        self.mirror.ranges.append(self.headers.get("Range"))
        self.mirror.asked.set()
        self.mirror.may_answer.wait(20)
        if self.path in self.mirror.endless:
            self._send_without_end()
        elif self.mirror.refuse_with:
            self.send_error(self.mirror.refuse_with.pop(0))
        elif self.path not in self.mirror.files:
            if self.mirror.endless:
                self.mirror.taken.wait(20)
            self.send_error(404)
        else:
            self._send(self.mirror.files[self.path])

    def _send(self, content: bytes) -> None:
        begin = 0
        if self.mirror.has_ranges and (asked := self.headers.get("Range")):
            begin = int(asked.removeprefix("bytes=").removesuffix("-"))
        if begin >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        limit = self.mirror.break_after.pop(0) if self.mirror.break_after else len(content)
        self.wfile.write(content[begin : begin + limit])

    def _send_without_end(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(bytes(65536))
                self.mirror.taken.set()
        except OSError:
            self.mirror.hung_up.set()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
