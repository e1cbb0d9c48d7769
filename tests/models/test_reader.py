"""The reader finds the words that answer, in texts of any length, and its file is the one that was measured."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from pincite.core.domain.answers import Span
from pincite.core.domain.errors import StorageError
from pincite.core.models import reader
from pincite.core.models.reader import Reader, Reading, Window

TEXT = (
    "The Supplier shall deliver the crane by 14 March 2025 at berth 9 of the Port of Odense. Overdue amounts bear "
    "interest at 1.5 % per month. Notices are sent to Anna Lindqvist, managing director of Nordhavn Lifting."
)


@pytest.fixture(scope="module")
def shipped() -> Reader:
    return Reader()


def answer(shipped: Reader, question: str, text: str = TEXT) -> str:
    (reading,) = shipped.read(question, [text])
    found = reading.best(0, len(text))
    assert found is not None
    return text[found[0].start : found[0].end]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When must the crane be delivered?", "14 March 2025"),
        ("What interest do overdue amounts bear?", "1.5 %"),
        ("Who is the managing director of Nordhavn Lifting?", "Anna Lindqvist"),
    ],
)
def test_it_reads_the_words_that_answer(shipped: Reader, question: str, expected: str) -> None:
    assert answer(shipped, question).startswith(expected)


def test_an_answer_far_down_a_long_text_is_found(shipped: Reader) -> None:
    text = "The weather was fine on that day and the harbour was quiet. " * 60 + TEXT
    assert answer(shipped, "When must the crane be delivered?", text) == "by 14 March 2025"


def test_half_an_answer_is_given_whole_but_no_other_cell(shipped: Reader) -> None:
    bring = "What to bring Each child needs a costume without buttons, a towel, a swimming cap and a bottle of water."
    assert "costume without buttons, a towel, a swimming cap" in answer(shipped, "what to pack for swimming", bring)
    starts, ends = np.array([2.0, 1.6, -9.0], np.float32), np.array([-9.0, 2.0, 1.6], np.float32)
    places = np.array([(0, 2), (3, 6), (7, 9)])
    for cells, whole in (([0, 0, 0], Span(0, 9)), ([0, 0, 1], Span(0, 6))):
        window = Window(starts, ends, places, np.array(cells), 0.0)
        assert Reading((window,)).best(0, 9) == (whole, 4.0)


def test_the_borders_of_cells_are_read_and_places_are_those_of_the_text(shipped: Reader) -> None:
    table = "Ticket\tAdults\tChildren\nDay\t12 euros\t8 euros\nYear\t\t90 euros"
    (reading,) = shipped.read("What does a year cost?", [table])
    pieces = [table[start:end] for start, end in reading.windows[0].offsets]
    assert "".join(pieces).replace(" ", "") == "".join(table.split())
    assert pieces.count("") == table.count("\t")


def test_text_that_answers_scores_higher_than_text_that_does_not(shipped: Reader) -> None:
    question = "What interest do overdue amounts bear?"
    there, elsewhere = shipped.read(question, [TEXT, "The harbour of Odense lies at the end of a canal."])
    assert there.answerable > elsewhere.answerable


def test_only_whole_words_of_the_stretch_are_given(shipped: Reader) -> None:
    start, end = TEXT.index("Overdue"), TEXT.index("Notices")
    (reading,) = shipped.read("When must the crane be delivered?", [TEXT])
    found = reading.best(start, end)
    assert found is not None and start <= found[0].start < found[0].end <= end
    assert reading.best(0, 1) is None


@pytest.mark.parametrize("text", ["", " ", "\u200b", "?"])
def test_a_text_without_words_is_read_as_nothing(shipped: Reader, text: str) -> None:
    (reading,) = shipped.read("Who?", [text])
    found = reading.best(0, len(text))
    assert found is None or (text == "?" and (found[0].start, found[0].end) == (0, 1))


def test_another_file_in_its_place_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    changed_card: Mapping[str, Any] = {**reader.card("reader"), "sha256": "0" * 64}
    monkeypatch.setattr(reader, "card", lambda name: changed_card)
    with pytest.raises(StorageError, match="not the expected one"):
        Reader().read("Who?", [TEXT])
