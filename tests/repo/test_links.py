"""Every link of a document leads somewhere: to a file, and to a heading of it."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.repo.checkout import ROOT, texts

PAGES = texts("*.md")
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
ELSEWHERE = re.compile(r"[a-z]+:")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
INDEX = "docs/README.md"
# Parts of a page that leads to them, or drawn by one.
BELOW = ("docs/decisions/", "docs/operations/")


def prose(text: str) -> str:
    """Leave out blocks of code: a comment there is no heading."""
    return CODE.sub("", text)


def anchors(text: str) -> set[str]:
    """Name the headings of a page as its links do."""
    found: list[str] = []
    for heading in HEADING.findall(prose(text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        found.append(f"{name}-{found.count(name)}" if name in found else name)
    return set(found)


def links(text: str) -> list[str]:
    """Return the links of a page to this repository."""
    found = [one or other for one, other in LINK.findall(prose(text))]
    return [link for link in found if not ELSEWHERE.match(link)]


def broken(page: str, link: str) -> str | None:
    """Say what is wrong with a link, if anything is."""
    name, _, anchor = unquote(link).partition("#")
    target = (ROOT / page).parent / name if name else ROOT / page
    if not target.exists() or not target.resolve().is_relative_to(ROOT):
        return f"{page}: {link}: no such file"
    if anchor and anchor not in anchors(target.read_text()):
        return f"{page}: {link}: no such heading"
    return None


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page: str) -> None:
    """Newcomer: no reader ends at a page that is not there."""
    found = [broken(page, link) for link in links(PAGES[page])]

    assert [one for one in found if one] == []


def test_every_page_is_reached_from_the_index() -> None:
    """Newcomer: a page that nothing leads to is not read."""
    pages = [page for page in PAGES if page.startswith("docs/") and not page.startswith(BELOW)]
    named = {(ROOT / "docs" / link.partition("#")[0]).resolve() for link in links(PAGES[INDEX])}

    assert [page for page in pages if page != INDEX and ROOT / page not in named] == []
    for folder in BELOW:
        assert ROOT / folder in named or ROOT / folder / "README.md" in named


def test_number_of_a_decision_is_its_own() -> None:
    """Decisions: each is named by its number."""
    decisions = sorted((ROOT / "docs/decisions").glob("*.md"))

    numbers = [int(path.name[:4]) for path in decisions]

    assert numbers == list(range(1, len(decisions) + 1))
    for number, path in zip(numbers, decisions, strict=True):
        assert path.read_text().startswith(f"# {number}. ")


def test_what_leads_nowhere_is_found(tmp_path: Path) -> None:
    """Newcomer: the search sees files, headings and pictures, and no comment of a command."""
    page = tmp_path / "a.md"
    page.write_text("# One `two`: three\n```\n# not me\n```\n## Same\n## Same\n")

    assert anchors(page.read_text()) == {"one-two-three", "same", "same-1"}
    assert broken("README.md", "nothing.md") is not None
    assert broken("README.md", "docs/glossary.md#nothing") is not None
    assert broken("README.md", "docs/glossary.md#glossary") is None
    assert links('![x](a.svg) <img src="b.png"> [y](https://example.com)') == ["a.svg", "b.png"]
