"""A target that replaces another: which one answers searches, and how much of it is there."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from functions.core.names import CONTROL_PREFIX, first_index
from functions.core.settings import TargetSettings
from ops.output import CommandError, UsageError

if TYPE_CHECKING:
    from functions.core.entry_shape import BucketSum
    from functions.core.identity import EntryId
    from ops.deployment import Deployment

NO_MIGRATION = (
    "no target of this stage replaces another: add one to cdk.json with `replaces`, and deploy"
    " (docs/migration.md)"
)
KEPT_DAYS = 90
NOT_FOUND = 404
NOT_ALLOWED = "not_allowed"
NO_INDEX = "no index"


class LostIndexError(CommandError):
    """OpenSearch has no index of a target."""

    def __init__(self, target: TargetSettings, error: Exception) -> None:
        super().__init__(f"the index of {target.name} is lost: {error}")
        self.target = target


class UnansweredError(CommandError):
    """Searches of the old target are answered by the index of neither target."""


@contextmanager
def reading(target: TargetSettings) -> Iterator[None]:
    """Say of which target an index is lost, as OpenSearch does not."""
    from functions.adapters.opensearch_http import OpenSearchError

    try:
        yield
    except OpenSearchError as error:
        if error.status != NOT_FOUND:
            raise
        raise LostIndexError(target, error) from error


@dataclass(frozen=True)
class Coverage:
    """How many documents of the old index the new one has, with vectors."""

    documents: int
    covered: int

    @property
    def missing(self) -> int:
        return self.documents - self.covered

    @property
    def percent(self) -> float:
        return 100 * self.covered / self.documents if self.documents else 100.0


@dataclass(frozen=True)
class Migration:
    """Two targets of one stage: the new one replaces the old one."""

    deployment: "Deployment"
    old: TargetSettings
    new: TargetSettings

    @property
    def sources(self) -> list[str]:
        """Name the sources; they feed both."""
        return [
            one.name for one in self.deployment.sources.values() if self.new.name in one.targets
        ]

    def command(self, *words: str) -> str:
        """Write a command; one of `migrate` names the target where several replace another."""
        several = sum(one.replaces is not None for one in self.deployment.targets.values()) > 1
        named = ["--target", self.new.name] if several and words[0] == "migrate" else []
        return self.deployment.command(*words, *named)

    def answering(self) -> TargetSettings:
        """Return the target that answers the searches of the old one."""
        from functions.adapters.opensearch_http import OpenSearchError

        try:
            index = self._alias()["after"]
        except OpenSearchError as error:
            raise UnansweredError(
                f"it is not known which index answers the searches of {self.old.name}: {error}"
            ) from error
        for one in (self.old, self.new):
            if first_index(one.index) == index:
                return one
        raise UnansweredError(
            f"searches of {self.old.name} are answered by {index}, and neither by the index of"
            f" {self.old.name} nor by that of {self.new.name}"
        )

    def let_answer(self, target: TargetSettings) -> Mapping[str, str]:
        """Let one of both answer the searches of the old one; return which index did and does."""
        from functions.adapters.opensearch_http import OpenSearchError

        try:
            return self._alias(to=target.index)
        except OpenSearchError as error:
            if error.kind != NOT_ALLOWED:
                raise
            # The function refuses before OpenSearch is asked.
            raise CommandError(f"the read alias was not moved: {error.reason}") from error

    def coverage(self) -> Coverage:
        """Compare what searches can find in both indexes, source by source and bucket by bucket."""
        found = [
            covered(*(self._sums(one, name) for one in (self.old, self.new)))
            for name in self.sources
        ]
        return Coverage(sum(one.documents for one in found), sum(one.covered for one in found))

    def known_chunks(self, ids: "Sequence[EntryId]") -> "dict[EntryId, set[str]]":
        """Return the hashes of chunks whose vectors the new target takes from the old index."""
        if not self.new.reused_index:
            return {}
        wanted = {"_source_includes": "chunks.hash"}
        found = self.deployment.ask_index(self.old.name, "_mget", {"ids": list(ids)}, wanted)
        return {
            doc["_id"]: {chunk["hash"] for chunk in doc["_source"].get("chunks", ())}
            for doc in found["docs"]
            if doc.get("found")
        }

    def _sums(self, target: TargetSettings, source: str) -> "dict[int, BucketSum]":
        from functions.adapters.opensearch_reader import OpenSearchReader

        reader = OpenSearchReader(self.deployment.index, target.index)
        with reading(target):
            # What was written a moment ago counts, too.
            reader.refresh()
            return reader.sums(source)

    def _alias(self, **to: str) -> dict[str, str]:
        from functions.core.failure import FailureError
        from ops.index_questions import call_function, understood

        function = self.deployment.outputs["IndexSetupFunction"]
        try:
            answer = call_function(
                self.deployment.lambda_, function, {"read": self.old.index, **to}
            )
        except FailureError as error:
            raise CommandError(f"the read alias was not asked for: {error}") from error
        return {when: index or NO_INDEX for when, index in understood(answer).items()}


def covered(old: "Mapping[int, BucketSum]", new: "Mapping[int, BucketSum]") -> Coverage:
    """Count by bucket, so that what only the new index has does not stand for what it lacks."""
    documents = sum(one.count for one in old.values())
    found = sum(
        min(one.count, new[bucket].count - new[bucket].without_vectors)
        for bucket, one in old.items()
        if bucket in new
    )
    return Coverage(documents, found)


def migration_of(deployment: "Deployment", target: str | None) -> Migration:
    """Find the target that replaces another, by its name or as the only one."""
    successors = {
        name: found for name, found in deployment.targets.items() if found.replaces is not None
    }
    if not successors:
        raise UsageError(NO_MIGRATION)
    if target is None and len(successors) == 1:
        [target] = successors
    if target not in successors:
        asked = "which target?" if target is None else f"{target} replaces no other target:"
        raise UsageError(f"{asked} --target is one of: {', '.join(sorted(successors))}")
    new = successors[target]
    return Migration(deployment, deployment.targets[new.replaces or ""], new)


class GateStore:
    """The last result of the quality gate, beside the rows of the ledger's table."""

    def __init__(self, migration: Migration) -> None:
        self._client = migration.deployment.dynamodb
        self._table = migration.deployment.outputs["LedgerTable"]
        self._key = {"row_key": {"S": f"{CONTROL_PREFIX}/migration/{migration.new.name}"}}

    def write(self, result: str) -> None:
        """Keep a result, written as JSON, in place of the one before."""
        expires = int(time.time()) + KEPT_DAYS * 24 * 3600
        self._client.put_item(
            TableName=self._table,
            Item={**self._key, "gate": {"S": result}, "expires_at": {"N": str(expires)}},
        )

    def remove(self) -> None:
        """Keep none: what was measured before says nothing about the last switch."""
        self._client.delete_item(TableName=self._table, Key=self._key)

    def read(self) -> str | None:
        """Return the last result; None before the first."""
        found: dict[str, Any] = self._client.get_item(TableName=self._table, Key=self._key)
        return str(found["Item"]["gate"]["S"]) if "Item" in found else None
