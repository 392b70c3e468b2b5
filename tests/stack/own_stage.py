"""A stage as its user has written it: three sources, three targets, one source sequential."""

import json
from dataclasses import replace
from pathlib import Path

from infrastructure.names import pascal
from local.stages import ChosenStage
from ops.deployment import Deployment
from ops.stack import local_deployment

OWN = ChosenStage(Path(__file__).with_name("own_stage.json"), "own")
OTHERS = [
    *(pascal("source", name) for name in ("messages", "parts")),
    *(pascal("target", name) for name in ("bedrock", "large")),
]
# Tests share the stack and break its provider: its breaker never opens, as nothing would close it.
CALM_BREAKER = {"least_requests": 10_000}


def articles_only(endpoint_url: str) -> Deployment:
    """Return the stack as if it had the source articles and the target default alone."""
    whole = local_deployment(endpoint_url, OWN.stack)
    outputs = {
        name: value
        for name, value in whole.outputs.items()
        if not name.startswith(tuple(OTHERS)) and "SequentialMessages" not in name
    }
    settings = pascal("target", "default", "settings")
    calm = {**json.loads(outputs[settings]), "breaker": CALM_BREAKER}
    return replace(whole, outputs={**outputs, settings: json.dumps(calm)})
