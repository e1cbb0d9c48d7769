"""A question for a figure is answered with the cell, or with what follows from cells, each marked on its page."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fpdf import FPDF

from pincite.core.answers.quoting import Quoting, led_by_figure
from pincite.core.documents.passages import split_pages
from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.answers import AnswerPart, ClaimStatus, PartKind
from pincite.core.domain.documents import Page, Passage
from pincite.core.domain.search import Evidence
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import Turn, TurnStatus
from pincite.core.graph.nodes.analyst import tables_of_named_documents
from tests.figures.harbour import HARBOUR, figures_of, table_of
from tests.graph.world import ScriptedModel, Shelf, WordSearch, World

NAME = "harbour.pdf"


class Printed(Shelf):
    """One document as Pincite's reader reads it."""

    def __init__(self, pages: list[Page]) -> None:
        super().__init__({NAME: [page.text for page in pages]})
        self._pages = pages

    def page(self, document_id: str, page_index: int) -> Page:
        return self._pages[page_index]

    def passages(self) -> list[Passage]:
        return list(split_pages(self._pages, document_id=f"id-{NAME}", title=""))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Page]:
    folder = tmp_path_factory.mktemp("harbour")
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=11)
    pdf.cell(text="Harbour accounts in EUR thousand", new_x="LMARGIN", new_y="NEXT", h=9)
    for label, *figures in HARBOUR:
        pdf.cell(w=70, h=7, text=label)
        for figure in figures:
            pdf.cell(w=28, h=7, text=figure, align="R")
        pdf.ln()
    pdf.output(str(folder / NAME))
    reader = ProcessReader(Settings(data_dir=folder / "data"))
    read = list(reader.read(folder / NAME, [0]))
    reader.close()
    return read


@pytest.fixture
def world(tmp_path: Path, pages: list[Page]) -> Iterator[World]:
    shelf = Printed(pages)
    opened = World(tmp_path, Quoting(), shelf=shelf, search=WordSearch(shelf, floor=0.1))
    yield opened
    opened.close()


def _asked(world: World, question: str) -> Turn:
    turn = world.ask(question).turn
    assert turn.path[:4] == ("router", "rewriter", "retriever", "analyst")
    return turn


def test_the_cell_comes_first_and_is_cited_with_its_heads(world: World) -> None:
    turn = _asked(world, "What were the berth fees in 2020?")
    first = turn.parts[0]
    assert (first.kind, first.text) == (PartKind.FIGURE, "Income: Berth fees, 2020: €1,105 thousand")
    assert turn.verdict is not None and turn.verdict.claims[0].status is ClaimStatus.SUPPORTED
    assert turn.status is TurnStatus.ANSWERED
    page = world.shelf.page_text(f"id-{NAME}", 0)
    assert {"Berth fees", "2020", "1,105"} <= {one.quotation for one in turn.citations}
    assert all(page[one.start : one.end] == one.quotation for one in turn.citations)


@pytest.mark.behaviour(
    "Figures and charts",
    "“Draw a bar chart of …”, in English and less surely in fifteen other languages, draws the row over its "
    "periods or the column that is named; “and as a chart?” that of the last answer.",
)
@pytest.mark.parametrize("wish", ["and as a chart?", "show this in a graph please", "Draw a chart of crane hire"])
def test_a_chart_is_drawn_of_the_row_that_is_named_or_that_the_last_answer_came_from(world: World, wish: str) -> None:
    _asked(world, "What were the berth fees in 2020?")
    turn = _asked(world, wish)
    row = "Crane hire" if "crane" in wish else "Berth fees"
    assert [(part.kind, len(part.figures)) for part in turn.parts] == [(PartKind.FIGURE, 3)]
    assert {figure.label for figure in turn.parts[0].figures} == {f"Income: {row}"}


def test_computed_figure_is_stored_with_operands_and_shown_with_formula(world: World) -> None:
    turn = _asked(world, "What was the change in berth fees from 2020 to 2021?")
    stored = world.turns.get(turn.id).parts[0]
    assert stored.text == "Change in Income: Berth fees, 2020 to 2021: €135 thousand"
    assert [figure.text for figure in stored.figures] == ["1,105", "1,240"]
    assert "= 1,240 − 1,105" in turn.answer
    assert "= 1,240 − 1,105" in world.sessions.export_markdown(world.session.id)


def test_the_trace_shows_what_was_found_and_how_likely_it_is(world: World) -> None:
    turn = _asked(world, "What were the berth fees in 2020?")
    (step,) = [step for step in turn.trace if step.node == "analyst"]
    best = step.returned["stated"][0]
    assert best["text"] == "Income: Berth fees, 2020: €1,105 thousand" and 0 < best["probability"] < 1


def test_the_evidence_knows_where_the_heads_of_its_tables_are(world: World) -> None:
    turn = _asked(world, "What were the berth fees in 2020?")
    (item,) = [one for one in turn.evidence if one.table_heads]
    (head,) = item.table_heads
    assert item.passage.text[head.heads_start : head.heads_end].split() == ["2021", "2020", "2019"]


def test_year_missing_from_the_tables_is_reported(world: World) -> None:
    turn = _asked(world, "What was the change in berth fees from 2017 to 2021?")
    assert "2017 is not in the tables that were found, so the change was not computed." in turn.notices


def test_a_figure_leads_only_where_it_is_likelier_right_than_what_is_quoted() -> None:
    figures = figures_of(table_of())[:1]
    figure = AnswerPart("Fees: 7", (1,), PartKind.FIGURE, probability=0.7, figures=figures)
    evidence = tuple(
        Evidence(number, Passage(document, document, 4, "5", "Seven euros.", 0, 12), document)
        for number, document in ((1, figures[0].document_id), (2, "another"))
    )
    sure = AnswerPart("seven", (1,), PartKind.HEADLINE, probability=0.8)
    unsure = AnswerPart("Seven euros.", (1,), PartKind.VERBATIM, probability=0.6)
    elsewhere = replace(unsure, numbers=(2,))
    assert led_by_figure((sure,), (figure,), evidence) == [sure]
    parts = led_by_figure((elsewhere, unsure), (figure,), evidence)
    assert [part.numbers for part in parts] == [(1,), (1,)], "of the figure's own document alone"
    assert led_by_figure((), (figure,), evidence) == [figure]
    assert led_by_figure((unsure,), (), evidence) == [unsure]


@pytest.mark.parametrize(
    ("prose", "reported"),
    [
        ("The berth fees were 1,105 thousand euros. [1]", False),
        ("The berth fees were €1.105 million. [1]", False),
        ("The berth fees were €1,300 thousand. [1]", True),
        ("The berth fees rose. [1]", True),
    ],
)
def test_figure_missing_from_model_prose_is_added_as_notice_or_quoted_instead(
    tmp_path: Path, pages: list[Page], prose: str, reported: bool
) -> None:
    shelf = Printed(pages)
    world = World(tmp_path, ScriptedModel(*[prose] * 3), shelf=shelf, search=WordSearch(shelf, floor=0.1))
    turn = world.ask("What were the berth fees in 2020?").turn
    statement = "The tables on these pages say: Income: Berth fees, 2020: €1,105 thousand."
    quoted = any("quoted instead" in notice for notice in turn.notices)
    assert (statement in turn.notices or quoted) is reported and (
        "1.105" in turn.answer or "1,105" in turn.answer or not quoted
    )
    world.close()


def test_a_figure_is_of_the_document_that_the_question_names() -> None:
    own, other = (replace(table_of(), document_id=name) for name in ("haldane", "brackwell"))
    called = {"haldane": ("a.pdf", "Haldane Docks plc"), "brackwell": ("b.pdf", "Brackwell Docks Ltd")}
    assert tables_of_named_documents("Haldane's crane hire in 2021?", [own, other], called) == [own]
    assert tables_of_named_documents("What was crane hire in 2021?", [own, other], called) == [own, other]
    years = {"haldane": ("report-2021.pdf",), "brackwell": ("report-2020.pdf",)}
    assert tables_of_named_documents("How much did crane hire grow in 2021?", [own, other], years) == [own, other]
    shared = replace(other, caption="Harbour accounts of Haldane and Brackwell")
    assert tables_of_named_documents("Haldane's crane hire in 2021?", [own, shared], called) == [own, shared], (
        "it holds the name"
    )
