"""Peers that write into OpenSearch: their source is a file, their state a folder."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Mapping
from typing import Any

import psutil

from benchmarks.peers.counting import Stored
from benchmarks.peers.documents import Texts
from benchmarks.peers.program import Program, ProgramWork
from benchmarks.peers.protocol import Site
from local.background import ENGINES
from local.engines.records import read_record
from local.files import write_json

MOST_ENTRIES = 10_000  # that OpenSearch gives in one answer
CALL_SECONDS = 30.0


class OpenSearchPeer:
    """One program with an index of its own."""

    def __init__(
        self, site: Site, script: str, name: str, read: Callable[[Mapping[str, Any]], Stored]
    ) -> None:
        folder = site.folder / name
        folder.mkdir()
        self._site = site
        self._index = name
        self._read = read
        self._file = folder / "source.json"
        self._texts: dict[str, str] = {}
        settings = {"opensearch": site.stack.opensearch_url, "index": name}
        self._program = Program(
            "peers", script, folder, site.settings | settings | {"source": str(self._file)}
        )

    def write(self, puts: Texts, deletes: Collection[str]) -> None:
        self._texts |= puts
        for name in deletes:
            del self._texts[name]
        write_json(self._file, self._texts)

    def start(self) -> ProgramWork:
        return self._program.start()

    def stored(self) -> list[Stored]:
        return [self._read(one) for one in entries(self._site, self._index)]

    def store_cpu_seconds(self) -> float:
        return engine_cpu_seconds(self._site, "OpenSearch")


def entries(site: Site, index: str, query: object = None) -> list[dict[str, Any]]:
    """Return every entry that a search can find, without vectors; none without an index."""
    url = f"{site.stack.opensearch_url}/{index}"
    try:
        _call(f"{url}/_refresh", {})
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return []
        raise
    body = {"size": MOST_ENTRIES, "query": query or {"match_all": {}}}
    without = {"_source": {"excludes": ["*vector*", "embedding", "_node_content"]}}
    return [hit["_source"] for hit in _call(f"{url}/_search", body | without)["hits"]["hits"]]


def engine_cpu_seconds(site: Site, *names: str) -> float:
    """Return the CPU time of engines of the stack."""
    record = read_record(site.folder / ENGINES)
    pids = [one.process.pid for one in record.engines if one.name in names] if record else []
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)


def _call(url: str, body: object) -> Any:
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=CALL_SECONDS) as answer:
        return json.loads(answer.read())
