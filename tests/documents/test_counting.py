"""What a question wants counted over a document is found by its form, each in its place, and nothing twice."""

import pytest

from core.documents.counting import Pages, find_all, find_mentions
from core.domain.documents import Block, BlockKind, Page, PageStatus
from core.text.questions import census


def _pages(*texts: str, headings: bool = False) -> Pages:
    def blocks(text: str) -> tuple[Block, ...]:
        return (Block(0, text.index("\n"), BlockKind.HEADING, 1),) if headings else ()

    return [("paper", Page(at, str(at + 1), text, (), blocks(text), PageStatus.TEXT)) for at, text in enumerate(texts)]


PAPER = _pages(
    "List of figures\nFigure 1: Harbour .... 2\nFigure 2: Cranes .... 3\n",
    "Figure 1: Harbour\nAs one sees in\nFigure 2 shows that cranes turn.\nTable 1. Berths\n",
    "Fig. 2: Cranes\nTable 3. Fees\nAnnex B\nDredging was done on 4 May 2020 and on May 4, 2020, for EUR 3,000.\n",
)


@pytest.mark.parametrize(
    ("noun", "texts"),
    [
        ("figures", ["Figure 1: Harbour", "Fig. 2: Cranes"]),
        ("tables", ["Table 1. Berths", "Table 3. Fees"]),
        ("annexes", ["Annex B"]),
        ("dates", ["4 May 2020"]),
        ("amounts", ["EUR 3,000"]),
    ],
)
def test_each_is_found_once_where_it_stands(noun: str, texts: list[str]) -> None:
    found = find_all(noun, PAPER)
    assert found is not None and [place.text for place in found.places] == texts
    for place in found.places:
        assert PAPER[place.page_index][1].text[place.start : place.end] == place.text


def test_a_gap_in_the_labels_makes_the_count_less_sure() -> None:
    figures, tables = find_all("figures", PAPER), find_all("tables", PAPER)
    assert figures is not None and tables is not None
    assert figures.sure == pytest.approx(2 / 3) and tables.sure == pytest.approx(2 / 4)


def test_what_has_no_form_is_not_counted() -> None:
    assert find_all("employees", PAPER) is None


def test_headings_that_run_over_pages_count_once() -> None:
    found = find_all("headings", _pages("Fees\nx", "Fees\ny", "Berths\nz", headings=True))
    assert found is not None and [place.text for place in found.places] == ["Fees", "Berths"]


def test_sections_are_headings_with_a_number_and_nothing_else() -> None:
    numbered = _pages("1. Fees\nx", "1.1 Late fees\ny", "2 Berths\nz", "Annual report\n", headings=True)
    found = find_all("sections", numbered)
    assert found is not None and [place.text for place in found.places] == ["1. Fees", "2 Berths"]
    assert find_all("chapters", _pages("Fees\nx", headings=True)) is None


def test_definitions_are_known_by_how_they_define() -> None:
    found = find_all("definitions", _pages("“Fee” means what is paid. Ada Ltd (the “Tenant”) said “Stop”.\n"))
    assert found is not None and [place.text for place in found.places] == ["Fee", "Tenant"]


def test_mentions_are_whole_words_in_any_case_over_line_ends() -> None:
    found = find_mentions("berth fee", _pages("Berth\nfee and berth fees\n", "the BERTH FEE\n"))
    assert [place.page_index for place in found.places] == [0, 1]


@pytest.mark.parametrize(
    ("question", "noun", "term", "rest"),
    [
        ("How many figures are there in this paper?", "figures", "", False),
        ("Please list all definitions of the contract.", "definitions", "", False),
        ("How many times does “berth fee” occur?", "", "berth fee", False),
        ("On which pages is the word dredging mentioned?", "", "dredging", False),
        ("How many tables does the document contain on page 7?", "tables", "", False),
        ("How many figures show the harbour?", "figures", "", True),
    ],
)
def test_the_question_says_what_to_count(question: str, noun: str, term: str, rest: bool) -> None:
    asked = census(question)
    assert asked is not None and (asked.noun, asked.term, bool(asked.rest)) == (noun, term, rest)


@pytest.mark.parametrize("question", ["What is the fee?", "How much is the fee?", "Is the word used on page 3?"])
def test_other_questions_are_no_census(question: str) -> None:
    assert census(question) is None
