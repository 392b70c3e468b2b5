"""The provider seam: every provider that a stage may name has an embedder with its limits."""

from typing import get_args

import pytest

from functions.adapters.openai_limits import sends_dimensions
from functions.adapters.providers import make_embedder
from functions.core.settings import TargetSettings
from tests.builders import make_target

PROVIDERS = get_args(TargetSettings.model_fields["provider"].annotation)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_has_an_embedder_that_declares_its_limits(provider: str) -> None:
    """R09 R14: requests are packed by what the provider takes."""
    limits = make_embedder(make_target(provider=provider), lambda _: "key").limits

    assert (limits.inputs_per_request, limits.tokens_per_request) == (2048, 300_000)
    assert (limits.tokens_per_input, limits.bytes_per_token) == (8192, 4)


@pytest.mark.parametrize(
    ("provider", "model", "given", "expected"),
    [
        ("openai", "text-embedding-3-small", None, True),
        ("azure", "a-deployment-of-any-name", None, True),
        ("azure", "a-deployment-of-any-name", False, False),
        ("openai", "text-embedding-ada-002", None, False),
        ("compatible", "text-embedding-3-small", None, False),
        ("compatible", "text-embedding-3-small", True, True),
    ],
)
def test_dimensions_are_asked_for_only_where_the_provider_can(
    provider: str, model: str, given: bool | None, expected: bool
) -> None:
    """R14 R17: others refuse the parameter; the setting decides where it is given."""
    target = make_target(provider=provider, model=model, send_dimensions=given)

    assert sends_dimensions(target) is expected


def test_inputs_of_a_request_are_those_of_the_setting() -> None:
    """R09 R17: a server that takes 32 texts is never sent more."""
    target = make_target(provider="compatible", inputs_per_request=32)

    assert make_embedder(target, lambda _: "key").limits.inputs_per_request == 32
