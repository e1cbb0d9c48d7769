"""Check a quotation or a claim, whoever wrote it, against the pages of the documents."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from rapidfuzz import fuzz

from pincite.core.domain.answers import Citation, Claim, ClaimStatus, Span
from pincite.core.domain.documents import Document
from pincite.core.judge.citations import cite, read_typed
from pincite.core.judge.verdict import verdict_of
from pincite.core.services.search import Search
from pincite.core.text.plain import flat
from pincite.core.text.quotations import NormalizedText, best_quotation, locate, plain_form

if TYPE_CHECKING:
    from pincite.core.store.library import Library

MIN_LIKENESS = 75.0
"""Minimum share of equal characters, in percent, of a quotation and the words of a page that it may be meant for."""
MIN_SHARED_WORDS = 0.5
"""Minimum share of a quotation's words that a page must have to be compared character by character."""
MAX_COMPARED = 20
"""Pages that are compared character by character."""
MAX_PLACES = 20
MAX_PASSAGES = 8
"""Passages that a claim is compared with."""
PAGE_END = 2_000
"""Number of characters on both sides of a page break that are searched together."""
_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:…|\.{3})\s*\]|\(\s*(?:…|\.{3})\s*\)|…|\.{3})\s*")
_WORD = re.compile(r"\w{3,}")


class QuoteStatus(StrEnum):
    VERIFIED = "verified"
    PARTIAL = "partial"
    """Similar words are there, or the same words on another page than named."""
    NOT_FOUND = "not_found"


class ClaimAgreement(StrEnum):
    SUPPORTED = "supported"
    PARTLY_SUPPORTED = "partly_supported"
    CONTRADICTED = "contradicted"
    NOT_THERE = "not_there"


@dataclass(frozen=True, slots=True)
class Difference:
    """Words of a quotation and the words that the page has in their place; either may be empty."""

    quotation: str
    page: str


@dataclass(frozen=True, slots=True)
class QuoteCheck:
    status: QuoteStatus
    places: tuple[Citation, ...] = ()
    """Where the words are; of a partial match the most similar place."""
    differences: tuple[Difference, ...] = ()
    pages_searched: int = 0


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    agreement: ClaimAgreement
    claims: tuple[Claim, ...] = ()
    """Each statement of the claim, with its reason and the quotation that decides it."""


class Verification:
    def __init__(self, library: "Library", search: Search) -> None:
        self._library = library
        self._search = search

    def quotation(self, quotation: str, documents: Sequence[Document], page_index: int | None = None) -> QuoteCheck:
        """Look for a quotation word for word on all pages of these documents, else for the most similar words.

        An ellipsis stands for words that were left out. ``page_index``: the page that the quotation is said to be on.
        """
        pages = [(one, at) for one in documents for at in range(one.page_count)]
        parts = [part for part in _ELLIPSIS.split(quotation) if part.strip()]
        if not parts:
            return QuoteCheck(QuoteStatus.NOT_FOUND, pages_searched=len(pages))
        shares = {(document.id, at): self._shared_words(quotation, document, at) for document, at in pages}
        likely = [page for page in pages if shares[page[0].id, page[1]] > 0]
        exact = [place for document, at in likely for place in self._exact(parts, document, at)]
        exact = exact or [place for document in documents for place in self._over_page_break(quotation, document)]
        on_named = [place for place in exact if page_index in (None, place.page_index)]
        if exact:
            status = QuoteStatus.VERIFIED if on_named else QuoteStatus.PARTIAL
            return QuoteCheck(status, tuple((on_named or exact)[:MAX_PLACES]), pages_searched=len(pages))
        likely.sort(key=lambda page: -shares[page[0].id, page[1]])
        best: tuple[float, Citation] | None = None
        for document, at in likely[:MAX_COMPARED]:
            if shares[document.id, at] < MIN_SHARED_WORDS:
                break
            found = self._similar(quotation, document, at)
            if found and (best is None or found[0] > best[0]):
                best = found
        if best is None or best[0] < MIN_LIKENESS:
            return QuoteCheck(QuoteStatus.NOT_FOUND, pages_searched=len(pages))
        differences = tuple(_differences(quotation, best[1].quotation))
        return QuoteCheck(QuoteStatus.PARTIAL, (best[1],), differences, len(pages))

    def claim(self, claim: str, documents: Sequence[Document]) -> ClaimCheck:
        """Judge each statement of a claim by the passages that a search for it finds in these documents.

        The verdicts are those of an answer that states the claim; a language model is not asked.
        """
        scope = [document.id for document in documents]
        evidence = self._search.try_out(claim, scope)[1].evidence[:MAX_PASSAGES] if scope else ()
        if not evidence:
            return ClaimCheck(ClaimAgreement.NOT_THERE)
        page_text = self._library.page_text

        def judged(text: str) -> tuple[Claim, ...]:
            cited = cite(read_typed(text, evidence)[0], evidence, page_text)
            return verdict_of(
                "", cited.parts, evidence, removed_markers=0, page_text=page_text, threshold=0.0
            ).claims  # fmt: skip

        claims = judged(claim)
        if not any(one.citations for one in claims):  # nothing supports it: compare it with the most similar passage
            closest = best_quotation(claim, [item.passage.text for item in evidence])
            number = evidence[closest[0]].number if closest else evidence[0].number
            claims = judged(f"{claim.rstrip().rstrip('.')} [{number}].")
        return ClaimCheck(_agreement([one.status for one in claims]), claims)

    def _shared_words(self, quotation: str, document: Document, page_index: int) -> float:
        """Return the share of the quotation's words that the page has; of quotations without any, 1."""
        text = plain_form(self._library.page_text(document.id, page_index)).casefold()
        words = set(_WORD.findall(plain_form(quotation).casefold()))
        return sum(word in text for word in words) / len(words) if words else 1.0

    def _exact(self, parts: Sequence[str], document: Document, page_index: int) -> Iterator[Citation]:
        """Yield the place of all parts, one after the other, on this page."""
        text = self._library.page_text(document.id, page_index)
        start, end = -1, 0
        for part in parts:
            found = locate(part, text[end:])
            if found is None:
                return
            start, end = end + found.start if start < 0 else start, end + found.end
        yield self._place(document, page_index, Span(start, end))

    def _over_page_break(self, quotation: str, document: Document) -> Iterator[Citation]:
        """Yield the beginning of the quotation on each page that it runs beyond."""
        for at, after in pairwise(range(document.page_count)):
            text = self._library.page_text(document.id, at)
            offset = max(0, len(text) - PAGE_END)
            both = f"{text[offset:]}\n{self._library.page_text(document.id, after)[:PAGE_END]}"
            if (found := locate(quotation, both)) and offset + found.start < len(text):
                yield self._place(document, at, Span(offset + found.start, len(text)))

    def _similar(self, quotation: str, document: Document, page_index: int) -> tuple[float, Citation] | None:
        """Return the likeness in percent, and the place, of the page's words that are most like the quotation."""
        text = self._library.page_text(document.id, page_index)
        normalized = NormalizedText(text)
        aligned = fuzz.partial_ratio_alignment(plain_form(quotation), plain_form(text))
        if aligned is None or len(plain_form(quotation)) > len(plain_form(text)):
            return None
        start, end = _whole_words(plain_form(text), aligned.dest_start, aligned.dest_end)
        return aligned.score, self._place(document, page_index, normalized.span_of(start, end))

    def _place(self, document: Document, page_index: int, span: Span) -> Citation:
        page = self._library.page(document.id, page_index)
        words = page.text[span.start : span.end]
        return Citation(1, document.id, document.name, page_index, page.page_label, words, span.start, span.end)


def _agreement(statuses: Sequence[ClaimStatus]) -> ClaimAgreement:
    if ClaimStatus.CONTRADICTED in statuses:
        return ClaimAgreement.CONTRADICTED
    if statuses and all(one is ClaimStatus.SUPPORTED for one in statuses):
        return ClaimAgreement.SUPPORTED
    absent = (ClaimStatus.UNSUPPORTED, ClaimStatus.SEARCHED)
    return ClaimAgreement.NOT_THERE if all(one in absent for one in statuses) else ClaimAgreement.PARTLY_SUPPORTED


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    return start, end


def _differences(quotation: str, words: str) -> Iterator[Difference]:
    mine, theirs = plain_form(flat(quotation)).split(), plain_form(flat(words)).split()
    for tag, a, b, c, d in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Difference(" ".join(mine[a:b]), " ".join(theirs[c:d]))
