"""Index administration on OpenSearch."""

from collections.abc import Collection
from typing import Any

from functions.adapters.opensearch_http import (
    FORBIDDEN,
    OpenSearchError,
    OpenSearchHttp,
    segment,
    unavailable,
)


class OpenSearchAdmin:
    """Creates indexes and reads their mappings."""

    def __init__(self, http: OpenSearchHttp) -> None:
        self._http = http

    def mapping(self, alias: str) -> dict[str, Any] | None:
        """Return the mapping behind an alias; None where there is no such alias."""
        found = self._behind(alias, "_mapping")
        return None if found is None else dict(found["mappings"])

    def create(self, index: str, body: dict[str, Any]) -> None:
        """Create an index; one that another caller has just created is fine."""
        try:
            self._http.call("PUT", segment(index), body)
        except OpenSearchError as error:
            if error.kind != "resource_already_exists_exception":
                raise

    def extend(self, alias: str, properties: dict[str, Any]) -> str | None:
        """Add the fields that the mapping lacks; return why a field was refused."""
        try:
            self._http.call("PUT", f"{segment(alias)}/_mapping", {"properties": properties})
        except OpenSearchError as error:
            if error.status != 400:
                raise
            return error.reason
        return None

    def add_alias(self, alias: str, index: str) -> None:
        """Let an alias stand for an index, unless it stands for one already."""
        if self._aliases(alias) is None:
            self._http.call("PUT", f"{segment(index)}/_alias/{segment(alias)}", {})

    def indexes_behind(self, alias: str) -> frozenset[str]:
        """Return the indexes that an alias stands for; none where there is no such alias."""
        return frozenset(self._aliases(alias) or ())

    def is_nowhere(self, alias: str) -> bool:
        """Tell whether an alias stands for nothing; False also where that may not be asked."""
        try:
            return not self.indexes_behind(alias)
        except OpenSearchError as error:
            # The role may ask only for aliases of targets that are in the stage.
            if error.status != FORBIDDEN:
                raise
            return False

    def aliases(self, alias: str) -> frozenset[str]:
        """Return all aliases of the index behind an alias."""
        found = (self._aliases(alias) or {}).values()
        return frozenset(name for one in found for name in one["aliases"])

    def move_alias(self, alias: str, *, before: Collection[str], after: str) -> None:
        """Let an alias stand for one index alone, in one step; fail if it has moved meanwhile."""
        moves = [
            *(
                {"remove": {"index": one, "alias": alias, "must_exist": True}}
                for one in sorted(before)
            ),
            # After the others: an index may be among them.
            {"add": {"index": after, "alias": alias}},
        ]
        self._http.call("POST", "_aliases", {"actions": moves})

    def sizes(self, alias: str) -> tuple[int, int]:
        """Return the shards and the replicas of the index behind an alias."""
        settings = self._behind(alias, "_settings")["settings"]["index"]
        return int(settings["number_of_shards"]), int(settings["number_of_replicas"])

    def uuid(self, alias: str) -> str | None:
        """Return the UUID of the index behind an alias; None where there is no such alias."""
        try:
            found = self._behind(alias, "_settings")
        except OpenSearchError as error:
            raise unavailable(str(error)) from error
        return None if found is None else str(found["settings"]["index"]["uuid"])

    def set_replicas(self, alias: str, replicas: int) -> None:
        """Change the number of replicas, which OpenSearch does while it serves."""
        body = {"index": {"number_of_replicas": replicas}}
        self._http.call("PUT", f"{segment(alias)}/_settings", body)

    def _aliases(self, alias: str) -> dict[str, Any] | None:
        """Return the index behind an alias with all its aliases; None where there is none."""
        try:
            return dict(self._http.call("GET", f"{segment(alias)}/_alias"))
        except OpenSearchError as error:
            if error.status == 404:
                return None
            raise

    def _behind(self, alias: str, what: str) -> Any:
        """Return what is known about the index behind an alias; None where there is none."""
        try:
            answer = self._http.call("GET", f"{segment(alias)}/{what}")
        except OpenSearchError as error:
            if error.status == 404:
                return None
            raise
        # A bare index of that name is no alias: entries are written through aliases only.
        return None if alias in answer else next(iter(answer.values()))
