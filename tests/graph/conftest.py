"""A world for turns to be asked in, opened as often as a test wants."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.graph.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Any]:
    opened: list[World] = []

    def open_world(*arguments: Any, **choices: Any) -> World:
        opened.append(World(tmp_path, *arguments, **choices))
        return opened[-1]

    yield open_world
    for one in opened:
        one.close()
