"""Collections on the pages: made and edited on the documents page, chosen in the conversation's sidebar."""

from pincite.core.domain.documents import Document
from pincite.core.services.bootstrap import Pincite
from tests.pages.conftest import SECONDS, Screen
from tests.support.pdfs import locked, prose


def test_a_locked_file_joins_the_collection_once_it_is_opened(app: Pincite) -> None:
    made = app.collections.create("Harbour project")
    screen = Screen("documents")
    screen.test.selectbox[0].set_value(made.id).run()
    screen.test.file_uploader[0].set_value(
        [("locked.pdf", locked(prose(["The fee is 9 pounds."]), "swordfish"), "application/pdf")]
    ).run()
    assert app.collections.get(made.id).document_ids == ()
    next(box for box in screen.test.text_input if box.label == "Password").set_value("swordfish")
    screen.press("Open")
    [document] = app.library.list()
    assert app.collections.get(made.id).document_ids == (document.id,)
    screen.assert_sound()


def test_what_joined_meanwhile_stays_when_a_collection_is_saved(app: Pincite, contract: Document) -> None:
    made = app.collections.create("Harbour project")
    screen = Screen("documents")
    screen.test.selectbox[0].set_value(made.id).run()
    app.collections.add(made.id, [contract.id])
    screen.test.run()
    [name] = [box for box in screen.test.text_input if (box.label, box.value) == ("Collection name", "Harbour project")]
    name.set_value("Harbour")
    screen.press("Save collection")
    assert app.collections.get(made.id).name == "Harbour"
    assert app.collections.get(made.id).document_ids == (contract.id,)
    screen.assert_sound()


def test_a_collection_is_made_chosen_asked_edited_and_deleted(app: Pincite, contract: Document) -> None:
    fees = app.ingest.add(prose(["The fee for late payment is 9 pounds."]), "fees.pdf").document
    assert app.ingest.wait(timeout_seconds=SECONDS)
    outside = app.sessions.create("Outside")
    screen = Screen("documents")
    assert not screen.test.selectbox, "nothing to choose from until there is a collection"
    screen.test.text_input[0].set_value("Harbour project")
    screen.test.multiselect[0].set_value([fees.id])
    screen.press("Create")
    [made] = app.collections.list()
    assert made.document_ids == (fees.id,) and screen.test.selectbox[0].value == made.id
    assert list(screen.test.dataframe[0].value["Document"]) == ["fees.pdf"]

    screen.test.switch_page("pages/chat.py").run()
    assert screen.test.selectbox[0].value == "", "the newest session is outside"
    screen.test.selectbox[0].set_value(made.id).run()
    assert "Ask Harbour project" in screen.words() and "Outside" not in screen.words()
    screen.test.chat_input[0].set_value("What is the penalty for late payment?").run()
    [session] = app.sessions.list(collection_id=made.id)
    [turn] = app.turns.of_session(session.id)
    turn = app.runner.wait(turn.id, SECONDS).turn
    assert turn.document_ids == (fees.id,) and {place.document_id for place in turn.citations} == {fees.id}
    screen.test.selectbox[0].set_value("").run()
    assert screen.test.session_state["session_id"] == outside.id
    labels = [button.label for button in screen.test.button]
    assert f"Harbour project: {session.title}" in labels, "all sessions are listed, with the names of their collections"

    screen.test.switch_page("pages/documents.py").run()
    screen.test.multiselect[1].set_value([])
    (instructions,) = (area for area in screen.test.text_area if area.label == "Instructions for answers")
    instructions.set_value("Answer in German.")
    screen.press("Save collection")
    kept = app.collections.get(made.id)
    assert kept.document_ids == () and kept.instructions == "Answer in German."
    screen.test.switch_page("pages/chat.py").run()
    screen.test.selectbox[0].set_value(made.id).run()
    screen.press("New session")
    assert (
        "Harbour project has no documents yet." in screen.words()
        and "Instructions: Answer in German." in screen.words()
    )
    screen.test.switch_page("pages/documents.py").run()
    screen.press("Delete collection")
    screen.test.button(key="confirm_delete").click().run()
    assert app.collections.list() == [] and app.sessions.get(session.id).collection_id == ""
    screen.assert_sound()
