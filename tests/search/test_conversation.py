"""A model gets a conversation's newest exchanges and the older ones that fit the question, within its share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.core.domain.search import Intent
from pincite.core.domain.turns import Exchange
from pincite.core.search.conversation import HISTORY_CHARACTERS, MAX_ASKED, MAX_GIST, MAX_OLDER, conversation_for

BRIDGE = Exchange("2", "How long is the Harrow Bridge?", "The Harrow Bridge is 412 m long.")
FILLER = tuple(
    Exchange(str(n), f"What does clause {n} say?", f"Clause {n} speaks of payment. " * 6) for n in range(3, 20)
)


@pytest.mark.behaviour(
    "Memory",
    "A model receives the newest exchanges that fit into a window (1,500 characters), and up to two older "
    "ones that share distinctive words with the question.",
)
def test_old_exchange_about_the_same_thing_is_included_again() -> None:
    memory = conversation_for("When was the Harrow Bridge opened?", (BRIDGE, *FILLER))
    assert memory.older == (BRIDGE,) and memory.newest == FILLER[-len(memory.newest) :]
    assert [message.text for message in memory.messages[2:4]] == [BRIDGE.question, BRIDGE.answer]
    assert memory.left_out == 1 + len(FILLER) - 1 - len(memory.newest)


def test_omitted_exchanges_are_condensed_within_their_share_except_small_talk() -> None:
    hello = Exchange("0", "Hello!", "Hello, ask me about your documents.", intent=Intent.CHAT)
    memory = conversation_for("Who signed?", (hello, BRIDGE, *FILLER[:12]))
    lines = memory.condensed.splitlines()
    assert lines[0] == "- How long is the Harrow Bridge?: The Harrow Bridge is 412 m long."
    assert len(lines) == memory.left_out - 1, "the greeting is left out, and not condensed"
    assert memory.messages[0].text.endswith(memory.condensed)
    many = conversation_for("Who signed?", (BRIDGE, *FILLER * 3))
    assert "Harrow Bridge" in many.condensed.splitlines()[0], "the oldest is not forgotten"


WORDS = st.sampled_from("rent lease notice bridge engine fee audit clause deposit storey valve tenant".split())
ASKED = st.lists(WORDS, min_size=1, max_size=12).map(lambda words: f"What about the {' '.join(words)}?")
ANSWERS = st.tuples(st.lists(WORDS, max_size=40), st.integers(10, 99_999)).map(
    lambda words_and_figure: f"It is {words_and_figure[1]} for the {' '.join(words_and_figure[0])}."
)


@pytest.mark.behaviour(
    "Memory",
    "What does not fit of a long conversation is condensed: one line for each exchange keeps the question and "
    "the names and figures of its answer. A deleted question is no longer in it, because it is rebuilt from "
    "what is stored of each turn.",
)
@given(st.lists(st.tuples(ASKED, ANSWERS), min_size=100, max_size=100))
def test_each_exchange_in_a_hundred_keeps_its_question_and_figure(exchanges: list[tuple[str, str]]) -> None:
    history = tuple(Exchange(str(number), *one) for number, one in enumerate(exchanges))
    memory = conversation_for("And who pays?", history)
    lines = memory.condensed.splitlines()
    assert len(lines) == len(memory.in_short) == 100 - len(memory.newest) - len(memory.older)
    for line, one in zip(lines, memory.in_short, strict=True):
        question, figure = one.question, one.answer.split()[2]
        assert question[:40] in line and figure in line and len(line) <= MAX_ASKED + MAX_GIST + 8


def test_last_answer_that_is_too_long_is_cut_to_its_beginning() -> None:
    long = Exchange("9", "Why?", "Because the bridge is old. " * 100)
    memory = conversation_for("And why is that so?", (BRIDGE, long))
    (*_, answer) = memory.messages
    assert answer.text and long.answer.startswith(answer.text) and memory.left_out == 1


def test_old_exchange_that_shares_no_word_is_not_included() -> None:
    assert conversation_for("Who signed?", (BRIDGE, *FILLER)).older == ()
    assert conversation_for("Who signed?", ()).messages == ()


@given(st.text(max_size=40), st.lists(st.tuples(st.text(max_size=60), st.text(max_size=900)), max_size=30))
def test_its_share_of_the_prompt_is_kept(question: str, exchanges: list[tuple[str, str]]) -> None:
    history = tuple(Exchange(str(number), *one) for number, one in enumerate(exchanges))
    memory = conversation_for(question, history)
    assert sum(len(one.question) + len(one.answer) for one in memory.newest) <= HISTORY_CHARACTERS
    assert len(memory.older) <= MAX_OLDER
    assert len(memory.older) + len(memory.newest) + memory.left_out == len(history)
    assert history[len(history) - len(memory.newest) :] == memory.newest


def test_what_a_small_window_has_no_room_for_is_the_oldest() -> None:
    memory = conversation_for("Who signed?", (BRIDGE, *FILLER * 3))
    short = memory.within(600)
    assert len(short.condensed) <= 600 and short.in_short == memory.in_short[-len(short.in_short) :]
    assert memory.within(10**6) == memory and memory.within(0).in_short == ()


def test_a_figure_within_another_one_is_kept() -> None:
    long = Exchange("1", "What are the fees?", f"For loans {'that run on ' * 6}they are 15 % and for others 5 % of it.")
    line = conversation_for("Who signed?", (long, *FILLER)).condensed.splitlines()[0]
    assert line.endswith("15 %, 5 %")
