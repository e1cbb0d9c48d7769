"""A library with two documents and an answer, made once; each test works on a copy."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pincite.core.domain.settings import Settings
from pincite.core.services.bootstrap import open_pincite

QUESTION = "What is the penalty for late payment?"


@pytest.fixture(scope="session")
def made(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = Settings(data_dir=tmp_path_factory.mktemp("made") / "data", engine="quoting", ocr=False)
    with closing(open_pincite(settings)) as pincite:
        for name in ("service-contract.pdf", "technical-report.pdf"):
            pincite.ingest.add(samples / name, name)
        assert pincite.ingest.wait(timeout_seconds=300)
        session = pincite.sessions.create()
        pincite.runner.wait(pincite.runner.ask(session.id, QUESTION), 120)
    return settings.data_dir


@pytest.fixture
def library(made: Path, tmp_path: Path) -> Iterator[Settings]:
    settings = Settings(data_dir=tmp_path / "library", engine="quoting", ocr=False)
    shutil.copytree(made, settings.data_dir, ignore=shutil.ignore_patterns("backups"))
    yield settings
