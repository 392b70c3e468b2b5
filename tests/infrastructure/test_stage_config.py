"""Mistakes in cdk.json: one line each, with the key's path and what is allowed."""

from typing import Any

import pytest

from functions.core.settings import SourceOptions, TargetOptions
from infrastructure.config.mistakes import ConfigError
from infrastructure.config.parser import parse_stages
from infrastructure.config.source import SourceConfig
from infrastructure.config.target import TargetConfig
from tests.infrastructure.stages import ARTICLES, DEFAULT, STAGE, mistakes, stage_with

TABLE = "arn:aws:dynamodb:eu-west-1:123456789012:table/Articles"


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (
            (*ARTICLES, "keys"),
            {"id": "S"},
            "sources.articles.keys: unknown key: did you mean key?",
        ),
        (
            ("opensearch", "domain"),
            {"zebra": 1},
            "opensearch.domain.zebra: unknown key: allowed are dedicated_masters, instance_count,"
            " instance_type, version, volume_gb",
        ),
        (
            (*ARTICLES, "key"),
            {},
            "sources.articles.key: {} is not allowed: the table's partition key, then its sort key"
            ' if it has one, each with its type S, N or B, such as {"id": "S"}',
        ),
        (
            (*ARTICLES, "key"),
            {"id": "String"},
            'sources.articles.key.id: "String" is not allowed: the table\'s partition key, then its'
            ' sort key if it has one, each with its type S, N or B, such as {"id": "S"}',
        ),
        (
            (*ARTICLES, "text"),
            "plain words",
            "sources.articles.text: names no attribute: attribute names in braces, at least one,"
            ' such as "{title}\\n\\n{body}"',
        ),
        (
            (*ARTICLES, "text"),
            "{title",
            "sources.articles.text: has a brace without its partner:"
            ' attribute names in braces, at least one, such as "{title}\\n\\n{body}"',
        ),
        (
            (*ARTICLES, "text"),
            "{title!r}",
            "sources.articles.text: holds braces that are not just an attribute name:"
            ' attribute names in braces, at least one, such as "{title}\\n\\n{body}"',
        ),
        (
            (*ARTICLES, "ordering"),
            "sequental",
            'sources.articles.ordering: "sequental" is not allowed: parallel or sequential;'
            " did you mean sequential?",
        ),
        (
            (*ARTICLES, "targets"),
            ["defualt"],
            'sources.articles.targets: "defualt" is no target of this stage: one of default;'
            " did you mean default?",
        ),
        (
            (*ARTICLES, "targets"),
            ["default", "default"],
            "sources.articles.targets: names a target twice: each target once",
        ),
        (
            (*ARTICLES, "metadata"),
            {"author": "string"},
            'sources.articles.metadata.author: "string" is not allowed: attributes of letters,'
            " digits, _ and -, each with its type keyword, text, long, double, boolean or date",
        ),
        (
            (*ARTICLES, "table"),
            {"arn": TABLE},
            "sources.articles.table.stream_arn: is missing: the table's LatestStreamArn,"
            " .../table/<name>/stream/<label>, best of view type NEW_IMAGE; a table without a"
            " stream gets one by aws dynamodb update-table",
        ),
        (
            (*ARTICLES, "table"),
            {"arn": TABLE, "stream_arn": f"{TABLE}Old/stream/2026"},
            "sources.articles.table.stream_arn: is the stream of another table:"
            f" it begins with {TABLE}/stream/",
        ),
        (
            ("sources", "My Articles"),
            {"key": {"id": "S"}, "text": "{body}"},
            'sources.My Articles: "My Articles" is not allowed: at least one, by its'
            " name: lower-case words joined by hyphens, each begins with a letter, at most 32"
            " characters",
        ),
        (
            (*DEFAULT, "dimensions"),
            2000,
            "targets.default.dimensions: 2000 is not allowed: text-embedding-3-small: 1 to 1536",
        ),
        (
            DEFAULT,
            {"model": "text-embedding-ada-002", "dimensions": 512},
            "targets.default.dimensions: 512 is not allowed: text-embedding-ada-002: only 1536",
        ),
        (
            DEFAULT,
            {
                "model": "text-embedding-3-small",
                "dimensions": 512,
                "provider": "compatible",
                "base_url": "https://gateway.example.com/v1",
            },
            "targets.default.dimensions: 512 is not allowed: text-embedding-3-small of provider"
            " compatible: only 1536",
        ),
        (
            DEFAULT,
            {
                "model": "house-model",
                "provider": "compatible",
                "base_url": "https://gateway.example.com/v1",
            },
            "targets.default.dimensions: is missing:"
            " the length of a vector of house-model, 1 to 16000",
        ),
        (
            DEFAULT,
            {"model": "house-model", "dimensions": 8, "provider": "compatible"},
            "targets.default.base_url: is missing: provider compatible needs an address",
        ),
        (
            (*DEFAULT, "base_url"),
            "http://example.com/v1",
            'targets.default.base_url: "http://example.com/v1" is not allowed:'
            " an https address (http only for localhost)",
        ),
        (
            (*DEFAULT, "api_version"),
            "2024-10-21",
            "targets.default.api_version: does not go with this provider:"
            " provider azure needs it, others not",
        ),
        (
            (*DEFAULT, "concurrency"),
            {"high": 1},
            "targets.default.concurrency.high: 1 is not allowed: 2 to 1000 calls of embed at once",
        ),
        (
            (*DEFAULT, "reserved_concurrency"),
            20,
            "targets.default.reserved_concurrency: 20 is less than the lanes' concurrency"
            " and a probe: at least 28, the sum of the lanes and 1, or leave it out",
        ),
        (
            (*DEFAULT, "timeout_seconds"),
            "120",
            'targets.default.timeout_seconds: "120" has the wrong type: 60 to 900 for a run of'
            " embed",
        ),
        (
            (*DEFAULT, "bulk"),
            {"batch_size": 500, "window_seconds": 0},
            "targets.default.bulk.window_seconds: 0 does not go with a batch_size of 500:"
            " 1 to 300 when batch_size is above 10",
        ),
        (
            (*DEFAULT, "bulk"),
            {"batch_size": 1001},
            "targets.default.bulk.batch_size: 1001 is not allowed: 1 to 1000 tasks a call",
        ),
        (
            (*DEFAULT, "tokens_per_request"),
            100,
            "targets.default.tokens_per_request: 100 holds not even one chunk:"
            " 400 (chunk_tokens) to 300000",
        ),
        (
            (*DEFAULT, "tokens_per_request"),
            300_001,
            "targets.default.tokens_per_request: 300001 is more than the provider takes:"
            " 400 (chunk_tokens) to 300000",
        ),
        (
            (*DEFAULT, "chunk_tokens"),
            8193,
            "targets.default.chunk_tokens: 8193 is more than the provider takes as one input:"
            " 16 to 8192",
        ),
        (
            (*DEFAULT, "api_key_secret_arn"),
            "sk-123",
            'targets.default.api_key_secret_arn: "sk-123" is not allowed: the whole ARN of a'
            " secret, with its six last characters, or left out: the stack makes one",
        ),
        (
            ("targets", "idle"),
            {"model": "text-embedding-3-small"},
            "targets.idle: no source feeds it: name it in a source's targets",
        ),
        (
            ("opensearch",),
            {},
            "opensearch: needs exactly one of two: endpoint (existing) or domain (made)",
        ),
        (
            ("opensearch",),
            {"domain": {"instance_count": 5}},
            "opensearch.domain.instance_count: 5 does not spread over zones:"
            " 1, or a multiple of 2 or 3",
        ),
        (
            ("opensearch",),
            {"domain": {}, "domain_arn": "arn:aws:es:eu-west-1:123456789012:domain/mine"},
            "opensearch.domain_arn: does not go with domain: only with endpoint",
        ),
        (
            ("opensearch", "endpoint"),
            "http://search.example.com",
            'opensearch.endpoint: "http://search.example.com" is not allowed:'
            " an https address (http only for localhost) without a path",
        ),
        (
            ("opensearch", "endpoint"),
            "https://abc123.eu-west-1.aoss.amazonaws.com",
            "opensearch.endpoint: is a serverless collection, whose vector type refuses document"
            " ids of our own: an OpenSearch domain",
        ),
        (
            ("opensearch", "endpoint"),
            "https://vpc-mine-abc123.eu-west-1.es.amazonaws.com",
            "opensearch.domain_arn: is missing: the ARN of the domain behind the endpoint",
        ),
        (
            ("opensearch", "endpoint"),
            "https://search-mine-abc123.eu-west-1.es.amazonaws.com",
            "opensearch.domain_arn: is missing: the ARN of the domain behind the endpoint",
        ),
        (
            ("removal",),
            "delete",
            'removal: "delete" is not allowed:'
            " retain or destroy (what happens to data when the stack is deleted; tables of sources"
            " stay)",
        ),
        (
            ("log_retention_days",),
            8,
            "log_retention_days: 8 is not allowed: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365,"
            " 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653",
        ),
        (
            ("alarm_emails",),
            {"warning": ["no-address"]},
            'alarm_emails.warning.0: "no-address" is not allowed: a list of email addresses',
        ),
        (
            ("stuck_hours",),
            0,
            "stuck_hours: 0 is not allowed:"
            " 1 to 720; a task without news for so long is sent again",
        ),
        (
            ("completion_events",),
            "no",
            'completion_events: "no" has the wrong type:'
            " true or false (whether each document's end is sent to the event bus)",
        ),
        (
            ("enabled",),
            "yes",
            'enabled: "yes" has the wrong type:'
            " true or false (whether streams and lanes are read and schedules run)",
        ),
        (("sources",), [], "sources: [] has the wrong type: at least one, by its name:"
         " lower-case words joined by hyphens, each begins with a letter, at most 32 characters"),
    ],
)  # fmt: skip
def test_mistake_gets_one_line_with_its_path_and_what_is_allowed(
    path: tuple[str, ...], value: Any, line: str
) -> None:
    """R01: `cdk.json` mistakes fail synth in one readable line each."""
    stage = stage_with((path, value))
    if path == ("opensearch", "domain"):
        del stage["opensearch"]["endpoint"]

    assert mistakes(stage) == [f"cdk.json: stages.dev.{line}"]


def test_all_mistakes_are_named_at_once() -> None:
    """R01: one synth names every mistake of a file."""
    stage = stage_with(
        ((*ARTICLES, "key"), "id"), ((*DEFAULT, "modle"), "x"), (("removal",), "never")
    )

    assert [line.split(": ")[1] for line in mistakes(stage)] == [
        "stages.dev.sources.articles.key",
        "stages.dev.targets.default.modle",
        "stages.dev.removal",
    ]


def test_metadata_of_one_target_has_one_type_for_a_field() -> None:
    """R14: two sources of a target share its index mapping."""
    stage = stage_with(
        ((*ARTICLES, "metadata"), {"year": "long"}),
        (("sources", "notes"), {"key": {"id": "S"}, "text": "{t}", "metadata": {"year": "date"}}),
    )

    assert mistakes(stage) == [
        "cdk.json: stages.dev.sources.notes.metadata.year: is date here and long in articles,"
        " and both feed default: one type for a field of one target"
    ]


def test_each_source_has_a_table_of_its_own() -> None:
    """R02: a record says which source it is of."""
    table = {"arn": TABLE, "stream_arn": f"{TABLE}/stream/2026"}
    stage = stage_with(
        ((*ARTICLES, "table"), table),
        (("sources", "notes"), {"key": {"id": "S"}, "text": "{t}", "table": table}),
    )

    assert mistakes(stage) == [
        "cdk.json: stages.dev.sources.notes.table.arn: source articles has a table of this name:"
        " each table name once",
    ]


def test_sequential_sources_fit_behind_one_dead_letter_queue() -> None:
    """R33: a DLQ accepts ten queues; the reserve counts each sequential source too."""
    source = {"key": {"id": "S"}, "text": "{t}", "ordering": "sequential"}
    nine = [(("sources", f"s{letter}"), source) for letter in "abcdefghi"]

    lines = mistakes(stage_with(*nine, ((*DEFAULT, "reserved_concurrency"), 27)))

    assert lines == [
        "cdk.json: stages.dev.targets.default.reserved_concurrency: 27 is less than the lanes'"
        " concurrency and a probe: at least 46, the sum of the lanes and 1, or leave it out",
        "cdk.json: stages.dev.targets.default: 9 sequential sources feed it: at most 8 of them",
    ]


def test_names_that_make_a_queue_name_too_long_are_named() -> None:
    """R33: SQS takes 80 characters, also for the longest lane."""
    name = "a" * 32
    source = {"key": {"id": "S"}, "text": "{t}", "ordering": "sequential", "targets": [name]}
    stage = stage_with(
        (("sources", name), source), (("targets", name), STAGE["targets"]["default"])
    )

    assert mistakes(stage) == [
        f"cdk.json: stages.dev.sources.{name}: its queue embedq-dev-{name}-sequential-{name}.fifo"
        " has 92 characters: at most 80: use a shorter name"
    ]


def test_target_takes_no_name_that_the_ledger_uses_itself() -> None:
    """R28: a row's key begins with its target's name, and other items stand beside the rows."""
    stage = stage_with(
        ((*ARTICLES, "targets"), ["control"]),
        (("targets",), {"control": STAGE["targets"]["default"]}),
    )

    assert mistakes(stage) == [
        "cdk.json: stages.dev.targets.control: is a name of embedq's own: any name but control"
    ]


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (None, "cdk.json: stages: is missing or empty: {<stage name>: {...}}"),
        (
            {"Dev": STAGE},
            "cdk.json: stages.Dev: is not a stage name:"
            " a letter, then letters, digits and hyphens, lower-case, at most 20",
        ),
        ({"dev": 3}, "cdk.json: stages.dev: 3 has the wrong type: an object"),
    ],
)
def test_stages_that_are_none_are_refused(raw: Any, line: str) -> None:
    """R01: also a file without stages gets its line."""
    with pytest.raises(ConfigError) as caught:
        parse_stages(raw)

    assert str(caught.value) == line


def test_good_stage_has_defaults_for_the_rest() -> None:
    """R01: a stage is three short sections."""
    config = parse_stages({"dev": STAGE})["dev"]

    assert config.reserve_of("default") == 28
    assert config.workers_of("default") == 27
    assert config.targets["default"].vector_dimensions == 1536
    assert config.removal == "retain"


def test_setting_that_functions_read_stands_in_one_class() -> None:
    """R01: default, bounds and help once; a stage's policies only add the presets by name."""
    assert set(SourceConfig.__annotations__) & set(SourceOptions.model_fields) == set()
    assert set(TargetConfig.__annotations__) & set(TargetOptions.model_fields) == {"retry"}
