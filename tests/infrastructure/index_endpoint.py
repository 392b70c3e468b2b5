"""The few calls of OpenSearch that a deployment and one document need, on localhost."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from uuid import uuid4

# What of an index is asked for, and its name in the index and in the answer.
PARTS = {"_mapping": "mappings", "_settings": "settings", "_alias": "aliases"}


@dataclass
class IndexEndpoint:
    """One OpenSearch with its indexes, aliases and entries."""

    url: str = ""
    indexes: dict[str, Any] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)

    def answer(self, method: str, path: list[str], body: bytes) -> tuple[int, Any]:
        """Answer one request."""
        match method, path:
            case "PUT", [index]:
                self.indexes[index] = json.loads(body)
                self.indexes[index]["settings"]["index"]["uuid"] = uuid4().hex
                self.aliases.update(dict.fromkeys(self.indexes[index]["aliases"], index))
                return 200, {"acknowledged": True}
            case "PUT", [_, "_mapping"]:
                return 200, {"acknowledged": True}
            case "PUT", [index, "_alias", alias] if index in self.indexes:
                self.indexes[index]["aliases"][alias] = {}
                self.aliases[alias] = index
                return 200, {"acknowledged": True}
            case "GET", [alias, what] if alias in self.aliases and what in PARTS:
                index, part = self.aliases[alias], PARTS[what]
                return 200, {index: {part: self.indexes[index][part]}}
            case "POST", [alias, "_mget"] if alias in self.aliases:
                return 200, {"docs": [self._read(one) for one in json.loads(body)["ids"]]}
            case "POST", [alias, "_bulk"] if alias in self.aliases:
                lines = [json.loads(line) for line in body.splitlines()]
                return 200, {"items": list(map(self._write, lines[::2], lines[1::2]))}
            case _:
                return 404, {"error": {"type": "index_not_found_exception", "reason": path[0]}}

    def _read(self, entry: str) -> dict[str, Any]:
        return {"_id": entry, "found": entry in self.entries, **self.entries.get(entry, {})}

    def _write(self, action: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
        entry, version = action["index"]["_id"], action["index"]["version"]
        if self.entries.get(entry, {}).get("_version", 0) >= version:
            error = {"type": "version_conflict_engine_exception", "reason": "newer"}
            return {"index": {"_id": entry, "status": 409, "error": error}}
        self.entries[entry] = {"_version": version, "_source": source}
        return {"index": {"_id": entry, "_version": version, "status": 201}}


@contextmanager
def index_endpoint() -> Iterator[IndexEndpoint]:
    """Serve an empty OpenSearch while the block runs."""
    endpoint = IndexEndpoint()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path = self.path.partition("?")[0].strip("/").split("/")
            status, answer = endpoint.answer(self.command, path, body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = answer

        def log_message(self, *_: Any) -> None:
            """Keep the test's output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        endpoint.url = f"http://localhost:{server.server_port}"
        thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield endpoint
        server.shutdown()
        thread.join()
