"""Check a quotation or a claim, whoever wrote it, against the pages of the documents."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from rapidfuzz import fuzz

from pincite.core.domain.answers import Citation, Claim, ClaimStatus, Span
from pincite.core.domain.documents import Document
from pincite.core.judge.citations import cite, read_typed
from pincite.core.judge.verdict import verdict_of
from pincite.core.services.search import Search
from pincite.core.text.plain import flat
from pincite.core.text.quotations import EDGES, NormalizedText, best_quotation, plain_form

if TYPE_CHECKING:
    from pincite.core.store.library import Library

MIN_LIKENESS = 75.0
"""Minimum share of equal characters, in percent, of a quotation and the words of a page that it may be meant for."""
MIN_SHARED_WORDS = 0.5
"""Minimum share of a quotation's words that a page must have to be searched; some may be hyphenated there."""
MAX_COMPARED = 40
"""Pages that are compared character by character."""
MAX_PLACES = 20
MAX_PASSAGES = 8
"""Passages that a claim is compared with."""
PAGE_END = 2_000
"""Number of characters on both sides of a page break that are searched together."""
_ELLIPSIS = re.compile(r"[\[(][ \t]?(?:…|\.{3})[ \t]?[\])]|…|\.{3}")
_WORD = re.compile(r"\w{3,}")
_UNSPACED = "\u2e80"
"""Scripts from here on have no spaces between words."""


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
    """Of a verified quotation the words that an ellipsis stands for."""
    pages_searched: int = 0
    """Pages with text."""
    pages_without_text: int = 0


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    agreement: ClaimAgreement
    claims: tuple[Claim, ...] = ()
    """Each statement of the claim, with its reason and the quotation that decides it."""


@dataclass(frozen=True, slots=True)
class _Likely:
    """A page that shares words with the quotation."""

    document: Document
    page_index: int
    shared: frozenset[str]


_Found: TypeAlias = tuple[tuple[Citation, ...], tuple[Difference, ...]]


class Verification:
    def __init__(self, library: "Library", search: Search) -> None:
        self._library = library
        self._search = search

    def quotation(self, quotation: str, documents: Sequence[Document], page_index: int | None = None) -> QuoteCheck:
        """Look for a quotation word for word on all pages of these documents, else for the most similar words.

        An ellipsis stands for words that were left out, which are returned. ``page_index``: the page that the
        quotation is said to be on.
        """
        parts = [part for part in _ELLIPSIS.split(quotation) if part.strip()]
        wanted = _terms(quotation)
        likely, searched, empty = list[_Likely](), 0, 0
        for document in documents:
            for at in range(document.page_count):
                text = self._library.page_text(document.id, at).casefold()
                if not text.strip():
                    empty += 1
                    continue
                searched += 1
                shared = frozenset(term for term in wanted if term in text)
                if parts and len(shared) >= MIN_SHARED_WORDS * len(wanted):
                    likely.append(_Likely(document, at, shared))
        whole = [found for page in likely for found in self._exact(parts, page.document, page.page_index)]
        whole = whole or [found for one in documents for found in self._over_page_break(parts, wanted, one)]
        named = [found for found in whole if any(place.page_index == page_index for place in found[0])]
        if found := named or whole:
            status = QuoteStatus.VERIFIED if page_index is None or named else QuoteStatus.PARTIAL
            places = tuple(place for one in found for place in one[0])[:MAX_PLACES]
            return QuoteCheck(status, places, found[0][1], searched, empty)
        best = self._most_similar(quotation, likely, page_index)
        if best is None or best[0] < MIN_LIKENESS:
            return QuoteCheck(QuoteStatus.NOT_FOUND, pages_searched=searched, pages_without_text=empty)
        return QuoteCheck(QuoteStatus.PARTIAL, (best[1],), best[2], searched, empty)

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

    def _exact(self, parts: Sequence[str], document: Document, page_index: int) -> Iterator[_Found]:
        """Yield the place of all parts, one after the other, on this page, with the words between them."""
        found = _located(parts, self._library.page_text(document.id, page_index))
        if found:
            yield (self._place(document, page_index, found[0]),), found[1]

    def _over_page_break(self, parts: Sequence[str], wanted: frozenset[str], document: Document) -> Iterator[_Found]:
        """Yield both places of a quotation that begins on a page and ends on the next, directly behind it."""
        before = self._library.page_text(document.id, 0)
        for at in range(1, document.page_count):
            text, before = before, self._library.page_text(document.id, at)
            begin = text.rfind(" ", 0, max(0, len(text) - PAGE_END)) + 1
            end = before.find(" ", PAGE_END)
            both = f"{text[begin:]}\n{before[: end if end >= 0 else len(before)]}"
            folded, break_at = both.casefold(), len(text) - begin
            if sum(term in folded for term in wanted) < MIN_SHARED_WORDS * len(wanted):
                continue
            found = _located(parts, both)
            if found and found[0].start < break_at < found[0].end - 1:
                first, last = Span(begin + found[0].start, len(text)), Span(0, found[0].end - break_at - 1)
                yield (self._place(document, at - 1, first), self._place(document, at, last)), found[1]

    def _most_similar(
        self, quotation: str, likely: Sequence["_Likely"], page_index: int | None
    ) -> tuple[float, Citation, tuple[Difference, ...]] | None:
        """Return the likeness in percent, the place and the differences of the words most like the quotation."""
        pages_with = Counter(term for page in likely for term in page.shared)

        def rank(page: _Likely) -> tuple[bool, float]:
            return page.page_index != page_index, -sum(1 / pages_with[term] for term in page.shared)

        ranked = sorted(likely, key=rank)
        wanted = plain_form(flat(quotation)).strip()
        best: tuple[float, Citation, tuple[Difference, ...]] | None = None
        for page in ranked[:MAX_COMPARED]:
            text = self._library.page_text(page.document.id, page.page_index)
            plain = plain_form(text)
            aligned = fuzz.partial_ratio_alignment(wanted.casefold(), plain.casefold())
            if aligned is None or not plain.strip() or len(plain.casefold()) != len(plain):
                continue
            whole = len(wanted) > len(plain)
            score = fuzz.ratio(wanted.casefold(), plain.casefold()) if whole else aligned.score
            if score < MIN_LIKENESS or (best and score <= best[0]):
                continue
            start, end = (0, len(plain)) if whole else (aligned.dest_start, aligned.dest_end)
            start, end, differences = _compared(wanted, plain, start, end)
            place = self._place(page.document, page.page_index, NormalizedText(text).span_of(start, end))
            best = score, place, differences
        return best

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


def _terms(quotation: str) -> frozenset[str]:
    """Return what a page must mostly have: words, of scripts without spaces pairs of characters."""
    plain = plain_form(quotation).casefold()
    found = _WORD.findall(plain) or re.findall(r"\w+", plain)
    unspaced = {word for word in found if max(word) >= _UNSPACED}
    pairs = {"".join(pair) for word in unspaced for pair in pairwise(word)}
    return frozenset({word for word in found if word not in unspaced} | pairs)


def _located(parts: Sequence[str], text: str) -> tuple[Span, tuple[Difference, ...]] | None:
    """Return where all parts are, one after the other, and the words between them."""
    page, spans = NormalizedText(text), list[Span]()
    for part in parts:
        found = page.locate(part, spans[-1].end if spans else 0)
        if found is None:
            return None
        spans.append(found)
    left_out = (flat(text[one.end : other.start]) for one, other in pairwise(spans))
    between = tuple(Difference("…", words) for words in left_out if words)
    return (Span(spans[0].start, spans[-1].end), between) if spans else None


def _compared(wanted: str, plain: str, start: int, end: int) -> tuple[int, int, tuple[Difference, ...]]:
    """Return where the similar words begin and end, as whole words, and how they differ from the quotation."""
    margin = (end - start) // 4 + 1
    words = [one for one in re.finditer(r"\S+", plain) if one.end() > start - margin and one.start() < end + margin]
    mine, theirs = wanted.split(), [one[0] for one in words]
    steps = SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
    if steps and steps[0][0] != "equal":  # of what is around the similar words only as much as the quotation has
        tag, a, b, c, d = steps[0]
        steps[0] = (tag, a, b, max(c, d - (b - a)), d)
    if steps and steps[-1][0] != "equal":
        tag, a, b, c, d = steps[-1]
        steps[-1] = (tag, a, b, c, min(d, c + (b - a)))
    first, last = (steps[0][3], steps[-1][4]) if steps else (0, 0)
    if first >= last:
        return start, end, (Difference(wanted, plain[start:end]),)
    differences = tuple(
        Difference(" ".join(mine[a:b]), " ".join(theirs[c:d]))
        for tag, a, b, c, d in steps
        if tag != "equal"
        and (a < b or c < d)
        # what follows the quoted words on the page is not part of them
        and not (0 in (a, len(mine) - b) and " ".join(mine[a:b]).strip(EDGES) == " ".join(theirs[c:d]).strip(EDGES))
    )
    return words[first].start(), words[last - 1].end(), differences
