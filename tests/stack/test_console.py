"""The console over the real engines: every page answers, and an action reaches the lanes."""

import re

from starlette.testclient import TestClient

from functions.core.ledger_row import Status
from ops.console.app import Console
from ops.console.views import PAGES
from tests.stack.articles import Articles
from tests.waiting import until

ADDRESS = "http://127.0.0.1:8400"


def test_every_page_answers_and_a_failed_document_is_sent_again(articles: Articles) -> None:
    """R49 R41: what the tests in the browser show in memory, on DynamoDB, SQS and OpenSearch."""
    name, bad = articles.new_name(), articles.new_name("bad")
    articles.indexed(name, "a clever crow")
    articles.put(bad, {"not": "a text"})
    articles.wait(bad, status=Status.FAILED)
    console = Console(articles.deployment, token="token", allows_actions=True)
    console.sampler.close()
    console.sampler.sample()
    browser = TestClient(console.app, base_url=ADDRESS)
    browser.get("/?token=token")

    pages = {path: browser.get(path) for path in PAGES}
    found = browser.get("/search", params={"query": "clever crow", "most": "50"})
    life = browser.get("/document", params={"document": name})
    act = f"/act/dead requeue?documents={bad}"
    asked = browser.get(act)
    [token] = re.findall(r'name="form_token" value="([^"]+)"', asked.text)
    before = articles.row(bad).task.version
    form = {"form_token": token, "documents": "1", "reason": "a test"}
    browser.post(act, data=form, headers={"origin": ADDRESS})
    [run] = console.runs.newest()
    assert run.thread is not None
    run.thread.join()

    assert {path: page.status_code for path, page in pages.items()} == dict.fromkeys(PAGES, 200)
    assert console.sampler.verdict.state in ("well", "warning"), console.sampler.verdict
    assert "<mark>crow</mark>" in found.text
    assert "completed" in life.text
    assert "send 1 failed or incomplete documents again" in asked.text
    assert (run.state, "1 of 1 documents sent again" in run.result) == ("done", True), run.result
    articles.wait(bad, status=Status.FAILED, above=before)
    console.close()
    until(lambda: articles.deployment.count_dead_letters("default"), "its dead letter")
    articles.forget_dead_letters()
    articles.delete(bad)
    articles.wait(bad, status=Status.DELETED)
