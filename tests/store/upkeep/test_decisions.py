"""Promise: a decision that was changed, removed or added from outside is noticed; what Pincite does itself is not."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pincite import cli
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import ReviewDecision
from pincite.core.services.bootstrap import Pincite, open_pincite
from pincite.core.store.upkeep.defects import DefectKind
from pincite.core.store.upkeep.verify import verify

QUESTIONS = ("What is the penalty for late payment?", "How can the contract be ended?", "Which law governs it?")


@pytest.fixture(scope="module")
def _decided(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with three decisions, one of them withdrawn; tests copy it."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("decided") / "library", engine="quoting", ocr=False)
    shutil.copytree(made, settings.data_dir)
    with closing(open_pincite(settings)) as pincite:
        turns = _asked(pincite)
        for turn_id in turns:
            pincite.reviews.decide(turn_id, ReviewDecision.EDITED, final_answer="It is 1.5 % per month.")
        pincite.reviews.undo(turns[-1])
    return settings.data_dir


@pytest.fixture
def decided(_decided: Path, tmp_path: Path) -> Settings:
    settings = Settings(data_dir=tmp_path / "library", engine="quoting", ocr=False)
    shutil.copytree(_decided, settings.data_dir)
    return settings


def _asked(pincite: Pincite) -> list[str]:
    session = pincite.sessions.create()
    return [pincite.runner.wait(pincite.runner.ask(session.id, question), 300).turn.id for question in QUESTIONS]


def _found(settings: Settings) -> list[str]:
    return [finding.sentence for finding in verify(settings) if finding.kind is DefectKind.DECISION_CHANGED]


def _from_outside(settings: Settings, *statements: str) -> None:
    with closing(sqlite3.connect(settings.database_path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_what_pincite_does_itself_is_no_trouble(decided: Settings) -> None:
    assert _found(decided) == []
    with closing(open_pincite(decided)) as pincite:
        pincite.deletion.session(pincite.sessions.list()[0].id)
    assert _found(decided) == []


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE reviews SET final_answer = 'It is 9.5 % per month.' WHERE id = 1", "was changed from outside"),
        ("UPDATE reviews SET undone_at = '' WHERE id = 3", "was changed from outside"),
        ("UPDATE reviews SET reviewer = 'somebody else' WHERE id = 2", "was changed from outside"),
        ("DELETE FROM reviews WHERE id = 2", "was removed from outside"),
        ("INSERT INTO reviews (turn_id, decision, final_answer, reviewer, decided_at) "
         "SELECT turn_id, 'approved', 'Yes.', 'local', '' FROM reviews WHERE id = 1", "came from outside"),
        ("UPDATE review_log SET becomes = was WHERE id = 2", "changed at line 2"),
        ("DELETE FROM review_log WHERE id = 2", "changed at line 2"),
        ("DELETE FROM review_log WHERE id > 2", "last lines"),
    ],
)  # fmt: skip
def test_what_was_done_from_outside_is_noticed(decided: Settings, statement: str, expected: str) -> None:
    _from_outside(decided, statement)
    assert any(expected in sentence for sentence in _found(decided)), _found(decided)
    assert cli.main(["verify", "--data-dir", str(decided.data_dir)]) == 1


def test_a_change_from_outside_is_not_forgotten_when_pincite_goes_on(decided: Settings) -> None:
    _from_outside(decided, "UPDATE reviews SET note = 'forged' WHERE id = 1")
    with closing(open_pincite(decided)) as pincite:
        turn = next(turn for turn in pincite.turns.of_session(pincite.sessions.list()[0].id) if turn.review)
        pincite.reviews.undo(turn.id)
    assert any("was changed from outside" in sentence for sentence in _found(decided))


def test_repair_keeps_the_log(decided: Settings, tmp_path: Path) -> None:
    with closing(sqlite3.connect(decided.database_path)) as connection, connection:
        connection.execute("PRAGMA user_version = 1")
    assert cli.main(["repair", "--data-dir", str(decided.data_dir)]) == 0
    assert _found(decided) == []
