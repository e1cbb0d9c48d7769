"""The whole product on the sample PDFs, wired as the app wires it, with the network forbidden."""

import io
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from pincite.core.errors import SettingsError, TurnError
from pincite.core.runtime import Pincite, open_pincite
from pincite.core.settings import Settings, load_settings
from pincite.core.types import ReviewDecision, Turn, TurnStatus

PENALTIES = "What are the late payment penalties?"
CONTRACT = "service-contract.pdf"


@pytest.fixture(scope="module")
def app(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pincite]:
    def refuse(*arguments: object, **named: object) -> None:
        raise OSError("the network is forbidden")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(socket, "getaddrinfo", refuse)
        app = open_pincite(Settings(data_dir=tmp_path_factory.mktemp("data"), engine="quoting", ocr=False))
        for name in (CONTRACT, "technical-report.pdf"):
            app.ingest.add(samples / name, name)
        assert app.ingest.wait(timeout_seconds=120)
        yield app
        app.close()


def ask(app: Pincite, question: str) -> Turn:
    session = app.sessions.create()
    return app.runner.wait(app.runner.ask(session.id, question), 60).turn


def test_the_sample_contract_answers_with_rate_days_and_page(app: Pincite) -> None:
    turn = ask(app, PENALTIES)
    assert turn.status is TurnStatus.ANSWERED, turn.reasons
    assert "1.5%" in turn.answer.replace(" %", "%") and "30 days" in turn.answer
    assert turn.citations and {citation.document_name for citation in turn.citations} == {CONTRACT}
    for citation in turn.citations:
        page = app.library.page_text(citation.document_id, citation.page_index)
        assert page[citation.start : citation.end] == citation.quotation, "found in the page, not claimed"


def test_the_quotation_is_marked_on_the_page(app: Pincite) -> None:
    citation = ask(app, PENALTIES).citations[0]
    plain = app.page_image(citation.document_id, citation.page_index, width=600)
    marked = app.page_image(
        citation.document_id, citation.page_index, width=600, marks=[(citation.start, citation.end)]
    )
    before, after = (Image.open(io.BytesIO(image)).convert("RGB") for image in (plain, marked))
    assert before.size == after.size and before.size[0] == 600
    left, top, right, bottom = ImageChops.difference(before, after).getbbox() or (0, 0, 0, 0)
    assert right - left > 100 and 5 < bottom - top < before.size[1] / 3, "some lines, not the page"


def test_what_is_not_in_the_documents_is_said(app: Pincite) -> None:
    turn = ask(app, "Which zebra won the lottery in Antarctica?")
    assert "do not say" in turn.answer and not turn.citations


def test_every_part_is_healthy_and_has_a_size(app: Pincite) -> None:
    checks = app.health()
    assert [check.part for check in checks if not check.ok] == []
    assert app.storage()["database"] > 0 and app.storage()["vectors"] > 0


def test_the_playground_shows_every_stage(app: Pincite) -> None:
    plan, result = app.search("late payment")
    assert plan.standalone_question == "late payment"
    assert {"keyword", "dense", "fused", "reranked"} <= set(result.rankings)


def test_an_edit_is_checked_as_it_is_typed(app: Pincite) -> None:
    turn = ask(app, PENALTIES)
    number = turn.citations[0].number
    good = app.check_edit(turn.id, f"Overdue amounts bear 1.5% per month. [{number}]")
    bad = app.check_edit(turn.id, f"Overdue amounts bear 7.5% per month. [{number}]")
    assert good.confidence > bad.confidence


def test_settings_are_kept_and_a_bad_one_changes_nothing(app: Pincite) -> None:
    with pytest.raises(SettingsError):
        app.change_settings(max_retries=99)
    app.change_settings(max_retries=1)
    assert load_settings(app.settings.data_dir).max_retries == 1
    app.change_settings(max_retries=2)


def test_a_reviewed_answer_returns_to_the_queue_when_its_document_goes(app: Pincite, samples: Path) -> None:
    turn = ask(app, PENALTIES)
    app.reviews.decide(turn.id, ReviewDecision.APPROVED, reviewer="Ada")
    assert ask(app, "Please tell me: what are the late payment penalties?").reused_from == turn.id
    app.ingest.remove(app.library.find(CONTRACT).id)
    assert [waiting.id for waiting in app.turns.flagged() if waiting.id == turn.id] == [turn.id]
    assert ask(app, PENALTIES).reused_from == ""
    app.ingest.add(samples / CONTRACT, CONTRACT)
    assert app.ingest.wait(timeout_seconds=120)


def test_a_deleted_session_is_gone(app: Pincite) -> None:
    turn = ask(app, PENALTIES)
    app.sessions.delete(turn.session_id)
    with pytest.raises(TurnError):
        app.turns.get(turn.id)
