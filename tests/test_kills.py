"""Promise: ``kill -9`` at any moment of whatever is done, start again, and nothing is lost, doubled or at odds."""

from pathlib import Path

import pytest

from benchmarks.attacks import kills
from core.domain.documents import DocumentStatus, JobStage
from core.domain.settings import Settings
from tests.ingest.workshop import make_pdf, open_workshop

SHORT = ("retry", "remove", "purge", "review", "switch", "delete_session", "migration")


def test_nothing_is_inconsistent_after_a_kill(capfd: pytest.CaptureFixture[str]) -> None:
    result = kills.run(600, scenes=SHORT, most=1)
    assert result["inconsistent"] == 0, capfd.readouterr().err
    assert result["kills"] >= len(SHORT) // 2


def test_vectors_that_are_whole_do_not_end_a_job_whose_words_are_not(settings: Settings, tmp_path: Path) -> None:
    """Found by a kill between the words and their being searchable: the document was ready, and never found."""
    with open_workshop(settings) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", ["The rent is due."]), "a.pdf").document
        shop.finish()
        shop.ingest._closing.set()
        with shop.database.transaction() as connection:
            connection.execute("UPDATE jobs SET status = 'running', stage = ?", (JobStage.KEYWORDS,))
            connection.execute("UPDATE documents SET searchable = 0, status = 'reading'")
        shop.ingest._stages._move_on(document.id)
        assert shop.library.get(document.id).status is DocumentStatus.READING
