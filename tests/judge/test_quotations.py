"""A quotation is found at its own place on the page, however the page was typeset, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.core.domain.answers import Span
from pincite.core.text.quotations import NormalizedText, best_quotation, locate


@pytest.mark.parametrize(
    ("quotation", "page", "shown"),
    [
        ("the net profit rose", "In 2023 the net\n  profit   rose.", "the net\n  profit   rose"),
        ("resignation of the board", "after the resig-\nnation of the board", "resig-\nnation of the board"),
        ("a well-known case", "It is a well-\nknown case.", "a well-\nknown case"),
        ("co\u00adoperation", "their cooperation ended", "cooperation"),
        ("efficient financing", "an eﬃcient ﬁnancing", "eﬃcient ﬁnancing"),
        ('"Material" means', "“Material” means any", "Material” means"),
        ("2019-2020", "in 2019–\n2020 only", "2019–\n2020"),
        ("the tenant's duty - always", "the tenant’s duty — always", "the tenant’s duty — always"),
        ("Müller", "Herr Mu\u0308ller kam", "Mu\u0308ller"),
        ("面積は１００平方", "総面積は100平方メートル", "面積は100平方"),
        ("...shall pay the rent.", "The tenant shall pay the rent monthly", "shall pay the rent"),
    ],
)
def test_quotation_is_found_through_typesetting(quotation: str, page: str, shown: str) -> None:
    span = locate(quotation, page)
    assert span is not None
    assert page[span.start : span.end] == shown


@pytest.mark.parametrize(
    ("quotation", "page"),
    [
        ("5 % of sales", "a margin of 1.5 % of sales"),
        ("5 million", "a result of -5 million"),
        ("grew by 1", "grew by 1.5 points"),
        ("art", "a party in parts"),
        ("shall pay", "may pay"),
        ("…", "anything"),
        ("", "anything"),
        ("revenue rose sharply", "revenue rose"),
    ],
)
def test_what_the_page_does_not_say_is_not_found(quotation: str, page: str) -> None:
    assert locate(quotation, page) is None


def test_a_page_is_normalised_once_for_many_quotations() -> None:
    page = NormalizedText("alpha beta-\ngamma delta")
    assert [page.locate(word) is not None for word in ("alpha", "betagamma", "delta", "epsilon")] == [
        True,
        True,
        True,
        False,
    ]


def test_best_quotation_is_the_row_with_the_rare_words() -> None:
    passages = ["The company sells shoes. The company has stores.", "Revenue by region\nEurope 120 130\nAsia 90 95\n"]
    found = best_quotation("Asia contributed 95 to revenue", passages)
    assert found is not None
    number, span = found
    assert (number, passages[number][span.start : span.end]) == (1, "Asia 90 95")


def test_no_quotation_when_nothing_is_shared() -> None:
    assert best_quotation("Whales sing.", ["Revenue rose by a tenth."]) is None


WORDS = st.lists(st.text(st.sampled_from("abcdeäßé日本12"), min_size=1, max_size=8), min_size=1, max_size=12)


@given(before=WORDS, quoted=WORDS, after=WORDS, gaps=st.lists(st.sampled_from([" ", "\n", "  ", "\u00a0"]), min_size=1))
def test_text_on_a_page_is_found_regardless_of_line_breaks(
    before: list[str], quoted: list[str], after: list[str], gaps: list[str]
) -> None:
    pieces = [*before, *quoted, *after]
    page = "".join(piece + gaps[place % len(gaps)] for place, piece in enumerate(pieces))
    span = locate(" ".join(quoted), page)
    assert span is not None
    assert page[span.start : span.end].split() == quoted


def test_part_of_a_letter_is_not_found() -> None:
    assert locate("4", "0¼") is None and locate("4", "¼") is None and locate("¼", "a ¼ b") == Span(2, 3)


@given(st.text(max_size=200), st.text(max_size=40))
def test_found_span_is_inside_the_page_and_matches_the_quotation(page: str, quotation: str) -> None:
    span = locate(quotation, page)
    if span is not None:
        assert 0 <= span.start < span.end <= len(page)
        assert locate(page[span.start : span.end], page) is not None
