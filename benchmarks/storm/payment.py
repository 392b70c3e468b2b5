"""What was paid against what had to be paid. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.storm.provider import Sales
from benchmarks.storm.texts import tokens_of
from functions.core.ports import HARMLESS
from functions.core.settings import TargetSettings
from local.provider.counts import vector_key


@dataclass(frozen=True)
class Payment:
    """Tokens over a whole storm."""

    paid: int
    needed: int  # by all versions, also those that were over before their turn came
    again: int  # for texts that were paid more often than their versions needed them

    @property
    def ratio(self) -> float:
        """Compare with what all versions needed."""
        return self.paid / max(1, self.needed)

    @property
    def strict_ratio(self) -> float:
        """Compare with what would have been enough for the texts that were paid at all."""
        return self.paid / max(1, self.paid - self.again)


def payment(sales: Sales, needed: Counter[str], target: TargetSettings) -> Payment:
    """Tell what a storm has cost."""
    # Asked by probes, and never by a document.
    texts = [*needed, HARMLESS]
    again = _again(
        sales.more_than_once,
        {vector_key(target.model, target.dimensions, text): text for text in texts},
        needed,
    )
    return Payment(paid=sales.tokens, needed=tokens_of(needed), again=tokens_of(again))


def _again(sold: Mapping[str, int], texts: Mapping[str, str], needed: Counter[str]) -> Counter[str]:
    extra: Counter[str] = Counter()
    for key, times in sold.items():
        text = texts[key]
        extra[text] = max(0, times - needed[text])
    return extra
