"""The console in a real browser: what its tests click, check and take pictures of."""

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from ops.console.serving import ConsoleServer
from ops.deployment import Deployment
from tests.browser import AXE, NONE, browser_environment, browser_program

# The machine may be slow, and the stack works while the page waits.
LIMIT_MS = 90_000
# `make pictures` names the folder of the documentation, which shows some of them.
PICTURES = os.environ.get("PICTURES")
SHOWN = {"overview", "failures", "document", "search", "action"}
SIZE: ViewportSize = {"width": 1280, "height": 860}


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Return a browser; without one the test says so, and fails in the gate."""
    program = browser_program()
    if program is None:
        assert os.environ.get("CI") != "true", NONE
        pytest.skip(NONE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, env={**browser_environment(program)}
        )
        yield browser
        browser.close()


@contextmanager
def served(deployment: Deployment, **options: Any) -> Iterator[ConsoleServer]:
    """Serve a console for the length of a block."""
    with ConsoleServer(deployment, every_seconds=1.0, **options) as server:
        thread = threading.Thread(target=server.run, name="console")
        thread.start()
        try:
            yield server
        finally:
            server.stop()
            thread.join()


class ConsolePage:
    """One tab with a console in it."""

    def __init__(self, browser: Browser, server: ConsoleServer, tmp: Path) -> None:
        self._context = browser.new_context(
            viewport=SIZE, color_scheme="light", reduced_motion="reduce", accept_downloads=True
        )
        self._context.set_default_timeout(LIMIT_MS)
        expect.set_options(timeout=LIMIT_MS)
        self.page: Page = self._context.new_page()
        self.mistakes: list[str] = []
        self.page.on("pageerror", lambda error: self.mistakes.append(str(error)))
        self.page.on("dialog", lambda dialog: self.mistakes.append(dialog.message))
        self._tmp = tmp
        self.page.goto(server.url)

    def close(self) -> None:
        self._context.close()
        assert self.mistakes == []

    def open(self, name: str) -> None:
        """Follow a link of the navigation."""
        self.page.get_by_role("navigation", name="Pages").get_by_role(
            "link", name=re.compile(f"^{name}")
        ).click()

    def click(self, name: str, role: Any = "link") -> None:
        self.page.get_by_role(role, name=name, exact=True).first.click()

    def sees(self, text: str) -> None:
        """Wait until the page shows a text."""
        expect(self.page.get_by_text(text).first).to_be_visible()

    def confirm(self, button: str, *, documents: str, reason: str) -> str:
        """Read what an action would do, give a reason, confirm it, and return how it ended."""
        expect(self.page.locator(".documents")).to_contain_text(documents)
        self.page.get_by_label("Reason").fill(reason)
        self.click(button, "button")
        self.page.wait_for_url("**/runs/*")
        expect(self.page.locator("#run-panel .badge")).not_to_have_text("running")
        return self.page.locator("#run-panel .badge").inner_text()

    def check(self, name: str) -> None:
        """Find no serious mistake of accessibility, light and dark, and take both pictures."""
        expect(self.page.locator("#health.is-loading")).to_have_count(0)
        folder = Path(PICTURES) if PICTURES and name in SHOWN else self._tmp
        schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
        for scheme in schemes:
            self.page.emulate_media(color_scheme=scheme)
            self.page.screenshot(path=folder / f"{name}-{scheme}.png")
            found = self._serious()
            assert found == [], f"{name}, {scheme}"
        self.page.emulate_media(color_scheme="light")

    def _serious(self) -> list[str]:
        # Evaluated by the driver: the page's own policy lets no foreign script in.
        self.page.evaluate(AXE.read_text())
        answer = self.page.evaluate("axe.run({resultTypes: ['violations']})")
        return [
            f"{one['id']}: {node['target']} {node['failureSummary']}"
            for one in answer["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]
