"""A library with the sample contract, and one answer to carry away."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import Turn
from pincite.core.services.bootstrap import Pincite, open_pincite

QUESTION = "What is the penalty for late payment?"


@pytest.fixture
def pincite(contract_library: Path, tmp_path: Path) -> Iterator[Pincite]:
    shutil.copytree(contract_library, tmp_path / "data")
    with closing(open_pincite(Settings(data_dir=tmp_path / "data", engine="quoting"))) as opened:
        yield opened


@pytest.fixture
def turn(pincite: Pincite) -> Turn:
    return pincite.runner.wait(pincite.runner.ask(pincite.sessions.create().id, QUESTION), 60).turn


@pytest.fixture
def reader(settings: Settings) -> Iterator[ProcessReader]:
    with closing(ProcessReader(settings)) as opened:
        yield opened
