"""Quotations and claims of anybody's are checked against the pages: true, changed, from another page, invented."""

import random
import re
from dataclasses import replace

import pytest

from pincite.core.domain.documents import Document
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.verification import ClaimAgreement, Difference, QuoteStatus
from pincite.core.text.sentences import split_sentences

LATE = (
    "Where an undisputed invoice is not paid within 30 days of the invoice date, the Client shall pay a late payment "
    "penalty of 1.5 % of the overdue amount per month"
)
MIN_LENGTH = 40
"""Characters of a sentence that is quoted."""


def sentences(app: Pincite) -> list[tuple[int, str]]:
    """Return the sentences of the contract that are on one page only, each with its page."""
    [contract] = app.library.list()
    texts = [app.library.page_text(contract.id, at) for at in range(contract.page_count)]
    found = [(at, text[span.start : span.end]) for at, text in enumerate(texts) for span in split_sentences(text)]
    flat = [" ".join(text.split()) for text in texts]
    return [
        (at, quoted)
        for at, quoted in found
        if len(quoted) >= MIN_LENGTH and sum(" ".join(quoted.split()) in text for text in flat) == 1
    ]


@pytest.mark.behaviour(
    "The Model Context Protocol",
    "A quotation is verified only word for word: changed words, another page and invented sentences are reported.",
)
def test_quotations_are_verified_only_word_for_word(app: Pincite) -> None:
    documents, chosen = app.library.list(), random.Random(7)
    for at, quoted in sentences(app):
        check = app.verification.quotation(quoted.replace("\n", " "), documents)
        assert check.status is QuoteStatus.VERIFIED and [place.page_index for place in check.places] == [at], quoted
        there = app.verification.quotation(quoted, documents, at)
        assert there.status is QuoteStatus.VERIFIED
        other = app.verification.quotation(quoted, documents, (at + 1) % documents[0].page_count)
        assert other.status is QuoteStatus.PARTIAL and [place.page_index for place in other.places] == [at]
        words = [match for match in re.finditer(r"\w+", quoted) if len(match[0]) > 1]
        word = chosen.choice(words)
        changed = f"{quoted[: word.start()]}zebra{quoted[word.end() :]}"
        near = app.verification.quotation(changed, documents)
        assert near.status is QuoteStatus.PARTIAL, changed
        assert any("zebra" in one.quotation and word[0] in one.page for one in near.differences), near.differences
    for invented in ("The Supplier provides a company car to every employee of the Client.", "§", " … "):
        assert app.verification.quotation(invented, documents).status is QuoteStatus.NOT_FOUND


@pytest.mark.parametrize(
    ("quotation", "status"),
    [
        (LATE, QuoteStatus.VERIFIED),
        (f"“{LATE}”", QuoteStatus.VERIFIED),
        (
            "Where an undisputed invoice is not paid […] the Client shall pay a late payment penalty",
            QuoteStatus.VERIFIED,
        ),
        (
            "the Client shall pay a late payment penalty … Where an undisputed invoice is not paid",
            QuoteStatus.NOT_FOUND,
        ),
        (LATE.replace("1.5 %", "2.5 %"), QuoteStatus.PARTIAL),
        (LATE.replace("shall pay", "shall not pay"), QuoteStatus.PARTIAL),
        (LATE.replace("within 30 days", "within 30 working days"), QuoteStatus.PARTIAL),
    ],
)
def test_a_quotation_may_leave_out_words_but_not_change_them(app: Pincite, quotation: str, status: QuoteStatus) -> None:
    check = app.verification.quotation(quotation, app.library.list())
    if status is QuoteStatus.NOT_FOUND:  # its words are there, in another order
        assert check.status is not QuoteStatus.VERIFIED
    else:
        assert check.status is status


PAGES = [
    f"{'Filler words stand here. ' * 100}The interest is 1.5 % per month.\nThe Supplier shall",
    "not under any circumstances be liable for damage that a delay causes. The deposit is 1'000 CHF.",
    "",
    "甲方应\n当支付全部费用。乙方提供服务。",
]


@pytest.fixture
def pages(app: Pincite, monkeypatch: pytest.MonkeyPatch) -> list[Document]:
    """The contract, with these texts on its pages."""
    [contract] = app.library.list()
    read = app.library.page
    monkeypatch.setattr(app.library, "page_text", lambda _, at: PAGES[at])
    monkeypatch.setattr(app.library, "page", lambda key, at: replace(read(key, at), text=PAGES[at]))
    return [contract]


@pytest.mark.parametrize(
    ("quotation", "status", "places"),
    [
        ("The Supplier shall not under any circumstances be liable", QuoteStatus.VERIFIED, [0, 1]),
        ("The Supplier shall … be liable", QuoteStatus.VERIFIED, [0, 1]),
        ("the interest is 1.5 % per month", QuoteStatus.PARTIAL, [0]),
        ("THE INTEREST IS 1.5 % PER MONTH", QuoteStatus.PARTIAL, [0]),
        ("5 % per month", QuoteStatus.PARTIAL, [0]),
        ("000 CHF", QuoteStatus.PARTIAL, [1]),
        ("shall be liable for damage that a delay causes", QuoteStatus.PARTIAL, [1]),
        ("甲方应当支付全部费用", QuoteStatus.PARTIAL, [3]),
        (f"{PAGES[3]} 甲", QuoteStatus.PARTIAL, [3]),
        ("The tenant may keep a dog in the garden.", QuoteStatus.NOT_FOUND, []),
    ],
)
def test_figures_page_breaks_and_scripts_without_spaces(
    app: Pincite, pages: list[Document], quotation: str, status: QuoteStatus, places: list[int]
) -> None:
    check = app.verification.quotation(quotation, pages)
    assert (check.status, [place.page_index for place in check.places]) == (status, places)
    assert (check.pages_searched, check.pages_without_text) == (3, 1)
    assert all(place.quotation == PAGES[place.page_index][place.start : place.end] for place in check.places)


def test_what_is_left_out_and_what_differs_is_returned_whole(app: Pincite, pages: list[Document]) -> None:
    left_out = app.verification.quotation("The Supplier shall … be liable", pages).differences
    assert left_out == (Difference("…", "not under any circumstances"),)
    differences = app.verification.quotation("The deposit is 2'000 CHF.", pages).differences
    assert differences == (Difference("2'000", "1'000"),)
    shortened = app.verification.quotation("shall be liable for damage that a delay causes", pages).differences
    assert any("circumstances" in one.page for one in shortened)


@pytest.mark.parametrize(
    ("claim", "agreement"),
    [
        ("The late payment penalty is 1.5 % of the overdue amount per month.", ClaimAgreement.SUPPORTED),
        ("The late payment penalty is 3 % of the overdue amount per month.", ClaimAgreement.CONTRADICTED),
        ("The Agreement is governed by the law of the Netherlands.", ClaimAgreement.SUPPORTED),
        ("The moon is made of cheese.", ClaimAgreement.NOT_THERE),
        ("The governing law is Dutch law.", ClaimAgreement.NOT_THERE),
    ],
)
def test_a_claim_is_judged_by_the_passages_that_are_found_for_it(
    app: Pincite, claim: str, agreement: ClaimAgreement
) -> None:
    check = app.verification.claim(claim, app.library.list())
    assert app.verification.claim(claim, []).agreement is ClaimAgreement.NOT_THERE, "nothing may be searched"
    assert check.agreement is agreement, check.claims
    if agreement is not ClaimAgreement.NOT_THERE:
        assert all(one.quotation and one.quotation.document_name == "service-contract.pdf" for one in check.claims)
