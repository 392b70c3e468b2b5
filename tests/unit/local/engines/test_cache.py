"""Where the cache is."""

from pathlib import Path

import pytest

from local.engines.fetch import cache_folder


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({"EMBEDQ_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own", id="chosen"),
        pytest.param({"XDG_CACHE_HOME": "/xdg"}, "/xdg/embedq", id="xdg"),
        pytest.param({"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/embedq", id="xdg-invalid"),
        pytest.param({}, "/home/me/.cache/embedq", id="home"),
    ],
)
def test_the_cache_is_per_user_and_can_be_chosen(
    environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R82: fetched engines are cached per user."""
    for name in ("EMBEDQ_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/me", **environment}.items():
        monkeypatch.setenv(name, value)

    assert cache_folder() == Path(expected)
