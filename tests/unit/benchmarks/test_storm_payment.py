"""Tokens of a storm: what was paid again is counted apart from what the versions needed."""

from collections import Counter

import pytest

from benchmarks.storm.payment import payment
from benchmarks.storm.provider import Sales
from functions.core.ports import HARMLESS
from functions.core.settings import TargetSettings
from local.provider.counts import vector_key
from local.provider.request import count_tokens

TARGET = TargetSettings(name="default", model="hashed", dimensions=8, index="articles")
TEXT, OTHER = "one text of a document", "another"
COST = count_tokens(TEXT)


def sales(tokens: int, **times: int) -> Sales:
    """Return sales of this many tokens, with TEXT or a probe paid so often."""
    texts = {"text": TEXT, "probe": HARMLESS}
    keys = {name: vector_key(TARGET.model, TARGET.dimensions, text) for name, text in texts.items()}
    again = {keys[name]: count for name, count in times.items()}
    return Sales(requests=0, statuses={}, tokens=tokens, inputs=0, more_than_once=again)


@pytest.mark.parametrize(("times_needed", "again"), [(1, 2), (2, 1), (3, 0), (4, 0)])
def test_text_is_paid_again_beyond_the_times_that_versions_needed_it(
    times_needed: int, again: int
) -> None:
    """R13: a document that was deleted and made again needs its text again."""
    found = payment(sales(3 * COST, text=3), Counter({TEXT: times_needed}), TARGET)

    assert found.again == again * COST
    assert found.strict_ratio == pytest.approx(3 / (3 - again))


def test_text_that_nobody_paid_lowers_only_the_ratio_to_all_versions() -> None:
    """R13: a version that was over before its turn came is needed, and costs nothing."""
    found = payment(sales(COST), Counter({TEXT: 1, OTHER: 1}), TARGET)

    assert found.ratio < 1
    assert found.strict_ratio == 1


def test_probes_are_paid_for_no_document() -> None:
    """R13."""
    found = payment(sales(COST, probe=4), Counter({TEXT: 1}), TARGET)

    assert found.again == 4 * count_tokens(HARMLESS)
