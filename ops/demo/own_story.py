"""The demo of any other stage: items that fit its tables are written, found, edited and deleted."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from functions.adapters.dynamodb_values import event_key, to_dynamodb
from functions.core.document import Document, read_document
from functions.core.entry import Hit
from functions.core.identity import DocumentId, document_id, row_key
from functions.core.ledger_row import LedgerRow, Status
from functions.core.settings import SourceSettings
from ops import searching, verification
from ops.demo.samples import Item, KeyTypes, edited, free_fields, sample_item
from ops.demo.steps import Steps
from ops.deployment import Deployment

ITEMS = 3
# A text finds its own document among the first, and a deleted one nowhere.
FIRST_HITS = 3
MOST_HITS = 50
TICK_SECONDS = 0.2
QUESTION_CHARACTERS = 60


@dataclass(frozen=True)
class Sample:
    """An item that the demo wrote."""

    source: SourceSettings
    item: Item
    document: DocumentId

    @property
    def text(self) -> str:
        """Return what is embedded of it; nothing if it makes no document."""
        found = read_document(self.item, self.source)
        return found.text if isinstance(found, Document) else ""

    def is_in(self, hits: Sequence[Hit]) -> bool:
        """Return whether a search has found it."""
        return (self.source.name, self.document) in [(hit.source, hit.document_id) for hit in hits]


class OwnStory(Steps):
    """Shows that a stage works on this machine as it is: every source, every target."""

    def __init__(
        self,
        deployment: Deployment,
        say: Callable[[str], None],
        *,
        first_number: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(say, clock=clock)
        self._deployment = deployment
        self._dynamodb = deployment.client("dynamodb")
        self._next = first_number
        self._samples: dict[str, list[Sample]] = {}

    def tick(self) -> None:
        time.sleep(TICK_SECONDS)

    def steps(self) -> Sequence[Callable[[], None]]:
        return [self._write, self._search, self._edit, self._delete, self._compare]

    def _write(self) -> None:
        """Write items that fit the keys, the text and the metadata of each source."""
        began = self._clock()
        for name, source in self._deployment.sources.items():
            key = self._key_types(source)
            samples = [self._new(source, key) for _ in range(ITEMS)]
            for sample in samples:
                self._put(sample)
            self._samples[name] = samples
            keys = ", ".join(f"{attribute} ({kind})" for attribute, kind in key.items())
            order = f", {source.ordering}" if source.ordering == "sequential" else ""
            self._print(f"{name}: {ITEMS} items, key {keys}{order}, as {samples[0].document}")
        for samples in self._samples.values():
            self._wait(samples, Status.COMPLETED)
        self._print(f"All indexed after {self._clock() - began:.1f} s.")

    def _search(self) -> None:
        """Search each target: it finds the items of each of its sources."""
        for sample in (samples[0] for samples in self._samples.values()):
            for target in sample.source.targets:
                self._expect(self._is_found(sample, target), f"{target} finds {sample.document}")
                question = " ".join(sample.text.split())[:QUESTION_CHARACTERS]
                self._print(f'{target}: "{question}"')
                self._print(f"-> {sample.document} of {sample.source.name}")

    def _edit(self) -> None:
        """Edit an item of each source: the new text is found."""
        for name, samples in self._samples.items():
            old = samples[0]
            if not free_fields(old.source):
                self._print(f"{name}: its text is made of keys and types alone, so none is edited")
                continue
            version = min(row.task.version for row in self._rows([old]))
            new = Sample(old.source, edited(old.source, old.item, self._number()), old.document)
            self._put(new)
            self._wait([new], Status.COMPLETED, after=version)
            for target in new.source.targets:
                self._expect(self._is_found(new, target), f"{target} finds the edited text")
            samples[0] = new
            self._print(f"{name}: {new.document} is found by its new text")

    def _delete(self) -> None:
        """Delete an item of each source: no search finds it."""
        for name, samples in self._samples.items():
            gone = samples.pop()
            key = to_dynamodb({attribute: gone.item[attribute] for attribute in gone.source.key})
            self._dynamodb.delete_item(TableName=gone.source.table, Key=key)
            self._wait([gone], Status.DELETED)
            for target in gone.source.targets:
                hits = searching.find(self._deployment, gone.text, target=target, most=MOST_HITS)
                self._expect(not gone.is_in(hits), "a deleted document is not found")
            self._print(f"{name}: {gone.document} is gone")

    def _compare(self) -> None:
        """Compare every table with every index that it feeds."""
        for name, source in self._deployment.sources.items():
            for target in source.targets:
                found = verification.differences(self._deployment, source=name, target=target)
                self._expect(not found, f"{name} and {target} agree: {'; '.join(found)}")
                self._print(f"{name} -> {target}: table and index agree")

    def _new(self, source: SourceSettings, key: KeyTypes) -> Sample:
        item = sample_item(source, key, self._number())
        name = document_id(event_key(to_dynamodb(item), source.key), source.key)
        return Sample(source, item, name)

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def _put(self, sample: Sample) -> None:
        self._dynamodb.put_item(TableName=sample.source.table, Item=to_dynamodb(sample.item))

    def _key_types(self, source: SourceSettings) -> dict[str, str]:
        table = self._dynamodb.describe_table(TableName=source.table)["Table"]
        types = {
            one["AttributeName"]: one["AttributeType"] for one in table["AttributeDefinitions"]
        }
        return {name: types[name] for name in source.key}

    def _is_found(self, sample: Sample, target: str) -> bool:
        """Return whether a target finds the item by its text as it is now."""
        hits = searching.find(self._deployment, sample.text, target=target, most=FIRST_HITS)
        return sample.is_in([hit for hit in hits if hit.text.strip() in sample.text])

    def _rows(self, samples: Sequence[Sample]) -> list[LedgerRow]:
        keys = [
            row_key(target, sample.source.name, sample.document)
            for sample in samples
            for target in sample.source.targets
        ]
        return list(self._deployment.ledger.read(keys).values())

    def _wait(self, samples: Sequence[Sample], status: Status, *, after: int = 0) -> None:
        """Wait until every row of these items has the status, at a version above the given one."""
        expected = sum(len(sample.source.targets) for sample in samples)

        def arrived() -> bool:
            rows = [row for row in self._rows(samples) if row.task.version > after]
            for row in rows:
                why = f"{row.row_key} is {status}; it is {row.status}: {row.outcome.reason}"
                self._expect(not row.status.is_failed, why)
            return len(rows) == expected and all(row.status is status for row in rows)

        self._until(arrived, f"{samples[0].source.name}/{samples[0].document} is {status}")
