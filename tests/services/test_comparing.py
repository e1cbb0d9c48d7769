"""Versions of a library's documents compared, on the command line and as files."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pincite.cli import main
from pincite.core.domain.errors import DocumentError
from pincite.core.domain.settings import Settings
from pincite.core.domain.versions import Concern
from pincite.core.services.bootstrap import Pincite, open_pincite
from tests.support.pdfs import prose

OLD = "Lease of a hall. The rent is EUR 2,750 a month. The tenant shall pay for heating."
NEW = "Lease of a hall. The rent is EUR 2,950 a month. The tenant may pay for heating."


@pytest.fixture
def pincite(settings: Settings) -> Iterator[Pincite]:
    with closing(open_pincite(settings)) as opened:
        for name, text in (("lease-v1.pdf", OLD), ("lease-v2.pdf", NEW)):
            opened.ingest.add(prose([text]), name)
        opened.ingest.wait()
        yield opened


def ids(pincite: Pincite) -> tuple[str, str]:
    return pincite.library.find("lease-v1.pdf").id, pincite.library.find("lease-v2.pdf").id


@pytest.mark.behaviour("Versions", "Two versions of a document are compared sentence by sentence, also from files.")
def test_documents_are_compared_once_and_found_by_version(pincite: Pincite) -> None:
    older, newer = ids(pincite)
    found = pincite.versions.compare(older, newer)
    assert [one.concerns for one in found.differences] == [(Concern.FIGURE,), (Concern.MEANING,)]
    assert pincite.versions.compare(older, newer) is found
    assert pincite.versions.earlier_of(newer) == older and pincite.versions.earlier_of(older) == ""


def test_a_document_is_not_compared_with_itself_nor_unread(pincite: Pincite) -> None:
    older, _ = ids(pincite)
    with pytest.raises(DocumentError, match="no differences from itself"):
        pincite.versions.compare(older, older)
    empty = pincite.ingest.add(prose([""]), "empty.pdf").document.id
    pincite.ingest.wait()
    with pytest.raises(DocumentError, match="No text of empty"):
        pincite.versions.compare(older, empty)


def test_exports_name_both_versions_and_run_no_formula(pincite: Pincite) -> None:
    older, newer = ids(pincite)
    found = pincite.versions.compare(older, newer)
    rows = list(csv.DictReader(io.StringIO(pincite.versions.export(found, ".csv").decode("utf-8-sig"))))
    assert rows[0]["lease-v1.pdf"] == "The rent is EUR 2,750 a month." and rows[0]["About"] == "figure"
    pincite.library.rename(newer, "=1+1.pdf")
    assert "'=1+1.pdf" in pincite.versions.export(found, ".csv").decode("utf-8-sig").splitlines()[0]
    plain = json.loads(pincite.versions.export(found, ".json"))
    assert plain["older"] == "lease-v1.pdf" and [one["matters"] for one in plain["differences"]] == [True, True]
    place = plain["differences"][0]["new"]["marks"][0]
    assert pincite.library.page_text(newer, 0)[place["start"] : place["end"]] == "EUR 2,950"


def test_command_compares_documents_and_files(
    pincite: Pincite, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pincite.close()
    there = ["--data-dir", str(settings.data_dir)]
    assert main(["diff", "lease-v1.pdf", "lease-v2.pdf", *there]) == 1
    told = capsys.readouterr().out
    assert "- p. 1: The rent is EUR 2,750 a month." in told and "2 changes that may matter." in told
    file, out = tmp_path / "new.pdf", tmp_path / "out.json"
    file.write_bytes(prose([OLD.replace(". ", ".\n")]))
    assert main(["diff", "lease-v1.pdf", str(file), "--json", str(out), *there]) == 0
    assert "Nothing that may matter has changed" in capsys.readouterr().out
    assert json.loads(out.read_text(encoding="utf-8"))["differences"] == []
    assert main(["diff", "lease-v1.pdf", "lease-v1.pdf", *there]) == 0
    assert "the same file" in capsys.readouterr().out
    assert main(["diff", "lease-v1.pdf", "lease-v2.pdf", "--json", str(out), *there]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["diff", "lease-v1.pdf", "none.pdf", *there]) == 2
    assert "none.pdf" in capsys.readouterr().err
