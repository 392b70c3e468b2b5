"""The demo's change of the model, in memory; on the engines it is run by the demo itself."""

from local.provider.server import ModelServer
from ops.demo.corpus import fables
from ops.demo.model_change import NEW
from ops.demo.story import Story
from ops.demo.worlds import TARGET, MemoryWorld


def test_second_target_is_filled_compared_and_switched_to() -> None:
    """R44 R52: refused before it is filled; each target answers with its own model."""
    with ModelServer("hashed") as server:
        world = MemoryWorld(server.url, server.origin)
        first, *_ = items = fables()[:5]
        for item in items:
            world.put(item)
        for _ in range(5):
            world.tick()
        question = f"{first['title']}\n\n{first['body']}"

        change = world.change_model()

        assert change.refusal() == f"not switched: 5 of 5 documents are missing in {NEW}"
        assert change.ask(question) == (first["id"], TARGET)
        before = world.provider.chunks_paid()
        change.fill()
        coverage = [change.coverage().covered for _ in range(5)]
        assert coverage[-1] == 5
        assert world.provider.chunks_paid() - before == 5
        gate = change.switch()
        assert gate.questions >= 20
        assert 0 < gate.old_ndcg <= 1
        assert change.ask(question) == (first["id"], NEW)
        change.roll_back()
        assert change.ask(question) == (first["id"], TARGET)


def test_stack_that_is_kept_keeps_its_model_and_says_so() -> None:
    """R44: nobody looks for the step that is left out."""
    lines: list[str] = []
    with ModelServer("hashed") as server:
        world = MemoryWorld(server.url, server.origin)
        *_, last = Story(world, lines.append, began=0.0, changes_model=False).steps()
        last()
        paid = world.provider.chunks_paid()

    assert [line for line in lines if "docs/migration.md" in line]
    assert paid == 0
