"""The functions' variables fit into what Lambda allows, or the stage is refused at synth."""

from pathlib import Path
from typing import Any

import pytest

from infrastructure.app import pipeline_app
from infrastructure.config.parser import parse_stages
from infrastructure.environment_limit import bytes_of, expected_environments
from infrastructure.function_code import PLACEHOLDER
from tests.infrastructure.stages import ARTICLES, STAGE, mistakes, stage_with
from tests.infrastructure.synthesized import CONTEXT


def test_environment_over_four_kilobytes_is_refused_at_synth() -> None:
    """R01: Lambda's limit, before the deployment meets it."""
    stage = stage_with(((*ARTICLES, "text"), "{body}" + "x" * 3500))

    (enqueue, embed, sweep, backfill) = mistakes(stage)

    assert enqueue.startswith(
        "cdk.json: stages.dev.sources: the environment of enqueue takes about"
    )
    assert enqueue.endswith(
        ": Lambda allows 4096: use fewer sources, targets and retry.types, or shorter names"
    )
    assert "the environment of embed of target default takes about" in embed
    assert "the environment of sweep takes about" in sweep
    assert "the environment of backfill takes about" in backfill


@pytest.mark.parametrize(
    ("targets", "sources", "fits"), [(6, 1, True), (8, 1, False), (1, 15, True), (1, 40, False)]
)
def test_stage_has_room_for_some_targets_and_sources(
    targets: int, sources: int, fits: bool
) -> None:
    """R14: as many as the README says."""
    names = [f"target-{letter}" for letter in "abcdefgh"[:targets]]
    source = {"key": {"id": "S"}, "text": "{title} {body}", "targets": names}
    both = [first + second for first in "abcd" for second in "abcdefghij"]
    stage = stage_with(
        (("sources",), {f"source-{name}": source for name in both[:sources]}),
        (("targets",), dict.fromkeys(names, STAGE["targets"]["default"])),
    )

    if fits:
        assert set(parse_stages({"prod": stage})["prod"].targets) == set(names)
    else:
        assert "the environment of" in mistakes(stage)[0]


def test_no_environment_is_larger_than_expected(tmp_path: Path) -> None:
    """R01: with the longest names, and with those of AWS as long as CloudFormation makes them."""
    name = "a" * 32
    key = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:" + "k" * 300 + "-AbCdEf"
    model = STAGE["targets"]["default"]
    source = {"key": {"id": "S"}, "text": "{body}", "targets": [name, "b"]}
    stage = stage_with(
        (("sources",), {name: source, "b": {**source, "ordering": "sequential"}}),
        (("targets",), {name: model, "b": {**model, "api_key_secret_arn": key}}),
        (("opensearch",), {"domain": {}}),
    )
    long = "s" * 20
    context = {**CONTEXT, "stages": {long: stage}}
    [stack] = pipeline_app(context, code=PLACEHOLDER, outdir=tmp_path).synth().stacks
    resources = stack.template["Resources"]
    made = {
        "AWS::DynamoDB::Table": f"embedq-{long}-{{}}-1ABCDEFGHIJKL",
        "AWS::S3::Bucket": "x" * 63,
        "AWS::Lambda::Function": "x" * 64,
        "AWS::Lambda::EventSourceMapping": "x" * 36,
        "AWS::SQS::Queue": "https://sqs.ap-southeast-1.amazonaws.com/123456789012/{QueueName}",
        "AWS::SecretsManager::Secret": "arn:aws-us-gov:secretsmanager:us-gov-west-1:123456789012"
        ":secret:{}-1ABCDEFGHIJKL-AbCdEf",
        "AWS::OpenSearchService::Domain": "search-{DomainName}-" + "x" * 26
        + ".ap-southeast-1.es.amazonaws.com",
    }  # fmt: skip

    def value(part: Any) -> str:
        match part:
            case str():
                return part
            case {"Fn::Join": [str(between), [*parts]]}:
                return between.join(map(value, parts))
            case {"Ref": str(id_)} | {"Fn::GetAtt": [str(id_), *_]}:
                properties = resources[id_].get("Properties", {})
                return made[resources[id_]["Type"]].format(id_, **properties)
        raise TypeError(part)

    environments = [
        {key: value(part) for key, part in one["Properties"]["Environment"]["Variables"].items()}
        for one in resources.values()
        if one["Type"] == "AWS::Lambda::Function"
    ]
    expected = expected_environments(long, parse_stages({long: stage})[long])
    for service in ("enqueue", "embed", "sweep", "breaker", "backfill"):
        actual = [
            bytes_of(one) for one in environments if one["POWERTOOLS_SERVICE_NAME"] == service
        ]
        most = [bytes_of(one) for name, one in expected.items() if name.split()[0] == service]
        assert len(actual) == len(most)
        for found, limit in zip(sorted(actual), sorted(most), strict=True):
            # Not below, and not so far above that a stage is refused in vain.
            assert limit - 120 <= found <= limit, service


def test_environment_of_breaker_is_measured_too() -> None:
    """R25: its variables name every target's function and mappings."""
    names = [f"target-{letter}" for letter in "abcdefghijklmno"]
    stage = stage_with(
        ((*ARTICLES, "targets"), names),
        (("targets",), dict.fromkeys(names, STAGE["targets"]["default"])),
    )

    found = mistakes(stage)
    assert [one for one in found if "the environment of breaker takes about" in one]
