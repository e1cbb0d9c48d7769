"""The notes on the chat page: empty, filled, and after their source was removed."""

from pincite.core.domain.documents import Document
from pincite.core.services.bootstrap import Pincite
from tests.pages.conftest import Ask, Screen


def test_answer_quotations_are_pinned_and_show_when_their_source_is_removed(
    app: Pincite, contract: Document, ask: Ask
) -> None:
    turn = ask()
    screen = Screen("chat")
    screen.press("Notes")
    assert "Nothing is pinned yet" in screen.words()
    screen.press("Pin to notes")
    screen.assert_sound()
    pins = app.notes.of_session(turn.session_id).pins
    assert pins
    assert "Nothing is pinned yet" not in screen.words()
    app.ingest.remove(contract.id)
    screen.test.run()
    screen.assert_sound()
    removed_pins = [button for button in screen.test.button if button.key == f"pin_{pins[0].id}"]
    assert removed_pins[0].disabled
    assert "source removed" in removed_pins[0].label


def test_what_is_written_is_kept(app: Pincite, ask: Ask) -> None:
    turn = ask()
    screen = Screen("chat")
    screen.press("Notes")
    screen.test.text_area(key=f"notes_{turn.session_id}").set_value("Mine").run()
    screen.assert_sound()
    assert app.notes.of_session(turn.session_id).text == "Mine"


def test_notes_take_the_place_of_the_page_and_give_it_back(contract: Document, ask: Ask) -> None:
    screen = Screen("chat", session=ask().session_id, document=contract.id, page="2")
    assert screen.test.button(key="icon_chat_page_next")
    screen.press("Notes")
    assert "Nothing is pinned yet" in screen.words()
    screen.press("Close the notes")
    assert screen.test.button(key="icon_chat_page_next") and "Nothing is pinned yet" not in screen.words()
