"""The order in which slices are compared, and how old the oldest is."""

from dataclasses import replace

from functions.core.proof import Proof, proof_for

KEY = {"id": {"S": "a"}}


def test_slice_is_the_table_then_the_index_then_the_next() -> None:
    """R56: page after page; the last slice is followed by the first."""
    proof = Proof((1, 2), number=1, revision=3)

    table = proof.after_table_page(KEY)
    index = table.after_table_page(None)
    middle = index.after_index_page("a", now_ms=9)
    end = middle.after_index_page(None, now_ms=9)

    assert table == replace(proof, after=KEY)
    assert (index.in_index, index.after) == (True, None)
    assert middle.last_entry == "a"
    assert end == Proof((1, 9), number=0, revision=3)
    assert end.oldest_ms == 1
    middle_slice = Proof((1, 2, 3), number=1, in_index=True)
    assert middle_slice.after_index_page(None, now_ms=9) == Proof((1, 9, 3), number=2)


def test_proof_of_other_days_begins_anew_as_old_as_it_was() -> None:
    """R56: a change of verify.days hides no slice that is late."""
    known = Proof((5,) * 23 + (3,), number=7, after=KEY, revision=2)

    assert proof_for(known, days=1, now_ms=9) == known
    assert proof_for(known, days=2, now_ms=9) == Proof((3,) * 48, revision=2)
    assert proof_for(None, days=1, now_ms=9) == Proof((9,) * 24)
