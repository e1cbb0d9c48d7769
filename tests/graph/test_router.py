"""The intent of a message is recognised without a model: small talk, the program, the library, or the documents."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pincite.core.answers.quoting import Quoting
from pincite.core.domain.answers import lists_passages
from pincite.core.domain.questions import Wish
from pincite.core.domain.search import Candidate, Intent, Mode, SearchPlan, SearchResult
from pincite.core.domain.turns import NO_DOCUMENT, TurnStatus
from pincite.core.graph.nodes.router import _by_rule, _by_wish
from pincite.core.questions.reading import without_greeting
from pincite.core.questions.utterances import asks_of_each, selects_documents, wish_of
from tests.graph.world import REPORT, ScriptedModel, Shelf, WordSearch
from tests.questions.asking import read

FLATS = {"elm.pdf": ["The rent is 925 euros a month."], "oak.pdf": ["The rent is 1,140 euros a month."]}
INTENTS = {
    Wish.CHAT: {Intent.CHAT},
    Wish.PROGRAM: {Intent.ABOUT},
    Wish.LIBRARY: {Intent.ABOUT},
    Wish.DOCUMENTS: {Intent.DOCUMENT_SEARCH, Intent.SURVEY},
    Wish.OVERVIEW: {Intent.SURVEY},
    Wish.CHART: {Intent.DOCUMENT_SEARCH},
}


def _classified(file: str) -> list[tuple[str, str, bool]]:
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t") for line in lines]
    return [(text, wish, wish_of(text)[0] == wish) for wish, text in pairs]


@pytest.mark.parametrize(
    ("file", "least"), [("utterances.tsv", 0.95), ("utterances_unseen.tsv", 0.9), ("utterances_overview.tsv", 0.8)]
)
def test_messages_are_classified_by_intent(file: str, least: float) -> None:
    classified = _classified(file)
    wrong = [(text, wish, wish_of(text)) for text, wish, right in classified if not right]
    assert len(classified) >= 100
    assert 1 - len(wrong) / len(classified) >= least, (Counter(wish for _, wish, _ in wrong), wrong)


def test_question_to_each_document_is_distinguished_from_question_to_one() -> None:
    lines = Path(__file__).with_name("utterances_comparison.tsv").read_text(encoding="utf-8").splitlines()
    counts = Counter((kind, asks_of_each(text)) for kind, text in (line.split("\t") for line in lines))
    assert counts["comparison", True] >= 0.7 * 120 and counts["documents", True] <= 0.03 * 120, counts


def test_question_for_documents_within_a_limit_is_recognised() -> None:
    lines = Path(__file__).with_name("utterances_selecting.tsv").read_text(encoding="utf-8").splitlines()
    counts = Counter((kind, selects_documents(text)) for kind, text in (line.split("\t") for line in lines))
    assert counts["selects", True] >= 0.75 * 60 and counts["documents", True] <= 0.05 * 60, counts


@pytest.mark.parametrize("others", [0, 11])
def test_no_single_document_answers_a_question_for_those_within_a_limit(world: Any, others: int) -> None:
    shelf = Shelf(FLATS | {f"kettle{number}.pdf": ["It boils quickly."] for number in range(others)})
    turn = (
        world(Quoting(), shelf=shelf, search=WordSearch(shelf, floor=0.1))
        .ask("flats with a rent below 1,000 euros")
        .turn
    )
    assert turn.plan.selects and len(turn.plan.pieces) == (0 if others else 2)
    assert lists_passages(turn.parts) and "925" in turn.answer


def test_what_several_documents_say_of_one_thing_is_asked_of_each(world: Any) -> None:
    shelf = Shelf(FLATS)
    one = world(Quoting(), shelf=shelf, search=WordSearch(shelf, floor=0.1))
    turn = one.ask("Which of the two flats has the higher rent?").turn
    assert [(piece.name, piece.query.document_ids) for piece in turn.plan.pieces] == [
        ("elm.pdf", ("id-elm.pdf",)),
        ("oak.pdf", ("id-oak.pdf",)),
    ]
    assert "elm.pdf:" in turn.answer and "925" in turn.answer and "1,140" in turn.answer
    many = Shelf(FLATS | {f"kettle{number}.pdf": ["It boils quickly."] for number in range(11)})
    assert not world(shelf=many).ask("Which of the two flats has the higher rent?").turn.plan.pieces, "which are meant?"


@pytest.mark.parametrize("question", ["capital of France", "How many documents are there?", "Thanks!", "Write a poem"])
def test_in_mode_documents_everything_is_searched_and_in_chat_nothing(question: str) -> None:
    assert _by_rule(read(question), Mode.DOCUMENTS, ())[0] in (Intent.DOCUMENT_SEARCH, Intent.SURVEY)
    assert _by_rule(read(question), Mode.CHAT, ())[0] is Intent.CHAT
    assert _by_rule(read(question), Mode.AUTO, ())[0] is None


class Measured(WordSearch):
    """Finds the best passage at a given similarity, with the embedder that the bounds were fitted for."""

    def __init__(self, cosine: float, floor: float = 0.0) -> None:
        super().__init__(Shelf({"report.pdf": REPORT}), floor=floor)
        self.cosine = cosine

    def search(self, plan: SearchPlan, library: object, **how: Any) -> SearchResult:
        found = super().search(plan, library, **how)
        dense = tuple(Candidate(one.passage, {"dense": self.cosine}) for one in found.rankings["reranked"])
        return replace(found, rankings={**found.rankings, "dense": dense}, embedder="minilm")


PARIS = "What is the capital of France?"


@pytest.mark.behaviour(
    "Router",
    "In the mode *Auto* with a model, a question near to the documents is searched, one far from them is "
    "answered by the model alone, and for one in between the model decides. A notice states that no document "
    "was used, and one press searches them.",
)
def test_question_far_from_all_documents_is_answered_by_the_model_with_a_notice(world: Any) -> None:
    one = world(model := ScriptedModel("Paris."), search=Measured(0.1))
    turn = one.ask(PARIS).turn
    assert (turn.intent, turn.answer, turn.citations) == (Intent.CHAT, "Paris.", ()) and NO_DOCUMENT in turn.notices
    assert not model.replies and "because" in turn.trace[0].decided
    model.answers = ["These documents do not say."] * 3
    again = one.runner.wait(one.runner.run_again(turn.id, mode=Mode.DOCUMENTS), 300).turn
    assert again.intent is Intent.DOCUMENT_SEARCH and NO_DOCUMENT not in again.notices


def test_what_is_far_by_meaning_but_read_off_a_page_goes_to_the_documents(world: Any) -> None:
    asked = "Who led the measurements in Lisbon?"
    turn = (
        world(ScriptedModel("Dr. Ada Moreno led the measurements in Lisbon. [1]"), search=Measured(0.1)).ask(asked).turn
    )
    assert turn.intent is Intent.DOCUMENT_SEARCH and "Moreno" in turn.answer


@pytest.mark.parametrize(("reply", "intent"), [("chat", Intent.CHAT), ("documents", Intent.DOCUMENT_SEARCH)])
def test_model_decides_between_chat_and_search_in_uncertain_cases(world: Any, reply: str, intent: Intent) -> None:
    model = ScriptedModel(*["These documents do not say."] * 3)
    model.replies = [{"needs": reply}]
    assert world(model, search=Measured(0.4)).ask(PARIS).turn.intent is intent and not model.replies


def test_what_is_near_goes_to_the_documents_and_nobody_is_asked(world: Any) -> None:
    model = ScriptedModel(*["These documents do not say."] * 3)
    model.replies = [{"needs": "chat"}]
    turn = world(model, search=Measured(0.7), max_retries=0).ask("Which person was in charge of the tests?").turn
    assert turn.intent is Intent.DOCUMENT_SEARCH and turn.trace[0].decided["because"].startswith("the documents have")


def test_without_a_model_or_in_mode_documents_or_by_name_distance_decides_nothing(world: Any) -> None:
    quoted = world(Quoting(), search=Measured(0.1)).ask(PARIS).turn
    assert quoted.intent is Intent.DOCUMENT_SEARCH
    model = ScriptedModel(*["These documents do not say."] * 9)
    one = world(model, search=Measured(0.1), max_retries=0)
    assert one.ask(PARIS, mode=Mode.DOCUMENTS).turn.intent is Intent.DOCUMENT_SEARCH
    assert one.ask("@report who was in charge?").turn.intent is Intent.TARGETED_SEARCH


@pytest.mark.parametrize("question", ["Summarise the documents", "What is this about?", "Worum geht es hier?"])
def test_a_summary_of_the_documents_is_a_survey(question: str) -> None:
    assert _by_wish(read(question), ())[0] is Intent.SURVEY
    assert _by_rule(read(question), Mode.DOCUMENTS, ())[0] is Intent.SURVEY


@pytest.mark.behaviour(
    "Router",
    "A question about the library (“How many documents do you have?”) is answered from what is recorded of "
    "it, including what could not be read.",
)
def test_questions_about_the_library_are_answered_from_what_is_known(world: Any) -> None:
    shelf = Shelf({"a.pdf": ["One.", "Two."], "b.pdf": ["Three."]}, coverage=0.5)
    one = world(model := ScriptedModel(), shelf=shelf)
    turn = one.ask("How many documents do you have?").turn
    assert turn.status is TurnStatus.ANSWERED and turn.intent is Intent.ABOUT and turn.path == ("router",)
    assert (
        "2 documents with 3 pages" in turn.answer
        and "Could not be read, so not searched: 1 of 2 pages of “a.pdf”." in turn.answer
    )
    assert "your documents" in one.ask("What can you do?").turn.answer
    assert not model.requests and not one.search.plans


def test_empty_library_is_reported_when_documents_are_requested(world: Any) -> None:
    assert "no documents yet" in world(shelf=Shelf({})).ask("Which documents do you have?").turn.answer


def test_what_reads_like_a_question_about_the_program_is_put_to_the_documents_first() -> None:
    documents = Shelf({"protocol.pdf": ["Every message closes with a semicolon."]}).list()
    assert _by_wish(read("How do you close a message?"), documents)[::2] == (None, Wish.PROGRAM)
    assert _by_wish(read("What can you do?"), documents)[0] is Intent.ABOUT
    assert _by_wish(read("How do you close a message?"), ())[0] is Intent.ABOUT
    assert _by_wish(read("Кто мэр Парижа?"), documents)[0] is Intent.DOCUMENT_SEARCH, "what is not sure is searched"


@pytest.mark.parametrize("reply", [None, {"needs": "documents"}, {"needs": "chat"}])
@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ("compose a haiku about rain", ("router", "generator")),
        ("write me a limerick about bicycles", ("router", "generator")),
        ("how do I add another file?", ("router",)),
        ("how do I upload another file?", ("router",)),
        ("are you a robot?", ("router",)),
        ("Bonjour, qui es-tu ?", ("router",)),
    ],
)
def test_no_model_turns_small_talk_into_a_search(
    world: Any, asked: str, path: tuple[str, ...], reply: dict[str, str] | None
) -> None:
    model = ScriptedModel("Soft rain on the roof.")
    model.replies = [reply]
    turn = world(model).ask(asked).turn
    assert turn.path == path and turn.status is TurnStatus.ANSWERED, turn.path


@pytest.mark.behaviour("Memory", "“What did I ask first?” is answered from the whole session, however long it is.")
def test_earlier_questions_are_repeated_on_request(world: Any) -> None:
    model = ScriptedModel("Hello.", "It was built in 1901 [1].", "Asa Reed built it [1].")
    one = world(model, shelf=Shelf({"a.pdf": ["The pier was built in 1901. Asa Reed built it."]}))
    for question in ("Hello!", "When was the pier built?", "Who built the pier?"):
        one.ask(question)
    searched, asked = len(one.search.plans), len(model.requests)
    first = one.ask("What was the first thing I asked?").turn.answer
    assert "“When was the pier built?”" in first and "It was built in 1901" in first and "Who" not in first
    assert "“Who built the pier?”" in one.ask("What was my last question?").turn.answer
    listed = one.ask("Which questions have I asked?").turn.answer
    assert "“When was the pier built?”" in listed and "“Who built the pier?”" in listed and "Hello" not in listed
    assert (len(one.search.plans), len(model.requests)) == (searched, asked)


def test_a_greeting_before_a_question_is_no_part_of_it() -> None:
    asked = "What happens to the concert if it rains?"
    assert without_greeting(f"Hello! Can you help me? {asked}") == asked
    for whole in (asked, "Hello! Can you help me?", f"The concert is on Friday. {asked}"):
        assert without_greeting(whole) == whole


def test_a_message_that_may_want_several_things_but_no_document_is_not_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shares = dict.fromkeys(Wish, 0.0) | {Wish.PROGRAM: 0.5, Wish.CHAT: 0.4, Wish.DOCUMENTS: 0.1}
    monkeypatch.setattr("pincite.core.graph.nodes.router.wishes_of", lambda text: shares)
    monkeypatch.setattr("pincite.core.questions.reading.wish_of", lambda text: (Wish.PROGRAM, 0.5))
    assert _by_wish(read("are you there?"), ())[0] is Intent.ABOUT
    shares |= {Wish.CHAT: 0.1, Wish.DOCUMENTS: 0.4}
    assert _by_wish(read("are you there?"), ())[0] is Intent.DOCUMENT_SEARCH


@pytest.mark.parametrize("asked", ["multiply 14 by 9", "what is 200 divided by 16", "what's 33 minus 8"])
def test_a_sum_is_small_talk(asked: str) -> None:
    assert wish_of(asked)[0] is Wish.CHAT


def test_a_message_that_names_a_document_is_searched_however_short(world: Any) -> None:
    pages = [
        "Torvi gives a warranty of five years.",
        "Questions: help@torvi.example. Every Torvi kettle holds 1.2 litres.",
    ]
    home = world(shelf=Shelf({"warranty-torvi.pdf": pages, "letter.pdf": ["Dear tenant, thank you for your letter."]}))
    turn = home.ask("torvi email").turn
    assert turn.intent is Intent.DOCUMENT_SEARCH and turn.plan.standalone_question == "Torvi email"
    assert home.ask("hello there").turn.intent is Intent.CHAT
