"""What may stand in the repository: no addresses of package hosts, no paths of one machine."""

import re
from pathlib import Path

import pytest

from tests.repo.checkout import ROOT, files, texts

LARGEST_FILE_BYTES = 500_000
# Written apart, so that this file passes its own test.
HOSTS = [
    f"{name}.org"
    for name in ("pypi", "pythonhosted", "npmjs", "repo1.maven", "maven.apache", "deb.debian")
]
# A made-up home in a test is fine.
PERSONAL_FOLDER = r"(?<![\w.:/-])/(?:root|Users|work|home(?!/me\b))/\w+"
FIXED = ["README.md", "app.py", "cdk.json", "LICENSE", "CONTRIBUTING.md", "pyproject.toml"]
FIXED += ["functions", "infrastructure", "tests", "events", "local", "ops", "docs/decisions"]


def unwanted(text: str) -> list[str]:
    """Return what ties a text to one machine or one package host."""
    hosts = "|".join(re.escape(host) for host in HOSTS)
    own = "|".join(re.escape(str(path)) for path in (ROOT, Path.home()) if len(path.parts) > 2)
    pattern = "|".join(part for part in (hosts, PERSONAL_FOLDER, own) if part)
    return re.findall(pattern, text)


def test_no_file_names_a_package_host_or_a_path_of_one_machine() -> None:
    """Anywhere: the checkout works behind any package index and in any folder."""
    found = [f"{path}: {word}" for path, text in texts().items() for word in unwanted(text)]

    assert found == []


@pytest.mark.parametrize("text", [f"see {'/home'}/ann/x", f"https://{HOSTS[0]}/simple", str(ROOT)])
def test_a_tie_to_one_machine_is_found(text: str) -> None:
    """Anywhere: the search sees folders and hosts."""
    assert unwanted(text) != []


@pytest.mark.parametrize("text", ["functions/root/x", "https://example.com/home/ann", "/tmp/x"])
def test_an_ordinary_path_is_no_tie(text: str) -> None:
    """Anywhere: relative paths, other addresses and the temporary folder are fine."""
    assert unwanted(text) == []


def test_no_file_is_large() -> None:
    """Small: data is fetched and checked by its hash, never committed."""
    large = [path for path in files() if path.stat().st_size > LARGEST_FILE_BYTES]

    assert large == []


def test_the_layout_is_whole() -> None:
    """Layout: the folders and files that the documents speak of are there."""
    assert [name for name in FIXED if not (ROOT / name).exists()] == []
