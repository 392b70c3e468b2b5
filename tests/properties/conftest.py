"""Properties measure no coverage: it takes as much time again, and other tests reach the same."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Switch the measuring off while one of them runs."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.no_cover)
