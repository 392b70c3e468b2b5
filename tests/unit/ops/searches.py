"""A deployment whose searches are answered by a test."""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from functions.core.names import first_index
from ops.deployment import Deployment
from tests.builders import make_target

Answers = Callable[[dict[str, Any]], list[str]]


class Searches:
    """A client of Lambda that answers as the search function does."""

    def __init__(self, found: Answers, notes: Mapping[str, str] | None = None) -> None:
        self.found = found
        self.notes = notes or {}  # by the mode that is answered by text
        self.asked: list[dict[str, Any]] = []
        self.index: Callable[[dict[str, Any]], str] = lambda _: first_index(make_target().index)

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:
        assert FunctionName == "search"
        asked = {"mode": "hybrid", "weight": 0.5, **json.loads(Payload)}
        self.asked.append(asked)
        mode = asked["mode"]
        answer = {
            "results": [
                {
                    "source": "articles",
                    "document": name,
                    "type": "article",
                    "score": 1.0,
                    "passage": {"text": ""},
                    "metadata": {},
                }
                for name in self.found(asked)
            ],
            "mode": "text" if mode in self.notes else mode,
            "index": self.index(asked),
            "notes": [self.notes[mode]] if mode in self.notes else [],
        }
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}


class Index:
    """As many documents as it is told, without vectors to ask with."""

    def __init__(self, documents: int = 0) -> None:
        self.documents = documents
        self.asked: list[str] = []
        self.indexes: set[str] = set()

    def call(
        self, method: str, path: str, body: Any = None, *, query: Mapping[str, str] | None = None
    ) -> Any:
        del method, body, query
        index, _, action = path.partition("/")
        self.asked.append(action)
        self.indexes.add(index)
        return {"count": self.documents, "hits": {"hits": []}}


def asked_with(
    deployment: Deployment, searches: Searches, index: Index | None = None
) -> Deployment:
    deployment.outputs["SearchFunction"] = "search"
    vars(deployment)["lambda_"] = searches
    vars(deployment)["index"] = index or Index()
    return deployment
