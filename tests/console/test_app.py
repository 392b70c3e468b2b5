"""The console's pages and actions, asked as a browser asks them."""

import json
import re
import socket
import threading
from collections.abc import Generator, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from functions.core.failure import FailureKind
from functions.core.ledger_row import Status
from ops.actions import actions
from ops.console import sampling, views
from ops.console.actions import OFFERED
from ops.console.app import READ_ONLY, Console
from ops.console.asking import command
from ops.console.command import console
from ops.console.views import MOST_FAILURES, PAGE_ROWS, PAGES
from ops.deployment import Deployment
from ops.lanes import TargetLanes
from ops.migration_answers import MigrationStatus
from ops.output import UsageError, as_text, progress
from ops.proposal import Proposal
from ops.selection import Selection
from tests.browser import ROOT
from tests.console.memory_stack import MemoryStack

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
ADDRESS = "http://127.0.0.1:8400"
FORM = {"origin": ADDRESS, "sec-fetch-site": "same-origin"}


class Browser:
    """A browser at a console, without scripts."""

    def __init__(self, deployment: Deployment, *, allows_actions: bool = True) -> None:
        self.console = Console(deployment, token="token", allows_actions=allows_actions)
        # Asked by the tests, not by a thread.
        self.console.sampler.close()
        self.sample()
        self._client = TestClient(self.console.app, base_url=ADDRESS)
        self._client.get("/?token=token")

    def sample(self) -> None:
        self.console.sampler.ask_all()
        self.console.sampler.sample()

    def get(self, path: str, code: int = 200) -> str:
        answer = self._client.get(path)
        assert answer.status_code == code, answer.text
        return answer.text

    def post(self, path: str, code: int = 200, **form: str) -> str:
        answer = self._client.post(path, data=form, headers=FORM)
        assert answer.status_code == code, answer.text
        return answer.text

    def token(self) -> str:
        """Return the token of a form."""
        [found, *_] = re.findall(r'name="form_token" value="([^"]+)"', self.get("/act/verify"))
        return str(found)

    def confirm(self, path: str, *, documents: int, reason: str = "a test") -> str:
        """Confirm an action, wait for its end, and return the page that shows it."""
        page = self.post(path, form_token=self.token(), documents=str(documents), reason=reason)
        [run] = self.console.runs.newest()[:1]
        assert run.thread is not None
        run.thread.join()
        assert run.state == "done", run.result
        assert "<h1" in page
        return self.get(f"/runs/{run.id}")


@pytest.fixture
def browser(stack: MemoryStack) -> Iterator[Browser]:
    found = Browser(stack.deployment)
    yield found
    found.console.close()


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_drawn_before_anything_is_known_and_when_there_is_nothing(
    stack: MemoryStack, path: str
) -> None:
    """R49: loading and empty states; what is asked in vain leaves no page out."""
    console = Console(stack.deployment, token="token", allows_actions=False)
    console.sampler.close()
    client = TestClient(console.app, base_url=ADDRESS)
    client.get("/?token=token")

    loading = client.get(path)
    console.sampler.sample()
    empty = client.get(path)

    assert (loading.status_code, empty.status_code) == (200, 200)
    assert "Loading" in loading.text
    assert "Healthy" in empty.text


def test_hostile_texts_are_only_text(stack: MemoryStack, browser: Browser) -> None:
    """R49: ids, messages, types, texts, metadata and what is typed into a form."""
    stack.indexed(HOSTILE, HOSTILE, HOSTILE, author=HOSTILE)
    stack.failed(f"failed {HOSTILE}", HOSTILE, type=HOSTILE)
    browser.sample()
    paths = [
        "/",
        "/failures",
        "/search?mode=text&query=script",
        f"/search?query={HOSTILE}",
        f"/document?document={HOSTILE}",
        f"/document?document=failed {HOSTILE}",
        f"/failures?type={HOSTILE}",
        f"/act/requeue?document={HOSTILE}",
    ]

    pages = [browser.get(path) for path in paths]
    pages.append(browser.get(f"/failures?since={HOSTILE}", code=400))

    for page in pages:
        assert "<script>alert" not in page
        assert "<img" not in page
    assert sum("&lt;script&gt;" in page for page in pages) == len(pages)


def test_overview_says_how_fresh_the_index_is_and_what_was_paid(
    stack: MemoryStack, browser: Browser
) -> None:
    """R49 R60: p50 and p95 of the last hour, tokens and dollars, whatever the budgets."""
    quiet = browser.get("/")
    stack.metrics.put("FreshnessMilliseconds", *[2000] * 18, 8000, 8000)
    stack.metrics.put("TokensPaid", 1_000_000)
    browser.sample()
    unpriced = browser.get("/")
    stack.metrics.put("DollarsPaid", 0.02)
    browser.sample()
    priced = browser.get("/")

    assert "no writes in the last hour" in quiet
    assert "<dd>2.0 s</dd>" in priced
    assert "<dd>8.0 s</dd>" in priced
    assert "price not known" in unpriced
    assert "1,000,000" in priced
    assert "0.0200" in priced


def test_console_that_only_shows_changes_nothing(stack: MemoryStack) -> None:
    """R49: no form, no button; the request of one is refused too."""
    stack.failed("a", "answered 400")
    browser = Browser(stack.deployment, allows_actions=False)

    page = browser.get("/failures")

    assert "/act/" not in page
    assert "embedq dead requeue --cause=" in page
    for words in OFFERED:
        assert READ_ONLY in browser.get(f"/act/{words}", code=403)
    token = re.findall(r'name="form_token" value="([^"]+)"', page)[0]
    browser.post("/act/recover", 403, form_token=token, documents="0", reason="x")
    assert actions(stack.deployment).actions == ()


def test_form_of_another_page_is_refused(browser: Browser) -> None:
    """R49: it lacks the token of the console's own forms."""
    for path in ("/act/recover", "/export", "/runs/1/abort"):
        browser.post(path, 403, documents="0", reason="x")
        browser.post(path, 403, form_token="wrong", documents="0", reason="x")
    assert "too long" in browser.post("/export", 413, form_token="x" * 30_000)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/failures?page=" + "9" * 5000, 400),
        ("/failures?page=-1", 400),
        ("/failures?page=999999999", 200),
        ("/failures?since=99999999999999d", 400),
        ("/search?query=" + "x" * 9000, 400),
        ("/search?query=x&cursor=nonsense", 400),
        ("/search?query=x&filters=%00", 400),
        ("/document?document=%00", 200),
        ("/document?document=" + "x" * 5000, 200),
        ("/act/dead requeue?cause=[(", 422),
        ("/act/requeue?document=nobody&stage=other&yes=on", 422),
        ("/act/budget raise?tokens=3000000&until=99999-01-01", 422),
        ("/runs/99999999999999999999", 404),
        ("/static/../app.py", 404),
        ("/static/%2e%2e/app.py", 404),
        ("/static/..%2fapp.py", 404),
    ],
)
def test_nonsense_in_an_address_is_answered_in_words(
    browser: Browser, path: str, code: int
) -> None:
    """R49: too long, too large, of another kind, outside of the folder."""
    assert "<h1" in browser.get(path, code)


def test_reason_that_is_too_long_is_refused(stack: MemoryStack, browser: Browser) -> None:
    """R49: whatever the browser allows."""
    form = {"form_token": browser.token(), "documents": "0"}

    page = browser.post("/act/recover", 422, reason="x" * 501, **form)

    assert "The reason is too long" in page
    assert actions(stack.deployment).actions == ()


def test_every_action_is_counted_first_and_wants_a_reason(
    stack: MemoryStack, browser: Browser
) -> None:
    """R49 R41: nothing happens without it, nor when the number has changed meanwhile."""
    stack.failed("a", "answered 400")
    stack.failed("b", "answered 400")
    path = "/act/dead requeue?cause=answered"

    asked = browser.get(path)
    silent = browser.post(path, 422, form_token=browser.token(), documents="2", reason=" ")
    stack.failed("c", "answered 400")
    moved = browser.post(path, 422, form_token=browser.token(), documents="2", reason="why")

    assert "send 2 failed or incomplete documents again" in asked
    assert "Say why" in silent
    assert "It was 2 before, and is 3 now" in moved
    assert 'value="why"' in moved
    assert browser.console.runs.newest() == []
    assert "3 of 3 documents sent again" in browser.confirm(path, documents=3, reason="mended")
    [noted] = actions(stack.deployment).actions
    assert (noted.command, noted.reason, noted.documents) == ("dead requeue", "mended", 3)
    assert Selection().rows(stack.deployment) == []


def test_each_action_of_a_page_is_carried_out(stack: MemoryStack, browser: Browser) -> None:
    """R49 R25 R43 R19: as the command does it; each is noted with its reason."""
    stack.indexed("a", "A", "one text")
    stack.row("open", Status.PENDING)

    shown = [
        browser.confirm("/act/backfill?only=all", documents=1),
        browser.confirm("/act/pause?part=provider&target=default", documents=1),
        browser.confirm("/act/resume?part=provider&target=default", documents=1),
        browser.confirm("/act/requeue?document=a&lane=high", documents=1),
        browser.confirm("/act/recover", documents=2),
        browser.confirm("/act/budget raise?tokens=3000000&until=2099-01-01", documents=0),
    ]
    [job] = re.findall(r"backfill (\S+) is running", shown[0])
    for words, documents in (("jobs pause", 1), ("jobs resume", 1), ("jobs cancel", 1)):
        browser.confirm(f"/act/{words}?job={job}", documents=documents)

    expected = ["pause", "resume", "requeue", "recover", "budget raise", "backfill"]
    expected += ["jobs pause", "jobs resume", "jobs cancel"]
    noted = actions(stack.deployment).actions
    assert sorted(one.command for one in noted) == sorted(expected)
    assert {one.reason for one in noted} == {"a test"}


def test_comparison_is_followed_and_not_noted(stack: MemoryStack, browser: Browser) -> None:
    """R49 R45: it changes nothing."""
    stack.indexed("a", "A", "one text")

    page = browser.confirm("/act/verify", documents=1, reason="")

    assert "table and index agree: 1 documents" in page
    assert "table and index agree" in browser.get("/jobs")
    assert actions(stack.deployment).actions == ()


def migration(**changes: Any) -> MigrationStatus:
    usual: dict[str, Any] = {
        "target": "large",
        "replaces": "default",
        "answered_by": "default",
        "reuses_vectors": False,
        "documents": 4000,
        "covered": 3000,
        "coverage_percent": 75.0,
        "lanes": TargetLanes(target="large", stopped=(), lanes=(), dead_letters=0),
        "jobs": (),
        "gate": None,
        "next": "wait for the backfill",
    }
    return MigrationStatus(**(usual | changes))


def test_lost_index_of_a_migration_is_said(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R44 R49: and not shown as a coverage of nothing."""
    lost = migration(answered_by="", unanswered="nobody answers", not_measured="the index is lost")
    monkeypatch.setattr(views, "migrations", lambda _: {"large": lost})

    page = browser.get("/jobs")

    assert "nobody answers" in page
    assert "coverage not measured: the index is lost" in page
    assert "documents are in large" not in page


@pytest.mark.parametrize(
    ("answering", "offered", "hidden"),
    [("default", "migrate switch", "migrate rollback"), ("large", "migrate rollback", "migrate s")],
)
def test_migration_is_shown_with_its_next_step(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, answering: str, offered: str, hidden: str
) -> None:
    """R44 R49: coverage, who answers, and the action that fits."""
    status = migration(answered_by=answering)
    monkeypatch.setattr(views, "migrations", lambda _: {"large": status, "other": "access denied"})

    page = browser.get("/jobs")

    assert "75.00 % of 4,000 documents are in large, 1,000 are not yet" in page
    assert "wait for the backfill" in page
    assert f"/act/{offered}?target=large" in page
    assert f"/act/{hidden}" not in page
    assert "access denied" in page


def test_target_that_cannot_be_asked_leaves_no_page_out(
    stack: MemoryStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R44 R49: the reason stands in the place of its migration."""
    targets = stack.deployment.targets
    large = targets["default"].model_copy(update={"name": "large", "replaces": "default"})
    monkeypatch.setitem(targets, "large", large)

    def denied(*_: object, **__: object) -> None:
        raise UsageError("not allowed to ask for the alias")

    monkeypatch.setattr(views, "migration_status", denied)

    assert views.migrations(stack.deployment) == {"large": "not allowed to ask for the alias"}


def test_action_ends_at_its_next_step_when_a_person_aborts_it(
    stack: MemoryStack, browser: Browser
) -> None:
    """R49: what was done stays, and the log says how it ended."""
    began, goes_on = threading.Event(), threading.Event()
    done = []

    def act() -> None:
        for number in progress(range(5), "sending"):
            done.append(number)
            began.set()
            assert goes_on.wait(60)

    proposal: Proposal[None] = Proposal("send 5", 5, act)  # type: ignore[type-var]
    run = browser.console.runs.start("recover", proposal, "a test")
    assert began.wait(60)
    assert "0 of 5" in browser.get(f"/runs/{run.id}")
    browser.post(f"/runs/{run.id}/abort", form_token=browser.token())
    goes_on.set()
    assert run.thread is not None
    run.thread.join()

    assert (run.state, done) == ("aborted", [0])
    [noted] = actions(stack.deployment).actions
    assert noted.result == "failed: ended by a person; what was done until then stays"


def test_failures_are_paged_and_bounded(stack: MemoryStack, browser: Browser) -> None:
    """R49: however many have failed, a page reads so many of the newest and shows some of them."""
    for number in range(PAGE_ROWS + 5):
        stack.failed(f"document-{number:03}", "answered 400", at_ms=1_700_000_000_000 + number)

    first, second = browser.get("/failures"), browser.get("/failures?page=1&type=")
    rows, total = Selection().newest(stack.deployment, 10)

    names = re.findall(r'<a class="id"[^>]*>([^<]+)</a>', first)
    assert (len(names), names[0]) == (PAGE_ROWS, f"document-{PAGE_ROWS + 4:03}")
    assert len(re.findall(r'<a class="id"', second)) == 5
    assert 'rel="next" href="/failures?page=1"' in first
    assert (len(rows), total, PAGE_ROWS < MOST_FAILURES) == (10, PAGE_ROWS + 5, True)
    browser.get("/failures?page=x", code=400)


def test_export_has_the_chosen_documents(stack: MemoryStack, browser: Browser) -> None:
    """R41 R49: the lines of `embedq dead export`, as a download."""
    stack.failed("a", "answered 400")
    stack.failed("b", "503", kind=FailureKind.PROVIDER_ERROR)

    lines = browser.post("/export?cause=provider_error", form_token=browser.token()).splitlines()

    assert [json.loads(line)["document"] for line in lines] == ["b"]
    assert len(json.loads(lines[0])["dead_letters"]) == 1


def test_stack_that_does_not_answer_is_said_on_the_page(
    stack: MemoryStack, browser: Browser
) -> None:
    """R49: the first line says so, and the page of a question explains it."""
    stack.deployment.dynamodb.delete_table(TableName="ledger")
    browser.sample()

    page = browser.get("/failures", code=502)

    assert browser.console.sampler.verdict.state == "unknown"
    assert "The stack does not answer" in page
    assert "Not known" in page


def test_sampler_keeps_a_bounded_history_and_notes_what_changed(
    stack: MemoryStack, browser: Browser
) -> None:
    """R49: trends of each target; pages hear of failures only when there are others."""
    before = browser.console.changes.seen()
    browser.sample()
    quiet = browser.console.changes.seen()
    stack.failed("a", "answered 400")
    browser.sample()

    points = browser.console.sampler.points["default"]
    assert [point.failed for point in points] == [0, 0, 1]
    assert points.maxlen == 720
    assert "failures=1" in before
    assert "failures=1" in quiet
    assert "failures=2" in browser.console.changes.seen()


def test_end_of_a_console_waits_for_the_question_that_is_under_way(
    stack: MemoryStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R49: a thread that asks on would meet a stack that is gone."""
    console = Console(stack.deployment, token="token", allows_actions=False)
    asked, closing, answered = threading.Event(), threading.Event(), threading.Event()

    def slow_census(_: Deployment) -> dict[str, Any]:
        asked.set()
        closing.wait()
        answered.set()
        return {}

    monkeypatch.setattr(sampling, "census", slow_census)
    console.sampler.look()
    asked.wait()
    # The question ends only after the console began to close.
    monkeypatch.setattr(console.runs, "close", lambda: None)
    monkeypatch.setattr(console.changes, "close", closing.set)
    console.close()

    assert answered.is_set()
    assert "sampler" not in [thread.name for thread in threading.enumerate()]


def test_only_commands_that_exist_are_offered(browser: Browser) -> None:
    """R49: each is a command, with options that it has; no other is reached."""
    for words, (_, options) in OFFERED.items():
        assert set(options) <= {param.name for param in command(words).params}
    browser.get("/act/forget?target=default", code=400)
    browser.get("/act/put", code=400)
    browser.get("/nothing", code=404)


def test_redrive_by_sqs_is_followed_and_stopped(
    stack: MemoryStack, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R41 R49: how far SQS is, with a button that stops it."""
    assert "SQS moves no dead letters just now" in browser.get("/act/dead stop", code=422)
    queues = stack.deployment.sqs
    task = {
        "TaskHandle": "handle",
        "Status": "RUNNING",
        "ApproximateNumberOfMessagesMoved": 3,
        "ApproximateNumberOfMessagesToMove": 10,
    }
    fifo = stack.deployment.dead_letter_urls("default")[0].rsplit("/", 1)[1]

    def listed(SourceArn: str, MaxResults: int) -> dict[str, list[Any]]:
        return {"Results": [task][:MaxResults] if SourceArn.endswith(fifo) else []}

    def cancelled(TaskHandle: str) -> dict[str, int]:
        assert TaskHandle == "handle"
        return {"ApproximateNumberOfMessagesMoved": 4}

    monkeypatch.setattr(queues, "list_message_move_tasks", listed)
    monkeypatch.setattr(queues, "cancel_message_move_task", cancelled)
    browser.sample()

    assert "back to their lanes: 3 of 10" in browser.get("/failures")
    ended = browser.confirm("/act/dead stop", documents=7)
    assert "SQS has stopped; 4 dead letters are back in their lanes" in ended


def test_command_prints_the_address_and_frees_the_port_at_its_end(stack: MemoryStack) -> None:
    """R49: on this machine alone; a port that is taken is refused in words."""
    serving = console(stack.deployment)
    address = next(serving)
    port = urlsplit(address.url).port

    assert address.url.startswith("http://127.0.0.1:")
    assert "--allow-actions" in as_text(address)
    with pytest.raises(UsageError, match=f"port {port} of this machine cannot be used"):
        next(console(stack.deployment, port=port or 0))
    assert isinstance(serving, Generator)
    serving.close()
    socket.create_server(("127.0.0.1", port or 0)).close()


def test_pictures_of_the_documentation_are_small_and_all_shown() -> None:
    """R49: light and dark; `make pictures` takes them again."""
    pictures = {path.name: path for path in (ROOT / "docs/pictures").iterdir()}
    named = re.findall(r"pictures/([\w-]+\.png)", (ROOT / "docs/console.md").read_text())

    assert sorted(named) == sorted(pictures)
    assert max(path.stat().st_size for path in pictures.values()) < 150_000
