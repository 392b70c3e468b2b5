"""What `make bench` says of tokens: its story has the changes that it tells of."""

from benchmarks.bench.tokens import EDITED, PARAGRAPHS, Story, rows


def test_story_has_as_many_chunks_as_paragraphs() -> None:
    """Honest figures: a document of fewer chunks would make an edit look dear, of more, cheap."""
    story = Story()
    story.pay()

    assert story.chunks == PARAGRAPHS


def test_changed_paragraph_is_paid_and_the_same_text_is_not() -> None:
    """Honest figures: what costs nothing was really written, and what is new does cost."""
    story = Story()
    whole = story.pay()
    story.paragraphs[EDITED] += " and one more word"

    assert 0 < story.pay() < whole
    assert story.pay(shelf="2") == 0


def test_failed_write_of_the_index_is_met() -> None:
    """Honest figures: the write was refused, and the document came all the same."""
    story = Story()
    alone = Story().pay()

    assert story.pay(refuses=1) == alone
    assert story.refused == 1
    assert story.chunks == PARAGRAPHS


def test_each_kind_of_change_has_its_row() -> None:
    """Honest figures: the goals are those of a whole document, and of nothing at all."""
    assert [row.limit for row in rows()] == [6, 0, 0, 0]
