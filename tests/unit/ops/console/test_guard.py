"""Who may talk to the console: every other web page is refused, whichever way it tries."""

from collections.abc import Mapping

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from ops.console.guard import HEADERS, Guard, cookie_name

TOKEN = "secret-of-this-console"
HERE = "127.0.0.1:8400"


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("a page")(scope, receive, send)


def browser(token: str = TOKEN) -> TestClient:
    """Return a browser that has opened the console's address."""
    client = TestClient(Guard(page, token=TOKEN), base_url=f"http://{HERE}")
    client.get(f"/?token={token}")
    return client


def test_address_with_the_token_becomes_a_cookie_and_leaves_the_history() -> None:
    """R49: the token stands in no address afterwards, and no script reads it."""
    client = TestClient(Guard(page, token=TOKEN), base_url=f"http://{HERE}")

    answer = client.get(f"/failures?token={TOKEN}&type=news", follow_redirects=False)

    assert (answer.status_code, answer.headers["location"]) == (303, "/failures?type=news")
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith(f"{cookie_name(HERE)}={TOKEN}")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/failures").text == "a page"


@pytest.mark.parametrize("path", ["/%2F/evil.example", "/%2F%2Fevil.example", "/%5Cevil.example"])
def test_address_leads_to_no_other_host(path: str) -> None:
    """R49: a link with two slashes is one to another host, a link with a backslash too."""
    client = TestClient(Guard(page, token=TOKEN), base_url=f"http://{HERE}")

    answer = client.get(f"{path}?token={TOKEN}", follow_redirects=False)

    assert answer.headers["location"] in ("/evil.example", "/%5Cevil.example")


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=wrong", "/static/console.js"])
def test_nothing_is_shown_without_the_token(path: str) -> None:
    """R49: not even the scripts."""
    client = TestClient(Guard(page, token=TOKEN), base_url=f"http://{HERE}")

    answer = client.get(path)

    assert answer.status_code == 403
    assert "embedq console" in answer.text


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {"host": "evil.example"}),
        ("GET", {"host": "127.0.0.1.evil.example:8400"}),
        ("GET", {"host": ""}),
        ("GET", {"host": "[::1"}),
        ("GET", {"host": "127.0.0.1:port"}),
        ("GET", {"host": "127.0.0.1:99999"}),
        ("GET", {"origin": "http://evil.example"}),
        ("GET", {"sec-fetch-site": "cross-site"}),
        # Another port of this machine is the same site, and gets the same cookies.
        ("GET", {"sec-fetch-site": "same-site"}),
        ("POST", {}),
        ("POST", {"origin": "null"}),
        ("POST", {"origin": "http://127.0.0.1:9999"}),
        ("POST", {"origin": f"https://{HERE}"}),
        ("POST", {"origin": f"http://{HERE}", "sec-fetch-site": "cross-site"}),
    ],
)
def test_other_pages_are_refused_although_the_browser_has_the_cookie(
    method: str, headers: Mapping[str, str]
) -> None:
    """R49: a name that leads here, a form, a frame, a script of another port."""
    answer = browser().request(method, "/", headers=headers)

    assert (answer.status_code, "a page" in answer.text) == (403, False)


@pytest.mark.parametrize("host", [HERE, "localhost:8400", "[::1]:8400", "127.0.0.1:9000"])
def test_own_pages_are_answered_under_every_name_of_this_machine(host: str) -> None:
    """R49: also behind a forwarded port, under the name that the browser uses."""
    client = TestClient(Guard(page, token=TOKEN), base_url=f"http://{host}")
    client.get(f"/?token={TOKEN}")

    form = {"origin": f"http://{host}", "sec-fetch-site": "same-origin"}
    assert client.get("/", headers={"sec-fetch-site": "none"}).text == "a page"
    assert client.post("/", headers=form).text == "a page"


def test_every_answer_forbids_frames_foreign_scripts_and_caches() -> None:
    """R49: refusals too."""
    for answer in (browser().get("/"), browser("wrong").get("/")):
        assert HEADERS.items() <= dict(answer.headers).items()
    policy = HEADERS["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
