"""The console in a real browser: every page and every action is clicked through."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from functions.core.failure import FailureKind
from functions.core.ledger_row import Status
from ops.demo.corpus import fables
from tests.console.memory_stack import MemoryStack
from tests.console.page import ConsolePage, served, started_browser

HOSTILE = "<script>alert('run')</script><img src=x onerror=alert('loaded')> {{ 7 * 7 }}"
HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as found:
        yield found


@pytest.fixture
def well(stack: MemoryStack) -> MemoryStack:
    """Return a stack with the fables, some open documents and a hostile text."""
    for one in fables():
        stack.indexed(one["id"], one["title"], one["body"], author="aesop")
    stack.indexed("hostile", HOSTILE, HOSTILE)
    for number in range(6):
        stack.row(f"draft-{number}", Status.PENDING)
    return stack


@pytest.fixture
def documents(well: MemoryStack) -> MemoryStack:
    """Return the same with failures of some hours."""
    stack = well
    now_ms = time.time_ns() // 1_000_000
    for number in range(9):
        at_ms = now_ms - (number * number % 20) * HOUR_MS
        stack.failed(f"price-list-{number}", f"the text has {1200 + number} chunks", at_ms=at_ms)
    for number in range(3):
        stack.failed(
            f"catalogue-{number}",
            "OpenSearch answered 400 mapper_parsing_exception",
            kind=FailureKind.INDEX_REJECTED,
            type="catalogue",
            at_ms=now_ms - (number + 2) * HOUR_MS,
        )
    return stack


@pytest.fixture
def console(documents: MemoryStack, browser: Browser, tmp_path: Path) -> Iterator[ConsolePage]:
    """Return a console that may change the stack, opened in the browser."""
    with served(documents.deployment, allows_actions=True) as server:
        page = ConsolePage(browser, server, tmp_path)
        yield page
        page.close()


def test_documents_are_searched_and_their_life_is_shown(console: ConsolePage) -> None:
    """R49 R48: words are marked, filters live in the URL, hostile text is only text."""
    console.open("Search")
    console.sees("Ask something")
    console.page.get_by_label("By").select_option("text")
    console.page.get_by_label("Question").fill("script")
    console.click("Search", "button")
    console.sees("onerror=alert('loaded')> {{ 7 * 7 }}")
    console.page.get_by_label("Only with").fill("author=aesop")
    console.page.get_by_label("Question").fill("the crow dropped pebbles into the pitcher")
    console.click("Search", "button")
    console.page.wait_for_url("**author%3Daesop**")
    expect(console.page.locator("mark", has_text="pitcher").first).to_be_visible()
    console.check("search")
    console.page.get_by_label("Only with").fill("nothing")
    console.click("Search", "button")
    console.sees("Not possible")
    console.page.go_back()

    console.click("crow-and-pitcher")
    console.sees("Tokens paid")
    console.check("document")
    console.click("Send again")
    assert console.confirm("Send this document again", documents="1", reason="a check") == "done"
    console.open("Document")
    console.sees("Which document?")
    console.page.get_by_label("Id").fill("nobody")
    console.click("Show", "button")
    console.sees("The ledger has no such row")


def test_reasons_are_read_on_a_phone(console: ConsolePage) -> None:
    """R49: their column stays wide enough for words; the table is moved sideways instead."""
    console.page.set_viewport_size({"width": 400, "height": 900})
    console.open("Failures")
    rows = console.page.locator("tbody tr")
    expect(rows).to_have_count(12)

    heights = rows.evaluate_all("rows => rows.map(row => row.getBoundingClientRect().height)")

    assert max(heights) < 150


def test_failures_are_grouped_exported_and_sent_again(console: ConsolePage) -> None:
    """R49 R41 R42: a cause with its remedy and one button; the count and the reason come first."""
    console.open("Failures")
    expect(console.page.locator(".cause")).to_have_count(2)
    console.check("failures")
    console.page.get_by_label("Type").select_option("catalogue")
    console.click("Filter", "button")
    console.page.wait_for_url("**type=catalogue**")
    expect(console.page.locator("tbody tr")).to_have_count(3)
    with console.page.expect_download() as download:
        console.click("Export these", "button")
    lines = download.value.path().read_text().splitlines()
    assert sorted(json.loads(line)["document"] for line in lines) == [
        "catalogue-0",
        "catalogue-1",
        "catalogue-2",
    ]
    console.click("Send 3 again")
    console.check("action")
    console.click("Send failed documents again", "button")
    # The browser asks for the reason first.
    expect(console.page.get_by_label("Reason")).to_be_focused()
    ended = console.confirm("Send failed documents again", documents="3", reason="mapping mended")
    assert ended == "done"
    console.sees("3 of 3 documents sent again")
    console.open("Failures")
    expect(console.page.locator(".cause")).to_have_count(1)
    console.click("Redrive all")
    console.sees("let SQS move 9 dead letters back")
    console.click("Leave it")
    console.sees("Documents that need a person")
    console.open("Actions")
    console.sees("mapping mended")
    console.check("actions")


def test_lanes_are_paused_and_resumed(console: ConsolePage) -> None:
    """R49 R25: with a reason, which everybody sees; the health line follows."""
    console.open("Breakers")
    console.click("Pause")
    assert console.confirm("Pause", documents="6", reason="the key is replaced") == "done"
    console.open("Breakers")
    console.sees("the key is replaced")
    console.check("breakers")
    console.click("Resume")
    assert console.confirm("Resume", documents="6", reason="it is replaced") == "done"
    console.open("Breakers")
    console.sees("reopening")


def test_jobs_are_started_followed_and_ended(console: ConsolePage) -> None:
    """R49 R43 R45: an estimate first, then progress; cancelled by the same page."""
    console.open("Jobs")
    console.sees("No job is known here")
    console.click("Start a backfill")
    console.page.get_by_label("Only").select_option("all")
    console.click("Count again", "button")
    console.sees("backfill articles into default, all")
    count = console.page.locator(".documents strong").inner_text()
    assert console.confirm("Start a backfill", documents=count, reason="first load") == "done"
    console.open("Jobs")
    console.click("Compare tables and indexes")
    console.click("Compare tables and indexes", "button")
    console.page.wait_for_url("**/runs/*")
    expect(console.page.locator("#run-panel .badge")).not_to_have_text("running")
    console.open("Jobs")
    console.check("jobs")
    console.click("Cancel")
    assert console.confirm("Cancel the backfill", documents="", reason="a mistake") == "done"


def test_budget_is_raised(console: ConsolePage) -> None:
    """R49 R19: the cap and the end are asked for, wrong ones are refused in words."""
    console.open("Budget")
    console.check("budget")
    console.click("Raise the budget")
    console.sees("Missing option '--until'")
    console.page.get_by_label("Until").fill("2099-01-01")
    console.page.get_by_label("Tokens").fill("1")
    console.click("Count again", "button")
    console.sees("does not raise it")
    console.page.get_by_label("Tokens").fill("3000000")
    console.click("Count again", "button")
    assert console.confirm("Raise the budget", documents="0", reason="a new source") == "done"
    console.open("Budget")
    console.sees("a new source")


def test_overview_is_live_until_the_console_ends(
    well: MemoryStack, browser: Browser, tmp_path: Path
) -> None:
    """R49: loading, healthy, not healthy with the reason, disconnected; no reload by hand."""
    with served(well.deployment) as server:
        console = ConsolePage(browser, server, tmp_path)
        expect(console.page.locator("#health")).to_contain_text("Healthy")
        expect(console.page.locator(".trend svg").first).to_be_visible()
        well.indexed("new", "New", "A document that was written now.")
        expect(console.page.locator(".tiles dd").first).to_have_text(str(len(fables()) + 2))
        console.check("overview")
        well.functions.down = "the provider answered 503"
        server.console.sampler.ask_all()
        expect(console.page.locator("#health")).to_contain_text("Not healthy")
        console.sees("look at the provider's status page")
        console.check("unhealthy")
    expect(console.page.locator("#connection")).to_contain_text("Disconnected since")
    console.check("disconnected")
    console.close()


def test_console_that_only_shows_offers_commands_instead_of_buttons(
    documents: MemoryStack, browser: Browser, tmp_path: Path
) -> None:
    """R49: what a button would do stands there as a command; keys lead everywhere."""
    with served(documents.deployment) as server:
        console = ConsolePage(browser, server, tmp_path)
        console.sees("read-only")
        console.page.keyboard.press("g")
        console.page.keyboard.press("f")
        console.page.wait_for_url("**/failures")
        assert console.page.locator("main a.button", has_text="again").count() == 0
        console.page.get_by_text("Send 9 again").click()
        expect(console.page.get_by_text("embedq dead requeue --cause=").first).to_be_visible()
        console.page.keyboard.press("/")
        console.page.wait_for_url("**/search")
        console.page.keyboard.press("?")
        expect(console.page.get_by_role("dialog")).to_be_visible()
        console.check("keys")
        console.close()
