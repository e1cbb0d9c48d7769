"""Grade an answer: its headline against a reference answer, by rule, without a model, and reproducibly.

The kind of the reference decides. *Figure*: the text states it, within 1 % after scale (`stated.agree`), in
at most MAX_HEADLINE words, not in a row of figures without a word between them, and with at most three other
figures. *Date*: every part that the reference gives. *Yes/no*: the text begins with it. *List*: F1 of the items,
found verbatim or item by item, is at least MIN_F1. *Name or phrase*: F1 of the terms that the question does not contain
is at least MIN_F1, or the words of the reference occur in a text of one sentence and at most MAX_SENTENCE_LENGTH words.
Long explanations are graded in `prose_grading`.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dateutil import parser as dates

from benchmarks.stated import Asked, agree, asked_of, figures, is_year, states
from pincite.core.text.numbers import MEASURES, Quantity, quantities
from pincite.core.text.quotations import NormalizedText
from pincite.core.text.sentences import split_sentences
from pincite.core.text.terms import content_terms, words

MIN_F1 = 0.6
MAX_HEADLINE = 60
MAX_SENTENCE_LENGTH = 30
MIN_SENTENCE_LENGTH = 8
FEW_TERMS = 3
"""Maximum number of new words next to a figure that is still the substance of a reference
("Adj. EBITDA was $2,018mn")."""
MANY_TERMS = 10
"""The same, where the question asks how much or how many."""
_YES_NO = re.compile(r"\W{0,3}(?:(?:the )?(?:short )?answer(?: is)?\W{1,3})?(yes|no)\b", re.IGNORECASE)
_AUXILIARY = re.compile(
    r"\W{0,3}(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b", re.IGNORECASE
)
_ASKS_WHICH = re.compile(r"\b(?:which|who|whom|whose|where)\b", re.IGNORECASE)
_NAME = re.compile(r"\b[A-Z][\w’'&-]{1,60}(?: (?:(?:of|the|and|&) )?[A-Z][\w’'&-]{0,60}){0,8}")
_ASKS_AMOUNT = re.compile(r"\bhow (?:much|many)\b|\b(?:amount|percentage|number) of\b", re.IGNORECASE)
_ASKS_WHEN = re.compile(
    r"\bwhen\b|\b(?:what|which)(?: (?:is|was|are|were))?(?: the)?(?: \w{1,20})? (?:year|date|day|month)\b(?! end)",
    re.IGNORECASE,
)
_NUMERIC_DATE = re.compile(
    r"\b(?:\d{4}[-/]\d{1,2}(?:[-/]\d{1,2})?|\d{4}\.\d{1,2}\.\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))\b(?![-/.]\d)"
)
_CODE = re.compile(r"\+?\d{1,15}(?:[ -]\d{1,15}){1,6}")
"""A telephone or a case number, or a range."""
_ITEM_ENDS = re.compile(r"[;\n•|]|,(?=\s|$)|,?\s(?:and|as well as)\s|\s[/&]\s", re.IGNORECASE)
_AMONG = re.compile(r"\b(?:among|between|of)\s((?:[\w'-]{1,40},? ){1,12}(?:and|or) [\w'-]{1,40})", re.IGNORECASE)
_OR = re.compile(r"((?:[\w'-]{1,40} ){1,3})or((?: [\w'-]{1,40}){1,3})", re.IGNORECASE)
_SHORT_LIST = re.compile(r"[^.;:]{2,60}(?:, [^,.;:]{2,60}){1,12},? (?:and|&) [^,.;:]{2,60}\.?")


class ReferenceKind(StrEnum):
    FIGURE = "figure"
    DATE = "date"
    YES_NO = "yes/no"
    LIST = "list"
    NAME = "name or phrase"


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference answer as it is graded against: ``items`` of a list, ``figures`` of a figure."""

    kind: ReferenceKind
    text: str
    items: tuple[str, ...] = ()
    figures: tuple[Quantity, ...] = ()


def read_reference(question: str, reference: str) -> Reference:
    """Return a reference answer with its kind, determined by its form and by the form of the question."""
    text = " ".join(str(reference).split())
    items = _listed(text)
    if len(items) > 1:
        return Reference(ReferenceKind.LIST, text, items)
    text = items[0] if items else text
    if _answers_yes_or_no(question, text):
        return Reference(ReferenceKind.YES_NO, text)
    if _is_date(question, text):
        return Reference(ReferenceKind.DATE, text)
    if found := _substance(question, text):
        return Reference(ReferenceKind.FIGURE, text, figures=found)
    return Reference(ReferenceKind.NAME, text)


def grade(question: str, reference: str, headline: str) -> bool:
    """Return whether a headline is right."""
    wanted = read_reference(question, reference)
    text = " ".join(headline.split())
    if not text or len(text.split()) > max(MAX_HEADLINE, 2 * len(wanted.text.split())):
        return False
    match wanted.kind:
        case ReferenceKind.FIGURE:
            return states(wanted.figures, text, asked_of(question))
        case ReferenceKind.DATE:
            return dates_agree(wanted.text, text)
        case ReferenceKind.YES_NO:
            return polarity(wanted.text) == polarity(text)
        case ReferenceKind.LIST:
            return list_f1(question, wanted.items, text) >= MIN_F1
        case _:
            return _names(question, wanted.text, text)


def list_f1(question: str, items: Sequence[str], text: str) -> float:
    """Return the F1 of a text's items against the reference's.

    Items that occur verbatim are removed first, because they may contain commas. The rest is split at commas and
    "and", and each piece that adds something to the question counts as an item too.
    """
    asked, own = asked_of(question), frozenset(content_terms(question))
    left, rest = [], text
    for item in sorted(items, key=len, reverse=True):
        span = NormalizedText(rest.casefold()).locate(item.casefold())
        if span is None:
            left.append(item)
        else:
            rest = f"{rest[: span.start]} ; {rest[span.end :]}"
    found = len(items) - len(left)
    extra = 0
    for piece in filter(None, map(str.strip, _ITEM_ENDS.split(rest))):
        match = next((item for item in left if _same_item(item, piece, asked)), None)
        if match is not None:
            left.remove(match)
            found += 1
        elif set(content_terms(piece)) - own - MEASURES:
            extra += 1
    return 2 * found / (len(items) + found + extra)


def token_f1(wanted: Sequence[str], given: Sequence[str]) -> float:
    shared = sum((Counter(wanted) & Counter(given)).values())
    return 2 * shared / (len(wanted) + len(given)) if shared else 0.0


def _listed(text: str) -> tuple[str, ...]:
    """Return the items of a list as Python writes it, or of "a, b and c"."""
    try:
        value = ast.literal_eval(text) if text.startswith("[") else None
    except (ValueError, SyntaxError):
        value = None
    if isinstance(value, list):
        return tuple(str(item).strip() for item in value if str(item).strip()) or ("none",)
    if _SHORT_LIST.fullmatch(text) and not figures(text):
        return tuple(piece.strip(" .") for piece in _ITEM_ENDS.split(text) if piece.strip(" ."))
    return ()


def _answers_yes_or_no(question: str, text: str) -> bool:
    match = _YES_NO.match(text)
    return match is not None and (
        text[match.end() :][:1] in ("", ".", ",", ";", ":") or bool(_AUXILIARY.match(question))
    )


def _is_date(question: str, text: str) -> bool:
    """Four digits are a date where the question asks for one, else an amount."""
    if _NUMERIC_DATE.fullmatch(text):
        return True
    found = quantities(text)
    whole = len(found) == 1 and found[0].kind == "date" and len(found[0].text.strip()) >= len(text.rstrip(".")) - 1
    return whole and (not is_year(found[0]) or bool(_ASKS_WHEN.search(question)))


def _substance(question: str, text: str) -> tuple[Quantity, ...]:
    """Return the figures that a reference comes to: all it consists of, or nearly all that it adds to the question."""
    own = asked_of(question).values
    whole = text.strip(" .")
    found = [one for one in figures(text) if one.text.strip() == whole or (one.value not in own and not is_year(one))]
    bare = text
    for figure in found:
        bare = bare.replace(figure.text.strip(), " ")
    terms = {term for term in content_terms(bare) if not term[0].isdigit()} - set(content_terms(question)) - MEASURES
    if len(found) > 1 and _CODE.search(text) and not terms:
        return ()
    max_terms = 0 if _ASKS_WHICH.search(question) else MANY_TERMS if _ASKS_AMOUNT.search(question) else FEW_TERMS
    return tuple(found) if len(terms) <= max_terms else ()


def dates_agree(reference: str, text: str) -> bool:
    wanted = next(_dates(reference), None)
    if wanted is None:
        return False
    return any(all(mine in (0, theirs) for mine, theirs in zip(wanted, given, strict=True)) for given in _dates(text))


def _dates(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield year, month and day of every date, 0 if not given; numeric ones also with day and month exchanged."""
    for match in _NUMERIC_DATE.finditer(text):
        parts = re.split(r"[-/.]", match.group())
        for day_first in (False, True):
            try:
                read = dates.parse(
                    "-".join(parts) if len(parts[0]) == 4 else match.group(), dayfirst=day_first and len(parts[0]) < 4
                )
            except (ValueError, OverflowError):
                continue
            yield read.year, read.month, read.day if len(parts) == 3 else 0
    for found in quantities(text):
        if found.kind == "date":
            yield found.date


def polarity(text: str) -> str:
    match = _YES_NO.match(text)
    return match[1].lower() if match else ""


def _names(question: str, reference: str, text: str) -> bool:
    named = names_given(question, reference)
    if len(named & set(content_terms(text))) < MIN_F1 * len(named):
        return False
    wanted, given = _new_terms(question, reference, reference), _new_terms(question, text, reference)
    if token_f1(wanted, given) >= MIN_F1:
        return True
    if len(split_sentences(text)) != 1 or len(text.split()) > MAX_SENTENCE_LENGTH:
        return False
    new = set(content_terms(reference)) - set(content_terms(question))
    return bool(named) or (bool(new) and occurs_in(reference, text))


def names_given(question: str, reference: str) -> set[str]:
    """Return the names with which a whole sentence answers "which"; the rest of the sentence only explains them."""
    sentence = reference[: split_sentences(reference)[0].end] if reference else ""
    if not _ASKS_WHICH.search(question) or len(sentence.split()) < MIN_SENTENCE_LENGTH:
        return set()
    named = (match.group() for match in _NAME.finditer(sentence) if match.start() or " " in match.group())
    return {term for name in named for term in content_terms(name)} - set(content_terms(question))


def _new_terms(question: str, text: str, reference: str) -> list[str]:
    """Return the terms that a text adds to the question; if the answer is a word of the question, such words count."""
    asked, answer = set(content_terms(question)), content_terms(reference)
    kept = set(answer) if set(answer) <= asked else set(answer) - asked
    kept |= alternatives(question) if set(answer) <= asked else set()
    terms = [term for term in content_terms(text) if term in kept or term not in asked]
    return terms or [word.casefold() for word in words(text)]


def alternatives(question: str) -> set[str]:
    """Return the terms between which a question lets choose: "A or B", and the first of each in "among A, B and C"."""
    named = [item for match in _AMONG.finditer(question) for item in _ITEM_ENDS.split(match[1].replace(" or ", ", "))]
    if len(named) > 1:
        return {terms[0] for terms in map(content_terms, named) if terms}
    return {term for match in _OR.finditer(question) for term in content_terms(f"{match[1]} {match[2]}")}


def occurs_in(reference: str, text: str) -> bool:
    return NormalizedText(text.casefold()).locate(reference.casefold().strip(" .")) is not None


def _same_item(item: str, piece: str, asked: Asked) -> bool:
    wanted, given = figures(item), figures(piece)
    if len(wanted) == 1 and len(item) - len(wanted[0].text.strip()) <= 2:
        return any(agree(wanted[0], one, asked) for one in given)
    return token_f1(content_terms(item), content_terms(piece)) >= MIN_F1
