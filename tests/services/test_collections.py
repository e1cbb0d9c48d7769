"""Collections: the answers of a session in one come from its documents, whatever is chosen, named or asked again."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pincite.core.domain.documents import NO_DOCUMENTS
from pincite.core.domain.errors import CollectionError
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import Turn, TurnStatus
from pincite.core.services.bootstrap import Pincite, open_pincite
from tests.support.pdfs import prose

SECONDS = 300.0
NAMES = ("red.pdf", "green.pdf", "blue.pdf", "white.pdf")
QUESTIONS = (
    "What is the penalty for late delivery?",
    "@blue.pdf What is the penalty for late delivery?",
    "What does green say about late delivery, and what does white say?",
    "Which documents do I have?",
    "And the other one?",
)


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of four documents that answer the same question differently; to be copied."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("four") / "data", engine="quoting")
    with closing(open_pincite(settings)) as app:
        for number, name in enumerate(NAMES):
            app.ingest.add(prose([f"The penalty for late delivery is {number + 3} percent of the price."]), name)
        assert app.ingest.wait(timeout_seconds=SECONDS)
    return settings.data_dir


@pytest.fixture(scope="module")
def app(four: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pincite]:
    directory = tmp_path_factory.mktemp("collections") / "data"
    shutil.copytree(four, directory)
    with closing(open_pincite(Settings(data_dir=directory, engine="quoting"))) as pincite:
        yield pincite


def ids(app: Pincite, names: Sequence[str] = NAMES) -> list[str]:
    return [app.library.find(name).id for name in names]


def ended(app: Pincite, turn_id: str) -> Turn:
    turn = app.runner.wait(turn_id, SECONDS).turn
    assert turn.finished_at
    return turn


some = st.sets(st.sampled_from(NAMES)).map(sorted)


@pytest.mark.behaviour("Filters", "Documents and sessions are kept apart in collections (workspaces).")
@hypothesis_settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(members=some, chosen=some, given_now=some, question=st.sampled_from(QUESTIONS), everywhere=st.booleans())
def test_evidence_never_comes_from_another_collection(
    app: Pincite, members: list[str], chosen: list[str], given_now: list[str], question: str, everywhere: bool
) -> None:
    collection = app.collections.create(f"collection {len(app.collections.list())}")
    app.collections.add(collection.id, ids(app, members))
    session = app.sessions.create(document_ids=ids(app, chosen), collection_id=collection.id)
    turn = ended(app, app.runner.ask(session.id, question, document_ids=ids(app, given_now)))
    again = ended(app, app.runner.run_again(turn.id, everywhere=everywhere))
    inside = {*ids(app, members)}
    for one in (turn, again):
        assert {*one.document_ids} <= inside | {*NO_DOCUMENTS}
        assert {item.passage.document_id for item in one.evidence} <= inside
        assert {place.document_id for place in one.citations} <= inside
        assert not any(name in one.answer for name in NAMES if name not in members), "nor is another named"
    if not members and turn.status is TurnStatus.FAILED:
        assert "no documents" in turn.error or "None of the documents chosen" in turn.error


def test_names_are_unique_regardless_of_case_and_empty_names_are_refused(app: Pincite) -> None:
    made = app.collections.create("  Harbour \n Estates ")
    assert made.name == "Harbour Estates" and app.collections.find("harbour ESTATES") == made
    other = app.collections.create("Quay")
    for name, said in ((" ", "needs a name"), ("HARBOUR estates", "already a collection called “Harbour Estates”")):
        with pytest.raises(CollectionError, match=said):
            app.collections.create(name)
        with pytest.raises(CollectionError, match=said):
            app.collections.rename(other.id, name)
    app.collections.rename(made.id, "harbour estates")
    assert app.collections.get(made.id).name == "harbour estates", "its own name in another case is free"


def test_deleting_one_keeps_its_documents_and_what_its_sessions_search(app: Pincite) -> None:
    red, green = ids(app, NAMES[:2])
    collection, empty = app.collections.create("To go"), app.collections.create("Empty")
    app.collections.set_documents(collection.id, [red, green, "gone"])
    every = app.sessions.create(collection_id=collection.id)
    one = app.sessions.create(document_ids=[green], collection_id=collection.id)
    none = app.sessions.create(collection_id=empty.id)
    assert [session.id for session in app.sessions.list(collection_id=collection.id)] == [one.id, every.id]
    app.collections.delete(collection.id)
    app.collections.delete(empty.id)
    kept = {session.id: session for session in app.sessions.list(collection_id="")}
    assert {*kept[every.id].document_ids} == {red, green} and kept[one.id].document_ids == (green,)
    assert kept[none.id].document_ids == NO_DOCUMENTS, "what could search nothing does not search everything"
    assert len(app.library.list()) == len(NAMES)
    with pytest.raises(CollectionError, match="no longer stored"):
        app.collections.get(collection.id)


def test_a_new_version_takes_the_old_ones_place_and_a_removed_document_leaves(app: Pincite) -> None:
    old = app.ingest.add(prose(["The fee is 7 pounds."]), "fees.pdf").document
    assert app.ingest.wait(timeout_seconds=SECONDS)
    collection = app.collections.create("Fees")
    app.collections.add(collection.id, [old.id])
    new = app.ingest.add(prose(["The fee is 8 pounds."]), "fees.pdf").document
    app.ingest.replace(old.id, new.id)
    assert app.ingest.wait(timeout_seconds=SECONDS)
    assert app.collections.get(collection.id).document_ids == (new.id,)
    app.ingest.remove(new.id)
    assert app.collections.get(collection.id).document_ids == ()


def test_an_interrupted_answer_is_not_continued_with_what_left_the_collection(
    app: Pincite, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = app.collections.create("Interrupted")
    app.collections.add(collection.id, ids(app))
    session = app.sessions.create(collection_id=collection.id)
    turn = ended(app, app.runner.ask(session.id, QUESTIONS[0]))
    app.collections.set_documents(collection.id, ids(app, NAMES[:1]))
    assert not app.runner.can_continue(turn)
    again = ended(app, app.runner.run_again(turn.id))
    assert {*again.document_ids} == {*ids(app, NAMES[:1])} and again.scope == turn.scope == ()


def test_empty_collection_answers_small_talk_and_reports_missing_documents(app: Pincite) -> None:
    session = app.sessions.create(collection_id=app.collections.create("Nothing in it").id)
    assert ended(app, app.runner.ask(session.id, "Hello")).status is TurnStatus.ANSWERED
    asked = ended(app, app.runner.ask(session.id, QUESTIONS[0]))
    assert asked.status is TurnStatus.FAILED and "There are no documents to search yet." in asked.error


def test_run_again_searches_what_joined_the_collection_and_after_its_end_what_was_in_it(app: Pincite) -> None:
    red, green, *_ = ids(app)
    collection = app.collections.create("Growing")
    app.collections.add(collection.id, [red])
    turn = ended(app, app.runner.ask(app.sessions.create(collection_id=collection.id).id, QUESTIONS[0]))
    app.collections.add(collection.id, [green])
    assert {*ended(app, app.runner.run_again(turn.id)).document_ids} == {red, green}
    app.collections.delete(collection.id)
    assert {*ended(app, app.runner.run_again(turn.id)).document_ids} == {red, green}
