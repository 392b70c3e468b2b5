"""The provider seam: every provider that a stage may name has an embedder with its limits."""

import subprocess
import sys
from typing import get_args

import pytest

from functions.adapters.openai_limits import sends_dimensions
from functions.adapters.providers import make_embedder
from functions.core.settings import TargetSettings
from tests.builders import make_target

PROVIDERS = get_args(TargetSettings.model_fields["provider"].annotation)


OPENAI = (2048, 300_000, 8192, None)
LIMITS = {
    ("openai", "text-embedding-3-small"): OPENAI,
    ("azure", "a-deployment"): OPENAI,
    ("compatible", "any"): OPENAI,
    ("bedrock", "cohere.embed-v4:0"): (96, 128_000, 128_000, None),
    ("bedrock", "us.cohere.embed-v4:0"): (96, 128_000, 128_000, None),
    ("bedrock", "cohere.embed-english-v3"): (96, 49_152, 512, 2048),
    ("bedrock", "amazon.titan-embed-text-v2:0"): (32, 65_536, 8192, 50_000),
}


def test_limits_are_those_of_every_provider() -> None:
    """R17: a new provider is in the list below."""
    assert {provider for provider, _ in LIMITS} == set(PROVIDERS)


@pytest.mark.parametrize(("target", "expected"), LIMITS.items(), ids=str)
def test_every_provider_has_an_embedder_that_declares_its_limits(
    target: tuple[str, str], expected: tuple[int | None, ...]
) -> None:
    """R09 R14 R17: requests are packed by what the provider takes."""
    provider, model = target
    limits = make_embedder(make_target(provider=provider, model=model), lambda _: "key").limits

    assert expected == (
        limits.inputs_per_request,
        limits.tokens_per_request,
        limits.tokens_per_input,
        limits.bytes_per_input,
    )
    assert limits.bytes_per_token == 4


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
    for provider, model in (("compatible", "any"), ("bedrock", "cohere.embed-v4:0")):
        target = make_target(provider=provider, model=model, inputs_per_request=16)

        assert make_embedder(target, lambda _: "key").limits.inputs_per_request == 16


@pytest.mark.parametrize(
    ("provider", "model", "foreign"),
    [
        ("bedrock", "cohere.embed-v4:0", "openai"),
        ("openai", "text-embedding-3-small", "functions.adapters.bedrock_embedder"),
    ],
)
def test_only_the_sdk_of_the_own_provider_is_imported(
    provider: str, model: str, foreign: str
) -> None:
    """R17: a cold start waits for no other one."""
    program = f"""
import sys
from functions.adapters.providers import make_embedder
from tests.builders import make_target
make_embedder(make_target(provider={provider!r}, model={model!r}), lambda _: "key")
sys.exit({foreign!r} in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
