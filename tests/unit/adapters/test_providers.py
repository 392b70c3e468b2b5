"""The provider seam: every provider that a stage may name has an embedder with its limits."""

from typing import get_args

import pytest

from functions.adapters.openai_limits import can_shorten
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
    ("provider", "model", "expected"),
    [
        ("openai", "text-embedding-3-small", True),
        ("azure", "a-deployment-of-any-name", True),
        ("openai", "text-embedding-ada-002", False),
        ("compatible", "text-embedding-3-small", False),
    ],
)
def test_shorter_vectors_are_asked_for_only_where_the_provider_can(
    provider: str, model: str, expected: bool
) -> None:
    """R14: others refuse the parameter."""
    assert can_shorten(provider, model) is expected
