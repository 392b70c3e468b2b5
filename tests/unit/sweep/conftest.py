"""A world for each test."""

import pytest

from tests.unit.sweep.world import World


@pytest.fixture
def world() -> World:
    return World()
