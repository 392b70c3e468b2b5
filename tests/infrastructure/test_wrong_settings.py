"""Hundreds of wrong settings, each refused with a line that a person can act on."""

import json
from importlib.resources import files
from typing import Any

import pytest
from aws_cdk import aws_opensearchservice as opensearch

from infrastructure.config.instance_types import FAMILIES, INSTANCE_TYPES
from infrastructure.config.mistakes import ConfigError
from infrastructure.config.opensearch import VERSIONS
from infrastructure.config.parser import parse_stages
from tests.infrastructure.stages import STAGE, stage_with
from tests.infrastructure.wrong_settings import (
    DOMAIN,
    ENDPOINT,
    PAGE,
    Changes,
    cases,
    lines_of,
    page,
    shown,
)

CASES = [*cases()]


@pytest.mark.parametrize("changes", CASES, ids=map(shown, CASES))
def test_wrong_setting_is_refused_with_its_path_and_what_is_allowed(changes: Changes) -> None:
    """R01: no traceback, no secret, and never nothing."""
    lines = lines_of(changes)

    assert lines
    for line in lines:
        file, path, wrong, allowed = line.split(": ", 3)
        assert file == "cdk.json"
        assert path.startswith("stages.dev")
        assert wrong
        assert allowed.strip()
        assert "secret@" not in line


def test_every_line_is_the_one_that_was_read_and_found_good() -> None:
    """R01: hundreds of settings with their lines; rewritten by the command in the module."""
    assert len(CASES) >= 300
    assert page() == PAGE.read_text()


def stages_mistakes(stages: dict[str, Any]) -> list[str]:
    """Return the lines of several stages."""
    with pytest.raises(ConfigError) as caught:
        parse_stages(stages)
    return str(caught.value).splitlines()


def test_two_stages_never_share_a_queue() -> None:
    """R84: stage and target make one name, which two pairs could spell alike."""
    model = STAGE["targets"]["default"]
    here = stage_with(
        (("targets",), {"x-default": model}), (("sources", "articles", "targets"), ["x-default"])
    )
    there = stage_with((("opensearch",), {"endpoint": "https://other.example.com"}))

    assert stages_mistakes({"dev": here, "dev-x": there}) == [
        "cdk.json: stages.dev-x.targets.default: queue embedq-dev-x-default-dead-letters.fifo is"
        " that of stages.dev.targets.x-default too: use another name"
    ]


def test_two_stages_never_share_an_index() -> None:
    """R14: one endpoint, one index name, two stages; a domain of its own has its own names."""
    one = stage_with((("targets", "default", "index"), "mine"))
    own = stage_with((("targets", "default", "index"), "mine"), (("opensearch",), {"domain": {}}))

    assert stages_mistakes({"dev": one, "test": one}) == [
        'cdk.json: stages.test.targets.default.index: index "mine" is that of'
        " stages.dev.targets.default.index too: use another name"
    ]
    assert set(parse_stages({"dev": one, "test": own, "next": own})) == {"dev", "test", "next"}


def test_name_of_a_role_is_never_too_long() -> None:
    """R02: stage, target and region make it, where a domain has to know it."""
    name = "x" * 32
    changes = (
        (("sources", "articles", "targets"), [name]),
        (("targets",), {name: STAGE["targets"]["default"]}),
    )
    existing = (("opensearch",), {"endpoint": ENDPOINT, "domain_arn": DOMAIN})
    role = f"embedq-test-embed-{name}-ap-southeast-1"

    assert stages_mistakes({"test": stage_with(*changes, existing)}) == [
        f"cdk.json: stages.test.targets.{name}: its role {role} has 65 characters: at most 64:"
        " use a shorter name"
    ]
    assert parse_stages({"test": stage_with(*changes)})


def test_versions_are_those_of_the_installed_cdk() -> None:
    """R84: what OpenSearch Service does not offer is refused before a deployment."""
    known = [
        (int(major), int(minor))
        for name in dir(opensearch.EngineVersion)
        if name.startswith("OPENSEARCH_")
        for major, minor in [name.removeprefix("OPENSEARCH_").split("_")]
    ]
    supported = [f"OpenSearch_{major}.{minor}" for major, minor in sorted(known)]

    assert list(VERSIONS) == supported[supported.index("OpenSearch_2.11") :]


def test_instance_types_are_those_that_cfn_lint_knows() -> None:
    """R84: of each family that has encrypted gp3 volumes, every size that is offered anywhere."""
    schema = "data/schemas/extensions/aws_opensearchservice_domain"
    by_region = json.loads(
        files("cfnlint").joinpath(schema, "clusterconfig_instancetype_enum.json").read_text()
    )
    # Some regions only name another one with the same types.
    lists = [region["enum"] for region in by_region.values() if isinstance(region, dict)]
    known = {name for types in lists for name in types}

    assert set(INSTANCE_TYPES) == {name for name in known if name.split(".")[0] in FAMILIES}
