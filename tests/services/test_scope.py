"""What a question is limited to: evidence never comes from elsewhere, and a choice never turns into "everything"."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pincite.core.domain.errors import FullDiskError
from pincite.core.domain.search import Mode
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import Turn, TurnStatus
from pincite.core.graph.context import Lacking
from pincite.core.services.bootstrap import Pincite, open_pincite
from tests.graph.world import ScriptedModel, Shelf, World
from tests.support.pdfs import prose

pytestmark = pytest.mark.usefixtures("each_engine")

PENALTY = "What interest do overdue amounts bear?"
RIGHT = "Overdue amounts bear interest at 1.5 % per month. [1]"
CONTRACT, REPORT = "id-Service contract.pdf", "id-report.pdf"


def remove(world: World, document_id: str) -> None:
    world.shelf.texts.pop(document_id)
    world.shelf.names.pop(document_id)


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.DOCUMENTS])
@pytest.mark.parametrize("question", [PENALTY, "Summarise the documents", "overdue amounts"])
def test_scope_with_only_removed_documents_searches_nothing_and_reports_it(
    tmp_path: Path, mode: Mode, question: str
) -> None:
    model = ScriptedModel(*["From what I know, 9 %."] * 3)
    world = World(tmp_path, model)
    world.sessions.set_documents(world.session.id, [REPORT])
    remove(world, REPORT)
    turn = world.ask(question, mode=mode).turn
    assert turn.status is TurnStatus.FAILED and "None of the documents chosen" in turn.error
    assert not turn.answer and not turn.evidence and not model.requests
    assert world.sessions.get(world.session.id).document_ids == (REPORT,), "the choice stays"
    again = world.runner.wait(world.runner.run_again(turn.id), 300).turn
    assert again.status is TurnStatus.FAILED, "run again keeps it too"
    world.close()


def test_remaining_documents_in_scope_are_searched_and_missing_ones_reported(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel(RIGHT))
    turn = world.ask(PENALTY, document_ids=[CONTRACT, "id-gone.pdf"]).turn
    assert turn.status is TurnStatus.ANSWERED
    assert "No longer in the library: 1 of the 2 chosen documents." in turn.notices
    world.close()


def test_mention_overrides_the_scope_and_the_turn_records_where_it_searched(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel(RIGHT))
    world.sessions.set_documents(world.session.id, ["id-gone.pdf"])
    turn = world.ask(f"@Service contract.pdf {PENALTY}").turn
    assert turn.status is TurnStatus.ANSWERED
    assert turn.document_ids == (CONTRACT,) and turn.scope == ("id-gone.pdf",)
    world.close()


@pytest.mark.parametrize("how", [{}, {"hint": "Look again"}])
def test_run_again_keeps_what_was_asked_all_or_these(tmp_path: Path, how: dict[str, Any]) -> None:
    shelf = Shelf({"report.pdf": ("The turbine reached 41.7 percent.",)})
    world = World(tmp_path, ScriptedModel(*[RIGHT] * 12), shelf=shelf)
    everything, these = world.ask(PENALTY).turn, world.ask(PENALTY, document_ids=[REPORT]).turn
    world.sessions.set_documents(world.session.id, [REPORT])
    world.shelf.texts[CONTRACT] = ("Overdue amounts bear interest at 1.5 % per month from the due date.",)
    world.shelf.names[CONTRACT] = "Service contract.pdf"
    again = world.runner.wait(world.runner.run_again(everything.id, **how), 300).turn
    assert again.document_ids == (REPORT, CONTRACT) and again.scope == ()
    assert {item.passage.document_id for item in again.evidence} == {CONTRACT}
    narrow = world.runner.wait(world.runner.run_again(these.id, **how), 300).turn
    assert narrow.scope == (REPORT,) and {item.passage.document_id for item in narrow.evidence} <= {REPORT}
    world.close()


def test_adding_adds_and_never_narrows(tmp_path: Path) -> None:
    world = World(tmp_path)
    session = world.session.id
    world.sessions.add_documents(session, [CONTRACT])
    assert world.sessions.get(session).document_ids == (), "all documents, the new one among them"
    world.sessions.set_documents(session, [REPORT])
    world.sessions.add_documents(session, [CONTRACT, REPORT])
    assert world.sessions.get(session).document_ids == (REPORT, CONTRACT)
    world.close()


def test_no_scope_and_no_removal_lets_evidence_in_from_outside(tmp_path: Path) -> None:
    """Real indexes, random scopes, documents that go: twelve libraries' worth of questions."""
    dice = random.Random(9)
    app = open_pincite(Settings(data_dir=tmp_path / "data", engine="quoting"))
    try:
        ids = [_add(app, number) for number in range(6)]
        here = list(ids)
        for _ in range(24):
            scope = dice.sample(ids, dice.randint(1, 3))
            session = app.sessions.create(document_ids=scope).id
            if len(here) > 1 and dice.random() < 0.2:
                app.ingest.remove(here.pop(dice.randrange(len(here))))
            turn = _ask(app, session, dice.choice(("How high is the late fee?", "Summarise the documents", "late fee")))
            allowed = set(scope) & set(here)
            _assert_within(turn, allowed)
            if not allowed:
                assert turn.status is TurnStatus.FAILED and "None of the documents chosen" in turn.error
            _, result = app.search.try_out("late fee", scope)
            assert {item.passage.document_id for item in result.evidence} <= allowed
    finally:
        app.close()


def _add(app: Pincite, number: int) -> str:
    content = prose([f"The late fee of lease {number} is {number + 2} dollars a day."])
    document = app.ingest.add(content, f"lease {number}.pdf").document
    assert app.ingest.wait([document.id], timeout_seconds=300)
    return document.id


def _ask(app: Pincite, session_id: str, question: str) -> Turn:
    return app.runner.wait(app.runner.ask(session_id, question, mode=Mode.DOCUMENTS), 300).turn


def _assert_within(turn: Turn, allowed: set[str]) -> None:
    assert {item.passage.document_id for item in turn.evidence} <= allowed
    assert {citation.document_id for citation in turn.citations} <= allowed
    for attempt in turn.attempts:
        assert {item.passage.document_id for item in attempt.evidence} <= allowed


def test_a_question_can_be_put_to_all_documents_and_on_its_own(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel(*[RIGHT] * 12), shelf=Shelf({"report.pdf": (RIGHT,), "other.pdf": (RIGHT,)}))
    world.ask(PENALTY, document_ids=[REPORT])
    narrow = world.ask("And per day?", document_ids=[REPORT]).turn
    assert narrow.scope == (REPORT,) and narrow.asked != "And per day?"
    wide = world.runner.wait(world.runner.run_again(narrow.id, everywhere=True), 300).turn
    assert wide.scope == () and wide.asked == narrow.asked
    alone = world.runner.wait(world.runner.run_again(narrow.id, alone=True), 300).turn
    assert alone.scope == (REPORT,) and alone.asked == "And per day?"
    world.close()


def test_a_question_to_all_is_answered_from_what_is_read_and_one_to_a_document_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pincite.core.services.turns.TEXT_SECONDS", 0.0)
    asked = list[Sequence[str]]()

    def lacking(ids: Sequence[str], seconds: float) -> Lacking:
        asked.append(ids)
        return Lacking.TEXT if len(ids) > 1 or len(asked) < 5 else Lacking.NOTHING

    world = World(tmp_path, ScriptedModel(*[RIGHT] * 4), await_documents=lacking)
    assert world.ask(PENALTY).turn.status is TurnStatus.ANSWERED
    assert len(asked[0]) == 2, "it would wait for ever"
    for how in ({"document_ids": [CONTRACT]}, {}):
        asked.clear()
        question = PENALTY if how else f"@Service contract.pdf {PENALTY}"
        assert world.ask(question, **how).turn.status is TurnStatus.ANSWERED
        assert [list(ids) for ids in asked] == [[CONTRACT]] * 5
    world.close()


def test_a_full_disk_fails_no_question_to_what_is_read(tmp_path: Path) -> None:
    def full(ids: Sequence[str], seconds: float) -> Lacking:
        raise FullDiskError("The disk is full.")

    world = World(tmp_path, ScriptedModel(RIGHT, RIGHT), await_documents=full)
    assert world.ask(PENALTY).turn.status is TurnStatus.ANSWERED
    assert "disk is full" in world.ask(PENALTY, document_ids=[CONTRACT]).turn.error
    world.close()
