"""Promises about a full disk: a sentence instead of a traceback or a hang, nothing lost, and on it goes afterwards."""

import contextlib
import errno
import os
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pincite import cli
from pincite.core.domain.documents import DocumentStatus, JobStatus
from pincite.core.domain.errors import FullDiskError, SettingsError
from pincite.core.domain.settings import Settings, load_settings, save_choices
from pincite.core.services import bootstrap
from pincite.core.services.bootstrap import open_pincite
from pincite.core.store.shelf import Shelf
from tests.ingest.other_embedder import OtherEmbedder
from tests.support.rows import sqlite_of


def test_ingest_goes_on_by_itself_once_there_is_space(
    library: Settings, samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = threading.Event()
    full.set()
    put_pages = Shelf.put_pages

    def put_where_there_is_space(shelf: Shelf, *given: Any, **named: Any) -> None:
        if full.is_set():
            raise FullDiskError("The disk is full.")
        put_pages(shelf, *given, **named)

    monkeypatch.setattr(Shelf, "put_pages", put_where_there_is_space)
    with closing(open_pincite(library)) as pincite:
        document = pincite.ingest.add(samples / "scanned-letter.pdf", "scanned-letter.pdf").document
        with pytest.raises(FullDiskError):
            pincite.ingest.wait([document.id], timeout_seconds=300)
        full.clear()
        while pincite.library.get(document.id).status is not DocumentStatus.READY:
            with contextlib.suppress(FullDiskError):  # until the next try, five seconds later at most
                assert pincite.ingest.wait([document.id], timeout_seconds=300)


def test_settings_that_cannot_be_kept_leave_the_old_ones(library: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    save_choices(library.data_dir, {"kept": 7})

    def full(path: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(SettingsError, match="No space left"):
        save_choices(library.data_dir, {"kept": 9})
    assert load_settings(library.data_dir).kept == 7


def test_a_choice_that_cannot_be_kept_switches_no_index(library: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(data_dir: Path, chosen: object) -> None:
        raise SettingsError("No space left on device.")

    monkeypatch.setattr(bootstrap, "make_embedder", lambda name, settings: OtherEmbedder())
    with closing(open_pincite(library, at_work=False)) as pincite:
        before = [tuple(row) for row in sqlite_of(pincite).connection.execute("SELECT * FROM vector_indexes")]
        with monkeypatch.context() as patch:
            patch.setattr("pincite.core.services.settings.save_choices", full)
            with pytest.raises(SettingsError, match="No space left"):
                pincite.settings.change(embedding_model="ollama:other")
        after = [tuple(row) for row in sqlite_of(pincite).connection.execute("SELECT * FROM vector_indexes")]
        assert after == before
        assert pincite.indexes.wanted_name == pincite.settings.current.embedding_model


def test_unfinished_document_is_resumed(library: Settings, samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(open_pincite(library)) as pincite:
        document = pincite.library.find("service-contract.pdf")
        pincite.ingest.close()
        pincite.ingest.retry(document.id)
        pincite.ingest._jobs.end(document.id, JobStatus.FAILED, "The disk was full.")
    add = ["add", "--data-dir", str(library.data_dir), str(samples / "service-contract.pdf")]
    assert cli.main(add) == cli.ANSWERED
    assert "added before but not finished" in capsys.readouterr().err
    assert cli.main(["retry", "--data-dir", str(library.data_dir), "service-contract.pdf"]) == cli.ANSWERED
    assert "4 pages" in capsys.readouterr().out
