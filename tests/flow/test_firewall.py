"""A web application firewall in front of the provider, which refuses texts for their content."""

from functions.adapters.providers import make_embedder
from functions.core.ledger_row import Status
from local.provider.faults import Fault, FaultKind
from local.provider.server import ModelServer
from tests.builders import make_pipeline, make_target
from tests.flow.stories import row, write

DOCUMENTS = 12
REFUSED = "plugh"


def test_text_that_a_firewall_refuses_fails_alone() -> None:
    """R10 R13 R35: its 403 with a page is that of a wrong setting, but a harmless text passes."""
    with ModelServer() as server:
        settings = make_target(base_url=f"{server.origin}/v1")
        embedder = make_embedder(settings, lambda _: "a key")
        pipeline = make_pipeline(embedders={"default": embedder})
        server.faults(Fault(FaultKind.HTML, status=403, marker=REFUSED))
        for number in range(DOCUMENTS):
            write(pipeline, f"good {number}", f"text {number}")
        write(pipeline, "bad", f"a {REFUSED} that is refused")
        pipeline.drain()

    assert {row(pipeline, f"good {number}").status for number in range(DOCUMENTS)} == {
        Status.COMPLETED
    }
    bad = row(pipeline, "bad")
    assert (bad.status, bad.outcome.reason) == (
        Status.FAILED,
        "invalid_input: the provider answered 403",
    )
    assert pipeline.telemetry.metrics["BreakerOpened"] == 0
