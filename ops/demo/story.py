"""The demo's steps. Every line is checked before it is printed."""

import time
from collections.abc import Callable, Sequence

from functions.core.ledger_row import LedgerRow, Status
from local.provider.faults import Fault, FaultKind
from ops.demo.corpus import LONG_ID, fables, long_document
from ops.demo.model_change import MODEL, NEW
from ops.demo.steps import Steps
from ops.demo.worlds import TARGET, World

QUESTIONS = {
    "a slow runner beats a quick one who is too sure of himself": "tortoise-and-hare",
    "a tiny rodent rescues the king of beasts": "lion-and-mouse",
    "bird raises the level of a liquid with stones": "crow-and-pitcher",
}
LATE_QUESTION = "all fables in one, the astronomer who looks at the stars"
LATE_WORD = "astronomer"
POISON = "xyzzy"
REJECTS_POISON = Fault(FaultKind.POISON, marker=POISON)
DOWN = Fault(FaultKind.SERVER_ERROR, status=503)
POISON_ITEM = {"id": "poison", "title": "Poison", "body": f"The provider rejects {POISON}."}
OUTAGE_ITEMS = [
    {"id": f"outage-{number}", "title": f"Written in an outage {number}", "body": body}
    for number, body in enumerate(
        [
            "The lighthouse keeper lit his lamp although no ship was in sight.",
            "A baker kneads the dough long before the town wakes up.",
            "The librarian lends a book and writes down who has it.",
        ]
    )
]


class Story(Steps):
    """Shows every promise once, in a world whose provider can be broken."""

    def __init__(
        self,
        world: World,
        say: Callable[[str], None],
        *,
        began: float,
        changes_model: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`began` is when the demo started, by the clock."""
        super().__init__(say, clock=clock)
        self._changes_model = changes_model
        self._world = world
        self._began = began

    def tick(self) -> None:
        self._world.tick()

    def steps(self) -> Sequence[Callable[[], None]]:
        return [
            self._load,
            self._search,
            self._edit,
            self._delete,
            self._poison,
            self._outage,
            self._redrive,
            self._change_model if self._changes_model else self._keep_model,
        ]

    def _load(self) -> None:
        """Write 24 fables and one long document to the table."""
        items = [*fables(), long_document(edited=False)]
        began = self._clock()
        for item in items:
            self._world.put(item)
        self._print(f"{len(items)} items written; the application does not wait for embedq.")
        rows = self._wait([item["id"] for item in items], Status.COMPLETED)
        seconds = self._clock() - began
        chunks = sum(row.indexed.chunks_total for row in rows.values())
        paid = self._world.provider.chunks_paid()
        self._print(f"All indexed after {seconds:.1f} s: {chunks} chunks, {paid} paid.")

    def _search(self) -> None:
        """Search by meaning: no word of the question needs to be in the document."""
        for number, (question, expected) in enumerate(QUESTIONS.items()):
            hits = [hit for hit in self._world.search(question, 4) if hit.document_id != LONG_ID]
            if number == 0:
                seconds = self._clock() - self._began
                self._print(f"First search result {seconds:.0f} s after the start of the demo.")
            self._expect(hits[0].document_id == expected, f"{question!r} finds {expected}")
            self._print(f'"{question}"')
            self._print(f"-> {hits[0].document_id}  (score {hits[0].score:.2f})")
        # Its title is embedded with every chunk (chunk_prefix).
        [late] = self._world.search(LATE_QUESTION, 1)
        is_late = late.document_id == LONG_ID and LATE_WORD in late.text
        self._expect(is_late, "a late passage of the long document is found by its title")
        self._print(f'"{LATE_QUESTION}"')
        self._print(
            f"-> {LONG_ID}  (score {late.score:.2f}), the passage from character {late.start}:"
        )
        [sentence] = [one for one in late.text.split(". ") if LATE_WORD in one]
        self._print(f'"{sentence}."')

    def _edit(self) -> None:
        """Edit one paragraph of the long document: only that paragraph is paid."""
        before = self._world.provider.chunks_paid()
        version = self._row(LONG_ID).task.version
        self._world.put(long_document(edited=True))
        row = self._wait([LONG_ID], Status.COMPLETED, after=version)[LONG_ID]
        paid = self._world.provider.chunks_paid() - before
        self._expect(0 < paid <= 2, "an edit of one paragraph pays for the chunks around it only")
        self._print(f"{paid} of {row.indexed.chunks_total} chunks paid, the others reused.")

    def _delete(self) -> None:
        """Delete a fable: no search finds it."""
        self._world.delete("tortoise-and-hare")
        self._wait(["tortoise-and-hare"], Status.DELETED)
        question = next(iter(QUESTIONS))
        found = [hit.document_id for hit in self._world.search(question, 25)]
        self._expect("tortoise-and-hare" not in found, "a deleted document is not found")
        self._print(f'"{question}" does not find it.')

    def _poison(self) -> None:
        """Write a document that the provider rejects, together with a good one."""
        self._world.provider.set_faults(REJECTS_POISON)
        self._world.put(POISON_ITEM)
        self._world.put({"id": "neighbour", "title": "Neighbour", "body": "A harmless text."})
        self._wait(["neighbour"], Status.COMPLETED)
        self._wait(["poison"], Status.FAILED)
        self._until(lambda: bool(self._world.dead_letters()), "the dead letter arrives")
        for row in self._world.dead_letters():
            self._print(f"dead letter: {row.task.document_id}: {row.outcome.reason}")
        self._print("The good document is indexed: only the rejected one failed.")

    def _outage(self) -> None:
        """Take the provider down, write three documents, and bring it back."""
        self._world.provider.set_faults(DOWN, REJECTS_POISON)
        ids = [item["id"] for item in OUTAGE_ITEMS]
        for item in OUTAGE_ITEMS:
            self._world.put(item)
        self._until(lambda: self._all_failed(ids), "the attempts fail")
        row = self._row(ids[0])
        error = row.errors[-1]
        self._print(
            f"{row.task.document_id}: {row.status}, last error {error.kind}: {error.message}"
        )
        self._world.provider.set_faults(REJECTS_POISON)
        rows = self._wait(ids, Status.COMPLETED)
        attempts = ", ".join(str(row.progress.attempts) for row in rows.values())
        self._print(f"It is back: all {len(ids)} indexed, after {attempts} attempts. None lost.")

    def _redrive(self) -> None:
        """Let the provider accept the rejected text, and redrive the dead letters."""
        self._world.provider.set_faults()
        moved = self._world.redrive()
        self._wait(["poison"], Status.COMPLETED)
        self._print(f"{moved} moved back to its lane, with all its attempts, and indexed.")
        self._print("No dead letters left.")

    def _keep_model(self) -> None:
        """Change the model: left out, as the stack is kept with the one that it has."""
        self._print("How it is done: docs/migration.md, or `make demo` without --keep.")

    def _change_model(self) -> None:
        """Change the model: a second target is filled, compared and switched to, and back."""
        change = self._world.change_model()
        self._print(f"Deployed beside the first: target {NEW}, {MODEL} (here MiniLM, too).")
        refused = change.refusal()
        self._expect("missing" in refused, "a switch is refused before the target is filled")
        self._print(f"Too early: {refused}.")
        change.fill()
        self._until(lambda: change.coverage().missing == 0, "the second target is filled")
        self._print(f"Filled from the table: {change.coverage().documents} documents.")
        gate = change.switch()
        self._print(
            f"The same {gate.questions} questions to both: nDCG@10 {gate.old_ndcg:.3f} before,"
            f" {gate.new_ndcg:.3f} after; overlap@10 {gate.overlap:.3f}."
        )
        question, expected = list(QUESTIONS.items())[1]
        self._expect(change.ask(question) == (expected, NEW), f"{NEW} answers searches")
        self._print(f'Switched: "{question}" -> {expected}, answered by {NEW}.')
        began = self._clock()
        change.roll_back()
        seconds = self._clock() - began
        self._expect(change.ask(question) == (expected, TARGET), f"{TARGET} answers again")
        self._print(f"Rolled back in {seconds:.2f} s: answered by {TARGET} again.")

    def _wait(self, ids: Sequence[str], status: Status, *, after: int = 0) -> dict[str, LedgerRow]:
        def arrived() -> bool:
            rows = self._world.rows(ids)
            return len(rows) == len(ids) and all(
                row.status is status and row.task.version > after for row in rows.values()
            )

        self._until(arrived, f"{', '.join(ids[:3])} {status}")
        return self._world.rows(ids)

    def _all_failed(self, ids: Sequence[str]) -> bool:
        rows = self._world.rows(ids)
        return len(rows) == len(ids) and all(row.errors for row in rows.values())

    def _row(self, name: str) -> LedgerRow:
        return self._world.rows([name])[name]
