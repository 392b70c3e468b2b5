"""How a change of a breaker is logged, whoever made it: one event, and the metrics."""

from functions.core.breaker import Breaker, Circuit
from functions.core.failure import Part
from functions.core.ports import Telemetry


def log_transition(telemetry: Telemetry, target: str, part: Part, breaker: Breaker) -> None:
    """Log and count that a breaker has changed its state."""
    telemetry.event(breaker.state.event, target=target, part=str(part), reason=breaker.reason)
    telemetry.count("BreakerTransitions")
    if breaker.state is Circuit.OPEN:
        telemetry.count("BreakerOpened")
