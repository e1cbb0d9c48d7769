"""A statement of figures is accepted only if code derives it again from figures that are on their pages."""

from dataclasses import replace
from decimal import Decimal

import pytest

from pincite.core.domain.answers import AnswerPart, ClaimStatus, PartKind, Verdict
from pincite.core.domain.documents import Passage
from pincite.core.domain.figures import Computation, Figure
from pincite.core.domain.search import Evidence
from pincite.core.judge.citations import cite
from pincite.core.judge.verdict import verdict_of

PAGE = "Harbour accounts (EUR thousand)\n\t2021\t2020\nBerth fees\t1,240\t1,105\nDredging\t(620)\t(580)\n"


def _figure(text: str, value: int, label: str, column: str) -> Figure:
    start, heads = PAGE.index(text), (PAGE.index(label), PAGE.index(column))
    places = tuple((at, at + len(head)) for at, head in zip(heads, (label, column), strict=True))
    return Figure(
        Decimal(value), text, "EUR", 1000, column, label, column, "harbour", 4, start, start + len(text), places
    )


FEES, BEFORE = _figure("1,240", 1240, "Berth fees", "2021"), _figure("1,105", 1105, "Berth fees", "2020")
CHANGE = Computation("Change in berth fees, 2020 to 2021", "b - a", "EUR", 1000)
STATED = AnswerPart("Berth fees, 2021: €1,240 thousand", (1,), PartKind.FIGURE, figures=(FEES,))
COMPUTED = AnswerPart(
    "Change in berth fees, 2020 to 2021: €135 thousand",
    (1,),
    PartKind.FIGURE,
    figures=(BEFORE, FEES),
    computation=CHANGE,
)
EVIDENCE = (Evidence(1, Passage("p", "harbour", 4, "5", PAGE, 0, len(PAGE)), "harbour.pdf"),)


def _page_text(document_id: str, page_index: int) -> str:
    return PAGE if (document_id, page_index) == ("harbour", 4) else ""


def _verdict(part: AnswerPart) -> Verdict:
    question = "What were the berth fees in 2021?"
    return verdict_of(question, (part,), EVIDENCE, removed_markers=0, page_text=_page_text, threshold=0.5)


def _refused(part: AnswerPart) -> str:
    verdict = _verdict(part)
    (claim,) = verdict.claims
    assert claim.status is ClaimStatus.UNSUPPORTED and not verdict.accepted
    return claim.reason


def test_a_cell_in_words_is_accepted_and_its_heads_are_cited_with_it() -> None:
    verdict = _verdict(STATED)
    (claim,) = verdict.claims
    assert (claim.status, verdict.accepted) == (ClaimStatus.SUPPORTED, True)
    assert claim.quotation is not None and claim.quotation.quotation == "1,240"
    cited = cite((STATED,), EVIDENCE, _page_text)
    assert [one.quotation for one in cited.citations] == ["Berth fees", "2021", "1,240"]
    assert all(PAGE[one.start : one.end] == one.quotation for one in cited.citations)


@pytest.mark.behaviour(
    "Figures and charts", "A figure that is computed from tables cites its operands, and its formula is drawn below it."
)
def test_a_computed_figure_is_computed_again_and_every_operand_cited() -> None:
    (claim,) = _verdict(COMPUTED).claims
    assert (claim.status, claim.reason) == (ClaimStatus.SUPPORTED, "recomputed: 1,240 − 1,105")
    cited = [one.quotation for one in cite((COMPUTED,), EVIDENCE, _page_text).citations]
    assert {"1,105", "1,240"} <= set(cited)


def test_another_number_in_the_words_is_unsupported() -> None:
    assert "recomputed" in _refused(replace(COMPUTED, text="Change in berth fees, 2020 to 2021: €136 thousand"))
    assert "recomputed" in _refused(replace(STATED, text="Berth fees, 2021: €1,240 million"))


def test_a_figure_that_is_not_where_it_should_be_is_unsupported() -> None:
    moved = replace(FEES, start=FEES.start + 1, end=FEES.end + 1)
    assert "is not in its place" in _refused(replace(STATED, figures=(moved,)))
    elsewhere = replace(FEES, page_index=5)
    assert "is not in its place" in _refused(replace(STATED, figures=(elsewhere,)))


def test_a_value_that_the_printed_text_does_not_say_is_unsupported() -> None:
    wrong = replace(BEFORE, value=Decimal(1100))
    part = replace(COMPUTED, figures=(wrong, FEES), text="Change in berth fees, 2020 to 2021: €140 thousand")
    assert "is not read as" in _refused(part)


def test_what_cannot_be_computed_is_unsupported() -> None:
    broken = replace(COMPUTED, computation=replace(CHANGE, expression="b / (a - a)"))
    assert "cannot be computed" in _refused(broken)
