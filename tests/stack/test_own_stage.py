"""A stage of a user's own on the engines: its demo, its table and its order."""

import json
import urllib.request

from local.stack import LocalStack
from ops.demo.own_story import OwnStory
from ops.document_rows import read_row
from ops.stack import local_deployment
from tests.stack.own_stage import OWN


def test_demo_of_an_own_stage_shows_every_source_and_target(stack: LocalStack) -> None:
    """R53 R81 R82: keys of all types, a sequential source, an existing table, Azure's address."""
    said: list[str] = []
    deployment = local_deployment(stack.endpoint_url, OWN.stack)

    OwnStory(deployment, said.append).run()

    assert [line[:2] for line in said if line[:1].isdigit()] == ["1.", "2.", "3.", "4.", "5."]
    assert said[-5:] == [
        "   articles -> default: table and index agree",
        "   messages -> default: table and index agree",
        "   messages -> large: table and index agree",
        "   parts -> large: table and index agree",
        "   parts -> bedrock: table and index agree",
    ]
    assert "   messages: 3 items, key conversation (S), number (N), sequential, as demo-4|4" in said
    assert deployment.source("messages").table == "Messages.v2"
    assert deployment.target("large").index == "everything"
    assert deployment.target("large").provider == "azure"
    row = read_row(deployment, "demo-4|4", source="messages", target="large")
    assert row.task.lane == "sequential"


def test_index_maps_its_files_into_memory(stack: LocalStack) -> None:
    """R82: without that a merge of vectors takes so long that live writes wait for it."""
    url = f"{stack.opensearch_url}/_nodes/settings?filter_path=nodes.*.settings.node.store"
    with urllib.request.urlopen(url) as answer:
        [node] = json.load(answer)["nodes"].values()

    assert node["settings"]["node"]["store"] == {"allow_mmap": "true"}
