"""Settings that are refused, each with its lines: `python -m tests.infrastructure.wrong_settings`.

The command writes wrong_settings.txt; the test compares it with what the parser says today.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infrastructure.config.mistakes import ConfigError
from infrastructure.config.parser import parse_stages
from tests.infrastructure.stages import stage_with

PAGE = Path(__file__).with_suffix(".txt")
Changes = tuple[tuple[str, Any], ...]

_REGION = "arn:aws:{}:eu-west-1:123456789012:"
TABLE = _REGION.format("dynamodb") + "table/Articles"
STREAM = f"{TABLE}/stream/2026-01-01T00:00:00.000"
SECRET = _REGION.format("secretsmanager") + "secret:key-AbCdEf"
KEY = _REGION.format("kms") + "key/0b0b2b6e-5a3c-4a3e-9b1f-000000000000"
DOMAIN = _REGION.format("es") + "domain/mine"
ENDPOINT = "https://search-mine-abc123.eu-west-1.es.amazonaws.com"
VPC = {
    "id": "vpc-01234567",
    "subnets": ["subnet-01234567"],
    "security_groups": ["sg-01234567"],
    "endpoints": "exist",
}
SOURCE = "sources.articles"
TARGET = "targets.default"
LARGE = 10**12

# Each value of a setting is a case of its own.
VALUES: dict[str, list[Any]] = {
    # A whole stage
    "sources": [None, [], {}, "articles", 3],
    "targets": [None, [], {}, "default", True],
    "opensearch": [
        None, [], {}, "https://search.example.com", {"endpoint": None}, {"domian": {}},
        {"endpoint": "https://search.example.com", "domain": {}},
        {"domain": {}, "domain_arn": DOMAIN},
    ],
    "removal": [None, "delete", "Retain", "destory", True, ["retain"]],
    "log_retention_days": [0, 2, 8, -1, "7", True, False, None, LARGE, 3.5],
    "log_level": ["info", "WARN", "DEBGU", 10, None],
    "alarm_emails": [
        ["team@example.com"], {"warning": "team@example.com"}, {"warning": ["no-address"]},
        {"critcal": []}, {"critical": ["a@example.com", "A@example.com"]},
        {"warning": ["a@example.com\n"]}, {"warning": ["a b@example.com"]}, {"warning": [None]},
    ],
    "completion_events": ["no", 1, None, "true"],
    "stuck_hours": [0, -1, 721, "24", None, True],
    "verify": [None, 7],
    "verify.days": [-1, 91, "seven", True],
    "verify.repair": ["yes"],
    "retention.completed_rows": [0, 3651],
    "retention.dead_letters": [0, 15],
    "retention.stash": [1, 31],
    "retention.failed_changes": [0],
    "retention.jobs": [0, "long"],
    "encryption_key_arn": [
        "", "alias/mine", KEY.replace("key/", "alias/"), f"{KEY[:-4]}*", 3,
        _REGION.format("kms").replace("aws:", "aws-cn:").replace("eu-west-1", "cn-north-1")
        + "key/0b0b2b6e",
    ],
    "account_concurrency": [0, 109, 100_001, "1000", None],
    "enabled": ["yes", 0, None],
    "remval": ["retain"],
    "Sources": [{}],
    "alarm_email": [{}],
    "tags": [{}],
    # Names
    "sources.My Articles": [{"key": {"id": "S"}, "text": "{body}"}],
    "sources.1a": [{"key": {"id": "S"}, "text": "{body}"}],
    "sources.a-1": [{"key": {"id": "S"}, "text": "{body}"}],
    "sources.a_b": [{"key": {"id": "S"}, "text": "{body}"}],
    "targets.Default": [{"model": "text-embedding-3-small"}],
    "targets.x-1": [{"model": "text-embedding-3-small"}],
    f"targets.{'x' * 33}": [{"model": "text-embedding-3-small"}],
    "targets.idle": [{"model": "text-embedding-3-small"}],
    "targets.control": [{"model": "text-embedding-3-small"}],
    # A source
    SOURCE: [None, [], {}, {"key": {"id": "S"}}, {"text": "{body}"}],
    f"{SOURCE}.keys": [{"id": "S"}],
    f"{SOURCE}.Text": ["{body}"],
    f"{SOURCE}.order": ["parallel"],
    f"{SOURCE}.key": [
        "id", [], {}, {"id": "String"}, {"id": "s"}, {"id": None}, {"": "S"},
        {"a": "S", "b": "S", "c": "S"}, {"ä" * 128: "S"}, {"a\x00": "S"}, {"x" * 256: "S"},
    ],
    f"{SOURCE}.chunk_prefix": ["no attribute", "{title", 1],
    f"{TARGET}.document_prefix": ["x" * 65, None],
    f"{TARGET}.document_extra_body": [
        [], "input_type", None, {"model": "other"}, {"dimensions": 3, "input": []},
    ],
    f"{TARGET}.query_extra_body": [3, {"encoding_format": "float"}],
    f"{TARGET}.headers": [
        [], {"x-team": 3}, {"x team": "a"}, {"x-team": "a\nb"}, {"x-team": "ü"}, {"x-team": ""},
        {"Authorization": "Bearer key"}, {"X-Api-Key": "key"}, {"Host": "example.com"},
    ],
    f"{TARGET}.encoding_format": ["base65", None, "Float"],
    f"{TARGET}.send_dimensions": ["yes", 1],
    f"{TARGET}.inputs_per_request": [0, 2049, "32"],
    f"{TARGET}.max_bytes_per_token": [0, 33, "8", None],
    f"{SOURCE}.text": [
        "", "plain words", "{title", "title}", "{}", "{title!r}", "{title:>10}", "{title.name}",
        "{ title }", "{0}", "{tags[0]}", "{title }", "{body}\x00", "{body}\ud800", None, 7,
    ],
    f"{SOURCE}.type_attribute": ["", "x" * 256, 3, "ty\npe"],
    f"{SOURCE}.default_type": ["", None, 3],
    f"{SOURCE}.metadata": [
        [], {"author": "string"}, {"author": "Keyword"}, {"author": "dat"}, {"a.b": "text"},
        {"": "text"}, {"_id": "keyword"}, {"author": None},
    ],
    f"{SOURCE}.priority_attribute": ["", "type", 1],
    f"{SOURCE}.skip_attribute": ["", "type", True],
    f"{SOURCE}.ordering": ["sequental", "SEQUENTIAL", "paralel", "fifo", None],
    f"{SOURCE}.targets": [
        [], "default", ["defualt"], ["DEFAULT"], ["default", "default"], ["Default!"], [None],
    ],
    f"{SOURCE}.stream": [
        {"batch_size": 0}, {"batch_size": 1001}, {"window_seconds": 301}, {"window_seconds": -1},
        {"parallelization": 0}, {"parallelization": 11}, {"paralelization": 2},
        {"batch_size": "100"},
    ],
    f"{SOURCE}.table": [
        {}, {"arn": TABLE}, {"arn": "Articles", "stream_arn": STREAM},
        {"arn": TABLE, "stream_arn": f"{TABLE}/stream/*"},
        {"arn": TABLE, "stream_arn": f"{TABLE}Old/stream/2026"},
        {"arn": f"{TABLE}*", "stream_arn": STREAM},
        {"arn": TABLE, "stream_arn": STREAM, "encryption_key_arn": KEY.rpartition("/")[0] + "/*"},
        {"arn": TABLE, "stream_arn": STREAM, "encryption_key_arn": "alias/mine"},
        {
            "arn": TABLE, "stream_arn": STREAM,
            "encryption_key_arn": KEY.replace("eu-west-1", "us-east-1"),
        },
        {"arn": TABLE, "stream_arn": f"{STREAM}\n"},
        TABLE,
    ],
    # A target
    TARGET: [None, [], {}, "text-embedding-3-small"],
    f"{TARGET}.modle": ["text-embedding-3-small"],
    f"{TARGET}.Model": ["text-embedding-3-small"],
    f"{TARGET}.max_entry": [10],
    f"{TARGET}.provider": ["opnai", "OpenAI", "bedrock", None, "azure", "compatible"],
    f"{TARGET}.model": [
        "", None, 3, "text-embedding-3-smal", "text-embedding-3-Large", "gpt-5", "text-embedding-4",
    ],
    f"{TARGET}.dimensions": [0, -1, 1537, 2000, 16_001, "512", 512.5, True],
    f"{TARGET}.base_url": [
        "http://example.com/v1", "ftp://example.com", "example.com", "https://",
        "https://user:secret@example.com/v1", "https://secret@example.com",
        "https://example.com:abc/v1", "https://example.com:99999", "https://example.com/v1\n",
        "https://exa mple.com", "https://example.com/v1?api-key=secret", "https://example.com/#x",
        "https://[::1", "",
    ],
    f"{TARGET}.api_version": ["2024-10-21", ""],
    f"{TARGET}.api_key_secret_arn": [
        "sk-123", SECRET.removesuffix("-AbCdEf"), SECRET.replace("key-", "*-"), f"{SECRET}\n", "",
    ],
    f"{TARGET}.api_key_encryption_key_arn": [KEY, "alias/mine", KEY.rpartition("/")[0] + "/*"],
    f"{TARGET}.index": ["", "Articles", "_articles", "a b", "a/b", "x" * 201, "a*", 3],
    f"{TARGET}.shards": [0, 101, "3", None],
    f"{TARGET}.replicas": [-1, 11, "1"],
    f"{TARGET}.compression": ["8x", 4, "", None],
    f"{TARGET}.concurrency": [
        {"high": 1}, {"high": 1001}, {"normal": "10"}, {"hihg": 10}, {"bulk": 2.5}, 10,
        {"high": 1000, "normal": 1000, "bulk": 1000, "delete": 1000}, {"normal": 980},
    ],
    f"{TARGET}.reserved_concurrency": [0, 8, 20, 27, LARGE, 5000, "40"],
    f"{TARGET}.bulk": [
        {"batch_size": 0}, {"batch_size": 1001}, {"window_seconds": 301}, {"window_second": 1},
        {"batch_size": 500, "window_seconds": 0},
    ],
    f"{TARGET}.memory_mb": [127, 10_241, "1024", LARGE],
    f"{TARGET}.timeout_seconds": [59, 901, "120", 60.5],
    f"{TARGET}.chunk_tokens": [0, 15, 8193, LARGE, "400"],
    f"{TARGET}.max_chunks": [0, 10_001, None],
    f"{TARGET}.max_entry_mb": [0, 101, "10"],
    f"{TARGET}.tokens_per_request": [15, 100, 300_001, LARGE],
    f"{TARGET}.requests_per_minute": [0, 1, -5, LARGE],
    f"{TARGET}.tokens_per_minute": [0, 150_000, 539_999, LARGE],
    f"{TARGET}.budget": [
        [], {}, 5, {"tokens_per_day": 0}, {"tokens_per_day": 1.5}, {"tokens_per_day": "1"},
        {"tokens_per_day": 499}, {"usd_per_month": 0}, {"usd_per_month": -1}, {"live_share": 0.2},
        {"tokens_per_day": 1000, "live_share": 1}, {"tokens_per_day": 1000, "live_share": 0.7},
        {"token_per_day": 1000}, {"usd_per_month": float("nan")},
        {"tenant_tokens_per_day": 399}, {"tenant_tokens_per_day": 1000},
    ],
    f"{TARGET}.usd_per_million_tokens": [0, -0.02, "0.02", LARGE],
    f"{TARGET}.breaker": [
        {"window_seconds": 9}, {"window_seconds": 3601}, {"least_requests": 0},
        {"failure_ratio": 0}, {"failure_ratio": 1.5}, {"failure_ratio": float("nan")},
        {"probe_after_seconds": []}, {"probe_after_seconds": [0]}, {"lane_seconds": 0},
        {"lane_seconds": float("inf")}, {"probe_after": [30]}, {"Window_seconds": 60},
    ],
    f"{TARGET}.retry": [
        {"defualt": "quick"}, {"default": "quik"}, {"default": "Quick"}, {"default": "patiently"},
        {"default": 3}, {"default": None}, {"max_hide_seconds": 0}, {"max_hide_seconds": 901},
        {"max_hide_seconds": 721}, {"healing": {"hours": 49}}, {"healing": {"hours": 168}},
        {"healing": {"hours": -1}}, {"healing": {"after_seconds": []}}, {"healing": {"hour": 1}},
        {"types": []}, {"types": {"": "quick"}}, {"types": {"news": "fast"}},
        {"types": {"news": {"preset": "quick", "jiter": 0.1}}}, {"type": {}},
    ],
    f"{TARGET}.retry.default": [
        {"max_attempts": 0}, {"max_attempts": 101}, {"jitter": 1.5}, {"jitter": -0.1},
        {"strategy": "exponental"}, {"strategy": "LINEAR"}, {"base_seconds": -1},
        {"base_seconds": 10, "cap_seconds": 5}, {"cap_seconds": 604_801},
        {"strategy": "schedule"}, {"schedule_seconds": [1]},
        {"strategy": "schedule", "schedule_seconds": []}, {"kinds": {"timeot": {}}},
        {"kinds": {"TIMEOUT": {}}}, {"kinds": {"throttled": {}}},
        {"kinds": {"timeout": {"max_atempts": 3}}}, {"retryable": ["timeuot"]},
        {"retryable": ["invalid_input"]}, {"retryable": "timeout"},
        {"preset": "capped", "max_attempts": 9}, {"preset": "slow"},
    ],
    # OpenSearch
    "opensearch.endpoint": [
        "http://search.example.com", "search.example.com", "https://search.example.com/path",
        "https://search.example.com?x=1", "https://search.example.com:port",
        "https://user:secret@search.example.com", "https://search.example.com\n", "https://",
        "https://abc123.eu-west-1.aoss.amazonaws.com",
        "https://vpc-mine-abc123.eu-west-1.es.amazonaws.com", ENDPOINT, 3,
    ],
    "opensearch.endpiont": ["https://search.example.com"],
    "vpc": [
        [], "vpc-0123456789abcdef0", {}, {**VPC, "id": "0123456789abcdef0"}, {**VPC, "subnet": []},
        {**VPC, "id": "subnet-0123456789abcdef0"}, {**VPC, "subnets": []},
        {**VPC, "subnets": ["sg-0123456789abcdef0"]}, {**VPC, "subnets": "subnet-01234567"},
        {**VPC, "subnets": [f"subnet-{n:08x}" for n in range(17)]},
        {**VPC, "subnets": ["subnet-01234567", "subnet-01234567"]},
        {**VPC, "security_groups": []}, {**VPC, "security_groups": ["default"]},
        {**VPC, "security_groups": ["SG-01234567"]}, {**VPC, "security_group": ["sg-01234567"]},
        {**VPC, "endpoints": "made"}, {**VPC, "endpoints": "exists"}, {**VPC, "endpoints": True},
        {**VPC, "endpoints": "make"}, {**VPC, "route_tables": ["rtb-01234567"]},
        {**VPC, "endpoints": "make", "route_tables": ["subnet-01234567"]},
    ],
    "opensearch.domain_arn": ["mine", f"{DOMAIN}/*", DOMAIN.replace("es", "s3"), f"{DOMAIN}\n"],
}  # fmt: skip

DOMAIN_VALUES: dict[str, list[Any]] = {
    "version": [
        "2.19", "OpenSearch_2.9", "OpenSearch_2.12", "OpenSearch_2.14", "OpenSearch_3.0",
        "OpenSearch_3.99", "opensearch_3.5", "Elasticsearch_7.10", "OpenSearch_2.11",
    ],
    "instance_type": [
        "banana.search", "r7g.large", "r7g.lage.search", "R7G.large.search", "t2.small.search",
        "i3.large.search", "r6gd.large.search", "ultrawarm1.medium.search", "m4.large.search", "",
        "om2.large.search", "or1.large.search", "or2.large.search",
    ],
    "instance_count": [0, 5, 7, 81, "3", LARGE],
    "volume_gb": [9, 101, 500, 16_385, "10", LARGE],
    "dedicated_masters": [
        {"count": 1}, {"count": 4}, {"count": "3"}, {"instance_type": "m7g.search"},
        {"instance_typ": "m7g.medium.search"}, 3,
    ],
    "zebra": [1],
    "instance_typ": ["t3.small.search"],
}  # fmt: skip

# What is right alone and wrong together.
TOGETHER: list[Changes] = [
    (
        (f"{TARGET}.provider", "compatible"), (f"{TARGET}.base_url", "https://example.com"),
        (f"{TARGET}.model", "mine"), (f"{TARGET}.dimensions", 8),
        (f"{TARGET}.budget", {"usd_per_month": 5}),
    ),
    (
        (f"{TARGET}.usd_per_million_tokens", 1000),
        (f"{TARGET}.budget", {"usd_per_month": 0.01}),
    ),
    (("opensearch", {"domain": {"instance_type": "t3.medium.search"}}),
     (f"{TARGET}.max_entry_mb", 11)),
    (("opensearch", {"domain": {"instance_type": "m6g.large.search"}}),
     (f"{TARGET}.max_entry_mb", 11)),
    (("opensearch", {"domain": {"instance_count": 2}}), ("vpc", VPC)),
    (
        ("opensearch", {"domain": {"instance_count": 3}}),
        ("vpc", {**VPC, "subnets": ["subnet-01234567", "subnet-01234568"]}),
    ),
    (("opensearch", {"endpoint": ENDPOINT.replace("search-", "vpc-"), "domain_arn": DOMAIN}),),
    (
        (
            "opensearch",
            {
                "domain": {
                    "instance_type": "r7g.large.search",
                    "instance_count": 12,
                    "dedicated_masters": {"instance_type": "t3.small.search"},
                }
            },
        ),
    ),
    (("opensearch", {"domain": {"instance_type": "c6g.large.search", "volume_gb": 257}}),),
    (("opensearch", {"domain": {"instance_type": "m7i.large.search", "volume_gb": 769}}),),
    (("opensearch", {"domain": {"instance_type": "r7g.large.search", "volume_gb": 1537}}),),
    ((f"{SOURCE}.priority_attribute", "p"), (f"{SOURCE}.ordering", "sequential")),
    ((f"{SOURCE}.tenant_attribute", "t"), (f"{SOURCE}.ordering", "sequential")),
    ((f"{SOURCE}.priority_attribute", "p"), (f"{SOURCE}.skip_attribute", "p")),
    ((f"{SOURCE}.type_attribute", None), (f"{TARGET}.retry.types", {"news": "quick"})),
    ((f"{SOURCE}.type_attribute", None), (f"{TARGET}.retry.types", {"documnet": "quick"})),
    (
        (f"{SOURCE}.table", {"arn": TABLE, "stream_arn": STREAM}),
        (f"{TARGET}.api_key_secret_arn", SECRET.replace("eu-west-1", "eu-central-1")),
    ),
    (
        (f"{SOURCE}.table", {"arn": TABLE, "stream_arn": STREAM}),
        (
            "opensearch",
            {
                "endpoint": ENDPOINT.replace("eu-west-1", "us-east-1"),
                "domain_arn": DOMAIN.replace("eu-west-1", "us-east-1"),
            },
        ),
    ),
    (("opensearch", {"endpoint": "https://search.example.com", "domain_arn": DOMAIN}),),
    (("opensearch", {"endpoint": ENDPOINT, "domain_arn": f"{DOMAIN}s"}),),
    (
        (
            "opensearch",
            {"endpoint": ENDPOINT, "domain_arn": DOMAIN.replace("eu-west-1", "us-east-1")},
        ),
    ),
    *((("targets.b", {"model": "text-embedding-3-large", "replaces": replaced}),
       (f"{SOURCE}.targets", ["default", "b"])) for replaced in ("defalt", "b", "", 3)),
    (("targets.b", {"model": "text-embedding-3-large", "replaces": "default"}),
     (f"{SOURCE}.targets", ["default"])),
    (("targets.b", {"model": "text-embedding-3-large", "replaces": "default"}),
     (f"{SOURCE}.targets", ["default"]),
     ("sources.b", {"key": {"id": "S"}, "text": "{body}", "targets": ["default", "b"]})),
    (("targets.b", {"model": "text-embedding-3-large", "replaces": "default"}),
     ("targets.c", {"model": "text-embedding-3-small", "shards": 2, "replaces": "default"}),
     (f"{SOURCE}.targets", ["default", "b", "c"])),
    (("targets.b", {"model": "text-embedding-3-large", "replaces": "default"}),
     ("targets.c", {"model": "text-embedding-3-small", "shards": 2, "replaces": "b"}),
     (f"{SOURCE}.targets", ["default", "b", "c"])),
    ((f"{TARGET}.replaces", "b"),
     ("targets.b", {"model": "text-embedding-3-large", "replaces": "default"}),
     (f"{SOURCE}.targets", ["default", "b"])),
    ((f"{TARGET}.replaces", "default"),),
    ((f"{TARGET}.index", "a"), ("targets.b", {"model": "text-embedding-3-small", "index": "a"}),
     (f"{SOURCE}.targets", ["default", "b"])),
    ((f"{TARGET}.index", "a"), ("targets.b", {"model": "text-embedding-3-small", "index": "a-1"}),
     (f"{SOURCE}.targets", ["default", "b"])),
    ((f"{TARGET}.model", "text-embedding-ada-002"), (f"{TARGET}.dimensions", 512)),
    ((f"{TARGET}.provider", "azure"), (f"{TARGET}.base_url", "https://example.com")),
    ((f"{TARGET}.provider", "azure"), (f"{TARGET}.api_version", "2024-10-21")),
    ((f"{TARGET}.provider", "compatible"), (f"{TARGET}.base_url", "https://example.com"),
     (f"{TARGET}.model", "mine")),
    ((f"{TARGET}.compression", "32x"), ("opensearch", {"domain": {"version": "OpenSearch_3.5"}})),
    ((f"{TARGET}.compression", "4x"), ("opensearch", {"domain": {"version": "OpenSearch_2.15"}})),
    ((f"{TARGET}.region", "eu-central-1"),),
    *(
        ((f"{TARGET}.provider", "bedrock"), (f"{TARGET}.model", model), *more)
        for model, more in (
            ("cohere.embed-v4", ()),
            ("ap.cohere.embed-v4:0", ()),
            ("us.amazon.titan-embed-text-v2:0", ()),
            ("cohere.embed-v4:0", ((f"{TARGET}.dimensions", 384),)),
            ("amazon.titan-embed-text-v2:0", ((f"{TARGET}.dimensions", 1536),)),
            ("amazon.titan-embed-text-v2:0", ((f"{TARGET}.inputs_per_request", 33),)),
            ("amazon.titan-embed-text-v2:0", ((f"{TARGET}.chunk_tokens", 8000),)),
            ("cohere.embed-english-v3", ()),
            ("cohere.embed-v4:0", ((f"{TARGET}.region", "Frankfurt"),)),
            ("cohere.embed-v4:0", ((f"{TARGET}.api_key_secret_arn", SECRET),)),
            ("cohere.embed-v4:0", ((f"{TARGET}.api_version", "2024-10-21"),)),
            ("cohere.embed-v4:0", ((f"{TARGET}.headers", {"x-team": "search"}),)),
            ("cohere.embed-v4:0", ((f"{TARGET}.encoding_format", "float"),)),
            ("cohere.embed-v4:0", ((f"{TARGET}.send_dimensions", True),)),
            ("cohere.embed-v4:0", ((f"{TARGET}.query_extra_body", {"input_type": "image"}),)),
        )
    ),
    ((f"{SOURCE}.text", "{body}" + "x" * 4000),),
    ((f"{TARGET}.retry.types", {f"type-{n}": "patient" for n in range(40)}),),
]  # fmt: skip


def cases() -> Iterator[Changes]:
    """Yield every case as the settings that it changes in a good stage."""
    for path, values in VALUES.items():
        for value in values:
            yield ((path, value),)
    for setting, values in DOMAIN_VALUES.items():
        for value in values:
            yield (("opensearch", {"domain": {setting: value}}),)
    yield from TOGETHER


def lines_of(changes: Changes) -> list[str]:
    """Return the lines that a case gets; none if it is accepted."""
    stage = stage_with(*((tuple(path.split(".")), value) for path, value in changes))
    try:
        parse_stages({"dev": stage})
    except ConfigError as error:
        return str(error).splitlines()
    return []


def shown(changes: Changes) -> str:
    """Write a case as one line."""
    texts = [f"{path} = {json.dumps(value)}" for path, value in changes]
    return ", ".join(text if len(text) <= 160 else f"{text[:157]}..." for text in texts)


def page() -> str:
    """Write every case with its lines."""
    return "".join(
        f"{shown(changes)}\n" + "".join(f"    {line}\n" for line in lines_of(changes))
        for changes in cases()
    )


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.exit(0)
