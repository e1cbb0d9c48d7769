"""What is suggested is answered: every question was tried, of its own document, and is answered without a warning."""

import threading
import time

import pytest

from pincite.core.domain.presentation import Tier, present
from pincite.core.domain.search import Mode
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.suggestions import WANTED, Suggestion

SECONDS = 300.0


def found(app: Pincite) -> tuple[Suggestion, ...]:
    documents = app.library.list()
    until = time.monotonic() + SECONDS
    app.suggestions.of(documents)
    while not app.suggestions.known(documents) and time.monotonic() < until:
        time.sleep(0.05)
    assert app.suggestions.known(documents)
    return app.suggestions.of(documents)


@pytest.mark.behaviour(
    "Suggestions and document cards",
    "An empty conversation suggests up to three questions, each asked and answered from the documents before "
    "it is shown.",
)
def test_what_is_suggested_is_answered_when_it_is_asked(app: Pincite) -> None:
    [contract] = app.library.list()
    suggested = found(app)
    assert 0 < len(suggested) <= WANTED and len({one.question for one in suggested}) == len(suggested)
    assert app.sessions.list() == [], "a trial leaves nothing behind"
    session = app.sessions.create().id
    for one in suggested:
        turn = app.runner.wait(app.runner.ask(session, one.question, mode=Mode.DOCUMENTS), SECONDS).turn
        assert present(turn).tier is Tier.ANSWERED and {place.document_id for place in turn.citations} == {contract.id}


def test_removed_document_gives_no_suggestions(app: Pincite) -> None:
    documents = app.library.list()
    assert found(app)
    app.ingest.remove(documents[0].id)
    assert found(app) == ()
    app.suggestions.of(documents)
    until = time.monotonic() + SECONDS
    while not app.suggestions.known(documents) and time.monotonic() < until:
        time.sleep(0.05)
    assert app.suggestions.of(documents) == (), "of a list that another tab still shows"


def test_closing_ends_the_trial_that_is_under_way(app: Pincite) -> None:
    app.suggestions.of(app.library.list())
    threads = [thread for thread in threading.enumerate() if thread.name == "suggestions"]
    assert threads
    app.suggestions.close()
    for thread in threads:
        thread.join(SECONDS)  # closing itself waits no longer than people would
        assert not thread.is_alive()
