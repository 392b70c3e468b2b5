"""The model server's controls, as the storm uses them."""

from dataclasses import dataclass

from benchmarks.storm.texts import POISON
from local.provider.faults import Fault, FaultKind
from ops.demo.provider import Provider as LocalProvider

REJECTS_POISON = Fault(FaultKind.POISON, marker=POISON)


@dataclass(frozen=True)
class Sales:
    """What the provider was asked and has sold."""

    requests: int
    statuses: dict[str, int]
    tokens: int
    inputs: int
    more_than_once: dict[str, int]  # by vector_key


class Provider(LocalProvider):
    """The provider of a storm."""

    def break_with(self, *faults: Fault) -> None:
        """Put these faults in force instead of all others; poison is rejected all the time."""
        self.set_faults(REJECTS_POISON, *faults)

    def heal(self) -> None:
        """Accept poison, too."""
        self.set_faults()

    def sales(self) -> Sales:
        """Return the counts so far."""
        counts = self.counts()
        paid = counts["paid"]
        return Sales(
            requests=counts["requests"],
            statuses=counts["statuses"],
            tokens=paid["tokens"],
            inputs=paid["inputs"],
            more_than_once=paid["more_than_once"],
        )
