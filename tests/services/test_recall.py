"""Sessions are found by what was asked and answered in them, in whatever words; their vectors go with them."""

import pytest

from pincite.core.domain.search import Mode
from pincite.core.services.bootstrap import Pincite
from tests.support.rows import run_sql

pytestmark = pytest.mark.usefixtures("each_engine")

SECONDS = 300.0


def asked(app: Pincite, question: str, collection_id: str = "") -> str:
    session = app.sessions.create(collection_id=collection_id).id
    app.runner.wait(app.runner.ask(session, question, mode=Mode.DOCUMENTS), SECONDS)
    return session


def found(app: Pincite, wanted: str, *, most: int = 5, collection_id: str | None = None) -> list[str]:
    return [one.id for one in app.recall.sessions_like(wanted, most=most, collection_id=collection_id)]


def test_a_session_is_found_in_other_words_than_its_own(app: Pincite) -> None:
    penalty, notice = asked(app, "What is charged on overdue invoices?"), asked(app, "Who may end the contract?")
    assert app.sessions.list("charges for late payers") == []
    assert found(app, "charges for late payers") == [penalty], "the other is about something else"
    assert found(app, "terminating the agreement", most=1) == [notice]
    assert found(app, "pe") == [], "still being typed"


def test_what_is_deleted_is_not_found_and_keeps_no_vector(app: Pincite) -> None:
    session = asked(app, "What interest do overdue amounts bear?")
    assert found(app, "late payment") == [session]
    app.deletion.session(session)
    assert found(app, "late payment") == []
    assert run_sql(app, "SELECT count(*) FROM turn_vectors").scalar_one() == 0


def test_no_session_of_another_collection_is_found(app: Pincite) -> None:
    mine = app.collections.create("Leases").id
    inside, outside = asked(app, "What interest is due?", mine), asked(app, "Which interest do overdue amounts bear?")
    assert found(app, "late payment", collection_id=mine) == [inside]
    assert found(app, "late payment", collection_id="") == [outside]


def test_changed_model_rebuilds_the_vectors(app: Pincite) -> None:
    session = asked(app, "What interest do overdue amounts bear?")
    assert found(app, "late payment") == [session]
    run_sql(app, "UPDATE turn_vectors SET model = 'another@1'")
    assert found(app, "late payment") == [session]
    assert run_sql(app, "SELECT count(*) FROM turn_vectors WHERE model <> 'another@1'").scalar_one() == 1
