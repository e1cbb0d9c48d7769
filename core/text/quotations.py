"""Find a quotation verbatim in a page, whatever line breaks, hyphenation, ligatures and quotation marks did to it.

Both sides are brought to one plain form with a map back to the original characters, so that what is found can be
marked on the page. Which sentence best backs a claim is answered here too; whether it does is left to `checks`.
"""

import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from pincite.core.domain.answers import Span
from pincite.core.text.numbers import quantities, same, stated_scales
from pincite.core.text.sentences import split_sentences
from pincite.core.text.terms import content_terms, rarity

_DROPPED = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f")
_PLAIN = {
    **dict.fromkeys("‘’‚‛′ʼ`´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−﹘﹣－⁃", "-"),
    "…": "...",
}
MIN_SHARE = 0.5
"""Minimum share of the most that any sentence has in common with a claim, for its figures to count."""
EDGES = " \"'.,;:…“”‘’«»"
"""Characters at the ends of a quotation that need not be on the page."""


class NormalizedText:
    """A text in the plain form quotations are compared in; build it once per page and ask it often."""

    def __init__(self, text: str) -> None:
        """Take the original text; positions that are returned refer to it."""
        self.text = text

    @cached_property
    def _mapped(self) -> tuple[str, list[int]]:
        return _normalize(self.text)

    def locate(self, quotation: str, start: int = 0) -> Span | None:
        """Return where `quotation` is in the original text from `start` on; None if it is not there word for word."""
        given = _normalize(quotation)[0]
        wanted = given.strip(EDGES)
        if not wanted:
            return None
        before = given.find(wanted) - 1
        if wanted[0].isdigit() and before >= 0 and given[before] in ".,":  # ".5" is not 5
            wanted = given[before] + wanted
        plain, origin = self._mapped
        found = plain.find(wanted, bisect_left(origin, start))
        while found >= 0:
            end = found + len(wanted)
            splits_letter = (
                origin[found] in origin[max(found - 1, 0) : found] or origin[end - 1] in origin[end : end + 1]
            )
            if not (splits_letter or _splits_word(plain, found) or _splits_word(plain, end)):  # "4" is not in "¼"
                return Span(origin[found], _end_of(self.text, origin[end - 1]))
            found = plain.find(wanted, found + 1)
        return None

    def span_of(self, start: int, end: int) -> Span:
        """Return where characters of the plain form are in the original text."""
        _, origin = self._mapped
        return Span(origin[start], _end_of(self.text, origin[end - 1]))


def plain_form(text: str) -> str:
    """Return a text as quotations are compared: one kind of quotation mark and dash, no line breaks, no hyphenation."""
    return _normalize(text)[0]


def locate(quotation: str, page_text: str) -> Span | None:
    """Return where `quotation` is in `page_text`, or None; for many quotations of a page use NormalizedText."""
    return NormalizedText(page_text).locate(quotation)


def best_quotation(claim_text: str, passage_texts: Sequence[str]) -> tuple[int, Span] | None:
    """Return the passage number and span of the sentence or row that shares most of the claim's rare terms.

    Of those that share nearly as much as the best, one that gives more of the claim's figures, at the scale of its
    table, comes first: a quotation has to show them.
    """
    candidates = [(number, span) for number, text in enumerate(passage_texts) for span in split_sentences(text)]
    term_sets = [frozenset(content_terms(passage_texts[number][span.start : span.end])) for number, span in candidates]
    weights = rarity(term_sets)
    wanted = frozenset(content_terms(claim_text))
    figures = [one for one in quantities(claim_text) if one.counts]
    scales = [stated_scales(text) for text in passage_texts] if figures else []
    shared = [sum(weights[term] for term in wanted & terms) for terms in term_sets]
    best: tuple[int, float, int] | None = None
    for position, (terms, (number, span)) in enumerate(zip(term_sets, candidates, strict=True)):
        near = 0 < shared[position] >= MIN_SHARE * max(shared)
        given = quantities(passage_texts[number][span.start : span.end]) if figures and near else ()
        shown = sum(any(same(figure, one, scales[number]) for one in given) for figure in figures)
        # Of two sentences that share as much with the claim, the one with fewer other words is the better quotation.
        score = shared[position] - 0.02 * sum(weights[term] for term in terms - wanted)
        if shared[position] > 0 and (best is None or (shown, score) > best[:2]):
            best = (shown, score, position)
    return candidates[best[2]] if best else None


def _normalize(text: str) -> tuple[str, list[int]]:
    """Return the plain form and, for each of its characters, the position in `text` it came from."""
    plain: list[str] = []
    origin: list[int] = []
    position, length = 0, len(text)
    while position < length:
        character = text[position]
        start = position
        position += 1
        if character.isspace():
            while position < length and text[position].isspace():
                position += 1
            line_ends = "\n" in text[start:position] or "\r" in text[start:position]
            hyphenated = line_ends and plain[-1:] == ["-"] and plain[-2:-1] not in ([], [" "])
            if plain and plain[-1] != " " and not hyphenated:
                plain.append(" ")
                origin.append(start)
            continue
        if character in _DROPPED:
            continue
        if character.isascii() and (position == length or text[position].isascii()):
            piece = "'" if character == "`" else character
        else:
            while position < length and unicodedata.combining(text[position]):
                position += 1
            cluster = text[start:position]
            piece = _PLAIN.get(cluster) or "".join(
                _PLAIN.get(part, part) for part in unicodedata.normalize("NFKC", cluster)
            )
            piece = piece.strip()
        for part in piece:
            if part.isalpha() and len(plain) > 1 and plain[-1] == "-" and plain[-2].isalpha():
                # "well-known" and "well-\nknown" must meet, and so must "resig-\nnation" and "resignation".
                del plain[-1], origin[-1]
            plain.append(part)
            origin.append(start)
    return "".join(plain), origin


def _splits_word(plain: str, position: int) -> bool:
    """Return whether a cut at `position` falls inside a word or number; scripts without spaces have no such places."""
    if position <= 0 or position >= len(plain):
        return False
    before, after = plain[position - 1], plain[position]
    if before.isdigit() and after in ".," and plain[position + 1 : position + 2].isdigit():
        return True
    further = plain[position - 2] if position > 1 else " "
    if after.isdigit() and before in ".,-":
        # "5 %" is not in "1.5 %" and ".5 %", nor "5" in "-5"; in "2019-2020" and "pages-5" the dash is no sign.
        return not further.isalnum() if before == "-" else further.isdigit() or further == " "
    if after.isdigit() and before in "/'" and further.isdigit():
        return True  # "2 years" is not in "1/2 years", nor "000" in "1'000"
    return before.isalnum() and after.isalnum() and before < "\u2e80" and after < "\u2e80"


def _end_of(text: str, last: int) -> int:
    end = last + 1
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return end
