"""Documents through the whole stack on real engines: written, changed and deleted."""

import json

from functions.core.ledger_row import Status
from tests.stack.articles import Articles
from tests.waiting import until

PARAGRAPHS = [f"Paragraph {n} tells about subject {n * 31}. " * 12 for n in range(8)]


def test_write_is_found_by_the_next_search(articles: Articles) -> None:
    """R03 R12 R28 R48 R82: completed means that it can be found; the ledger tells its life."""
    name = articles.new_name()

    row = articles.indexed(name, "The zeppelin drifts over the marmalade factory.", author="ada")

    hits = articles.found("zeppelin marmalade factory")
    assert hits[0].document_id == name
    assert (
        row.progress.attempts,
        row.indexed.chunks_total,
        row.indexed.chunks_done,
        row.errors,
    ) == (1, 1, 1, ())
    assert row.indexed.model == "text-embedding-3-small"


def traces(articles: Articles, name: str) -> dict[tuple[str, str], str]:
    """Return the trace of each line of the logs about a document, by its function and words."""
    logs = articles.deployment.client("logs")
    pattern = json.dumps(name)
    events = [
        json.loads(event["message"])
        for group in logs.describe_log_groups()["logGroups"]
        for event in logs.filter_log_events(
            logGroupName=group["logGroupName"], filterPattern=pattern
        )["events"]
    ]
    return {(one["service"], one["message"]): one["trace_id"] for one in events}


def test_one_trace_leads_from_the_write_to_the_index(articles: Articles) -> None:
    """R63: found by the document: the trace of enqueue is on the task and on embed's lines."""
    name, other = articles.new_name(), articles.new_name()
    trace = articles.indexed(name, "A heron waits at the weir.").task.trace_id
    of_other = articles.indexed(other, "An otter swims by.").task.trace_id
    completed = ("embed", "task_completed")

    until(lambda: completed in traces(articles, name), "the line of embed about it")

    assert trace.startswith("Root=1-")
    assert trace != of_other
    steps = [("enqueue", "change_accepted"), ("embed", "task_started"), completed]
    assert traces(articles, name) == dict.fromkeys(steps, trace)


def test_search_filters_by_metadata(articles: Articles) -> None:
    """R48: the author of one of two like documents."""
    one, other = articles.new_name(), articles.new_name()
    for name in (one, other):
        articles.put(name, "A walrus plays the theremin.", author=f"author of {name}")
    articles.wait(one, other)

    hits = articles.found("walrus theremin", f"author=author of {other}")

    assert [hit.document_id for hit in hits] == [other]


def test_a_b_a_within_a_second_ends_at_a(articles: Articles) -> None:
    """R04 R05: whatever of it meets in one batch of the stream."""
    name = articles.new_name()
    for body in ("first", "second", "first"):
        articles.put(name, body)

    articles.wait(name)

    assert articles.text(name) == f"Title of {name}\n\nfirst"
    assert articles.depth("normal") == (0, 0)


def test_a_b_a_in_three_batches_ends_at_a(articles: Articles) -> None:
    """R04: three tasks, none swallowed: the dedup id is the version's, never the content's."""
    name = articles.new_name()
    version = articles.indexed(name, "first").task.version
    for body in ("second", "first"):
        articles.put(name, body)
        [row] = articles.wait(name, above=version)
        version = row.task.version

    assert articles.text(name) == f"Title of {name}\n\nfirst"


def test_edit_pays_for_the_changed_chunk_only(articles: Articles) -> None:
    """R06: the other vectors come from the entry."""
    name = articles.new_name()
    row = articles.indexed(name, "\n\n".join(PARAGRAPHS))
    paid = articles.paid()

    articles.put(name, "\n\n".join([*PARAGRAPHS[:4], "A new one. " * 12, *PARAGRAPHS[5:]]))

    [edited] = articles.wait(name, above=row.task.version)
    assert edited.indexed.chunks_total >= 6
    assert articles.paid() - paid <= 2
    assert "A new one." in (articles.text(name) or "")


def test_metadata_alone_costs_no_request(articles: Articles) -> None:
    """R06: the entry is rewritten with the vectors that it has."""
    name = articles.new_name()
    row = articles.indexed(name, "hello", author="ada")
    requests = articles.requests()

    articles.put(name, "hello", author="grace")

    articles.wait(name, above=row.task.version)
    entry = articles.entry(name)
    assert entry is not None
    assert entry["metadata"] == {"author": "grace"}
    assert articles.requests() == requests


def test_deleted_document_leaves_the_search(articles: Articles) -> None:
    """R07: what stays is a tombstone without text."""
    name = articles.new_name()
    articles.indexed(name, "The ornithopter needs new feathers.")

    articles.delete(name)

    [row] = articles.wait(name, status=Status.DELETED)
    found = [hit.document_id for hit in articles.found("ornithopter feathers")]
    assert name not in found
    entry = articles.entry(name)
    assert entry is not None
    assert (entry["deleted"], entry["version"]) == (True, row.task.version)
    assert "chunks" not in entry


def test_late_old_task_cannot_bring_a_deleted_document_back(articles: Articles) -> None:
    """R07: not even one that is delivered after everything else."""
    name = articles.new_name()
    old = articles.indexed(name, "hello").task
    articles.delete(name)
    articles.wait(name, status=Status.DELETED)
    requests = articles.requests()

    articles.sqs.send_message(
        QueueUrl=articles.lane("normal"),
        MessageBody=old.to_json(),
        MessageGroupId=old.group,
        MessageDeduplicationId=f"late-{name}",
    )

    until(lambda: articles.depth("normal") == (0, 0), "the late task is worked")
    entry = articles.entry(name)
    assert entry is not None
    assert entry["deleted"]
    assert articles.requests() == requests


def test_bulk_lane_packs_many_documents_into_few_requests(articles: Articles) -> None:
    """R09 R32: forty documents of the bulk lane are not forty requests."""
    names = [articles.new_name("bulk") for _ in range(40)]
    requests = articles.requests()

    for name in names:
        articles.put(name, f"A text of {name}.", priority="bulk")

    rows = articles.wait(*names)
    assert {str(row.task.lane) for row in rows} == {"bulk"}
    assert articles.requests() - requests <= 8
