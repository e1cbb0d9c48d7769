"""Promises of the notes of a conversation: pinned text is on its page, and no part of it is lost."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pincite.core.domain.documents import Document
from pincite.core.domain.errors import TurnError
from pincite.core.domain.settings import Settings
from pincite.core.graph.context import Lacking
from pincite.core.services.bootstrap import Pincite, open_pincite
from tests.support.rows import run_sql

pytestmark = pytest.mark.usefixtures("each_engine")

SECONDS = 300


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", engine="quoting")


@pytest.fixture
def app(settings: Settings) -> Iterator[Pincite]:
    with closing(open_pincite(settings)) as opened:
        yield opened


@pytest.fixture
def contract(app: Pincite, samples: Path) -> Document:
    document = app.ingest.add((samples / "service-contract.pdf").read_bytes(), "service-contract.pdf").document
    assert app.documents.lacking([document.id], SECONDS) is Lacking.NOTHING
    return app.library.get(document.id)


def first_words(app: Pincite, document: Document, page_index: int = 1) -> str:
    return " ".join(app.library.page(document.id, page_index).text.split()[:6])


def test_pinned_words_are_found_on_their_page_and_survive_a_restart(
    app: Pincite, contract: Document, settings: Settings
) -> None:
    session = app.sessions.create()
    words = first_words(app, contract)
    app.notes.pin_words(session.id, contract.id, 1, words)
    app.notes.write(session.id, "Ask the *supplier* about this.")
    app.close()
    again = open_pincite(settings)
    notes = again.notes.of_session(session.id)
    (pin,) = notes.pins
    assert " ".join(pin.citation.quotation.split()) == words
    assert again.library.is_on_page(pin.citation)
    assert notes.text == "Ask the *supplier* about this."
    again.close()


def test_words_that_the_page_does_not_have_are_not_pinned(app: Pincite, contract: Document) -> None:
    session = app.sessions.create()
    with pytest.raises(TurnError, match="were not pinned"):
        app.notes.pin_words(session.id, contract.id, 1, "The moon is made of green cheese")
    assert app.notes.of_session(session.id).pins == ()


def test_an_answers_quotations_are_pinned_once_as_one_note_without_parts_of_each_other(
    app: Pincite, contract: Document
) -> None:
    session = app.sessions.create()
    turn_id = app.runner.ask(session.id, "What is the penalty for late payment?")
    app.runner.wait(turn_id, SECONDS)
    cited = app.turns.get(turn_id).final_citations
    assert cited
    for _ in range(2):
        app.notes.pin(session.id, cited)
    spans = [range(place.start, place.end) for place in cited]
    whole = [one for one in spans if not any(set(one) < set(other) for other in spans)]
    notes = app.notes.of_session(session.id)
    assert len(spans) > len(whole) > 0, "a headline is a part of its sentence"
    assert [range(pin.citation.start, pin.citation.end) for pin in notes.pins] == whole
    assert notes.groups == [list(notes.pins)]


def test_what_was_taken_away_can_be_brought_back(app: Pincite, contract: Document) -> None:
    session = app.sessions.create()
    for page_index in (0, 1):
        app.notes.pin_words(session.id, contract.id, page_index, first_words(app, contract, page_index))
    before = app.notes.of_session(session.id)
    app.notes.unpin(session.id, before.pins[0].id)
    after = app.notes.of_session(session.id)
    assert after.pins == before.pins[1:]
    assert after.removed == before.pins[0]
    app.notes.bring_back(session.id)
    assert app.notes.of_session(session.id) == before


def test_notes_are_exported_with_their_citations_and_say_which_source_was_removed(
    app: Pincite, contract: Document
) -> None:
    session = app.sessions.create("Late payments")
    words = first_words(app, contract)
    app.notes.pin_words(session.id, contract.id, 1, words)
    app.notes.write(session.id, "## Mine\n\nSee below.")
    exported = app.notes.export_markdown(session.id)
    assert exported.startswith("# Notes: Late payments\n\n## Mine\n\nSee below.\n\n- [1] service-contract.pdf, page 2")
    assert "source removed" not in exported
    app.ingest.remove(contract.id)
    assert "(source removed)" in app.notes.export_markdown(session.id)


def test_notes_go_with_their_session_and_pins_with_a_purged_document(app: Pincite, contract: Document) -> None:
    one, other = app.sessions.create(), app.sessions.create()
    for session in (one, other):
        app.notes.pin_words(session.id, contract.id, 1, first_words(app, contract))
        app.notes.write(session.id, "Mine")
    app.deletion.session(one.id)
    assert _rows(app) == {"notes": 1, "pins": 1}
    app.deletion.document_with_answers(contract.id)
    assert _rows(app) == {"notes": 1, "pins": 0}
    assert app.notes.of_session(other.id).text == "Mine"


def _rows(app: Pincite) -> dict[str, int]:
    return {table: run_sql(app, f"SELECT count(*) FROM {table}").scalar_one() for table in ("notes", "pins")}
