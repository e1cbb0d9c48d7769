"""What a question wants computed: the form of it, and the words for each of its operands.

The forms are those of plain speech about figures; the tables decide which figures they apply to.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from pincite.core.domain.questions import Kind
from pincite.core.domain.tables import Table
from pincite.core.questions.wording import comparison, kind_of
from pincite.core.text.numbers import quantities

Date = tuple[int, int, int]
"""Year, month and day; 0 where they are not given."""
_MAX_LENGTH = 600
_PERCENT = r"(?:percent(?:age)?|per\s?cent|%)"
_CHANGE = r"(?:change|increase|decrease|growth|decline|drop|reduction|rise|fall)"
_VERB = r"(?:chang|increas|decreas|gr[eo]w|declin|drop|fall|fell|rise|rose|reduc)\w{0,4}"
_PART = r"(?:percent(?:age)?|per\s?cent|%|proportion|share|fraction|portion)"
_IS = r"(?:is|are|was|were|does|do|did|comes?|came|has|have|had)"


class Form(StrEnum):
    COMPOUND_GROWTH = "compound_annual_growth_rate"
    GROWTH = "percentage_change"
    SHARE = "share"
    RATIO = "ratio"
    AVERAGE = "average"
    SUM = "sum"
    CHANGE = "change"
    SERIES = "series"
    """The figures of several periods themselves."""
    COMPARISON = "comparison"
    """Whether one is more or less than the other: yes or no."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a question wants computed. ``operands``: what to look for, one for all periods, or one each."""

    form: Form
    operands: tuple[str, ...]
    periods: tuple[Date, ...] = ()
    """Those that the question names, in its order."""
    whole_range: bool = False
    """The periods are the ends of a range, and what lies between them is meant as well."""
    sign: str = ""
    """Of a comparison: ">" or "<"."""
    than: Decimal | None = None
    """Of a comparison with an amount that the question gives."""


_FORMS: tuple[tuple[Form, re.Pattern[str]], ...] = tuple(
    (form, re.compile(pattern, re.IGNORECASE))
    for form, pattern in (
        (Form.COMPOUND_GROWTH, r"\bcagr\b|\bcompound(?:ed)? (?:annual |yearly )?(?:rate of )?growth(?: rate)?\b"),
        (
            Form.GROWTH,
            rf"{_PERCENT}(?: of)?(?: the)? {_CHANGE}\b|\b{_CHANGE} rate\b|\brate of {_CHANGE}\b"
            rf"|\b{_CHANGE} (?:in|as a) {_PERCENT}|\byear[- ](?:over|on)[- ]year {_CHANGE}\b"
            rf"|\bby (?:what|how much|how many) {_PERCENT}",
        ),
        (Form.SHARE, rf"(?P<a>.{{3,300}}?) as an? {_PART} of (?P<b>.{{3,300}})"),
        (Form.SHARE, rf"\b{_PART} of (?P<b>.{{3,200}}?) (?:that )?{_IS} (?!the {_PART})(?P<a>.{{3,200}})"),
        (Form.SHARE, rf"\b{_PART} of (?P<a>.{{3,200}}?) (?:out of|over|relative to) (?P<b>.{{3,200}})"),
        (Form.RATIO, r"\bratio (?:of|between) (?P<a>.{3,200}?) (?:to|and|over) (?P<b>.{3,200})"),
        (Form.RATIO, r"\b(?P<a>\w[\w&'’]{2,40})[- ]to[- ](?P<b>\w[\w&'’ -]{2,60}?) ratio\b"),
        (Form.AVERAGE, r"\b(?:average|mean)\b"),
        (Form.SUM, r"\b(?:sum|combined|altogether|aggregate|cumulative|together|added up|total)\b"),
        (Form.CHANGE, r"\bdifference between (?P<a>.{3,200}?) and (?P<b>.{3,200})"),
        (
            Form.CHANGE,
            rf"\b(?:{_CHANGE}|difference|movement)\b(?: ?/ ?\(?(?:{_CHANGE})\)?)?"
            rf"|\bhow much (?:did|has|have)\b(?=.{{3,200}}\b{_VERB})",
        ),
    )
)
_RANGE = re.compile(
    r"(?:19|20)\d\d\s?(?:-|–|—|to|through|until)\s?(?:FY\s?)?(?:19|20)\d\d\b|\b(?:between|from|over)\b", re.IGNORECASE
)
_DEVELOPS = re.compile(
    r"\b(?:trends?|develop(?:ed|ment|s)?|evol(?:ve|ved|ution)|over (?:the )?(?:years|time|(?:last|past) \w{1,9} years)"
    r"|year by year|(?:each|every|per) year|by year|annually|yearly)\b",
    re.IGNORECASE,
)
_YEARS_THROUGH = re.compile(
    r"\b(?:19|20)\d\d\s?(?:-|–|—|to|through|until|and)\s?(?:FY\s?)?(?:19|20)\d\d\b", re.IGNORECASE
)
_SUMMED = re.compile(r"\b(?:sum|combined|altogether|aggregate|cumulative|together|added up)\b", re.IGNORECASE)
_OF_ALL = re.compile(
    r"\b(?:annual|yearly|per year|each year|years|periods|quarters)\b|^\W{0,3}what (?:is|was) the (?:average|mean)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(rf"\b(?:{_CHANGE}|difference|movement)\b", re.IGNORECASE)
_HOW_MUCH = re.compile(r"\bhow much\b", re.IGNORECASE)
_NAMES_CHANGE = re.compile(r"\b(?:change|difference|movement)\b", re.IGNORECASE)
_ASKING = re.compile(
    r"^\W{0,3}(?:what|which|how (?:much|many)|calculate|compute|determine|give|state|find|tell)\b"
    rf"(?:\s{_IS}\b)?|\b(?:the|a|an) (?:following|value|amount) of\b",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"\b(?:represented|accounted|made up|made|attributed|attributable|contributed|composed|related|due|came|come)"
    r"(?: up| for| to| of| by| from)?\W{0,3}$",
    re.IGNORECASE,
)
_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\b", re.IGNORECASE)
_OF_PERIODS = re.compile(
    r"\b(?:the|fiscal|financial|year|years|ended|ending|as of|at|in|of|and)\b|\W|\d", re.IGNORECASE
)


PLACEHOLDER = "berths"
"""A word that asks for nothing, to replace a label."""


def wanted_of(question: str, tables: Iterable[Table]) -> Wanted | None:
    """Return what is wanted of these tables; words of one of their labels ("Wheel change") ask for no computation."""
    bare = question.casefold()
    for table in tables:
        for heading in (*table.rows, *table.columns):
            label = " ".join(heading.label.casefold().split())
            if " " in label and label in bare and wanted(bare.replace(label, PLACEHOLDER)) is None:
                return None
    return wanted(question)


def wanted(question: str) -> Wanted | None:
    """None where the question asks for no computation that is known by its form."""
    text = " ".join(question[:_MAX_LENGTH].split())
    dates = _only_periods(text)
    if kind_of(text) is Kind.YES_OR_NO:
        return _compared(text, dates)
    for form, pattern in _FORMS:
        match = pattern.search(text)
        if match is None:
            continue
        whole = bool(_RANGE.search(text))
        if "a" in match.groupdict():
            operands = _bare(match["a"]), _bare(match["b"])
            if all(map(_is_telling, operands)):
                return Wanted(form, operands, dates, whole)
        elif _is_meant(form, text, len(dates)):
            return Wanted(form, (_bare(f"{text[: match.start()]} {text[match.end() :]}"),), dates, whole)
    developed = _DEVELOPS.search(text) or (_YEARS_THROUGH.search(text) if _RANGE.search(text) else None)
    if developed is None or not _is_telling(text):
        return None
    rest = f"{text[: developed.start()]} {text[developed.end() :]}"
    return Wanted(Form.SERIES, (_bare(rest),), dates, whole_range=True)


def years_compared_with(question: str) -> frozenset[int]:
    """Return the year before, for a question that asks how much something changed in one year."""
    asked = wanted(question)
    changes = asked is not None and asked.form in (Form.GROWTH, Form.CHANGE) and len(asked.periods) == 1
    return frozenset(date[0] - 1 for date in asked.periods) if asked and changes else frozenset()


def asks_for_sum(question: str) -> bool:
    """Return whether a sum is asked for, of whatever the tables have, and not of several periods."""
    one = len(_only_periods(question)) < 2
    return one and bool(_SUMMED.search(question)) and not _CHANGES.search(question)


def _compared(text: str, dates: tuple[Date, ...]) -> Wanted | None:
    compared = comparison(text)
    if compared is None or not _is_telling(compared.a):
        return None
    amounts = [quantity for quantity in quantities(compared.b) if quantity.kind != "date"]
    if amounts:
        than = Decimal(str(amounts[0].value))
        return Wanted(Form.COMPARISON, (_bare(compared.a),), dates, sign=compared.sign, than=than)
    if compared.b and _is_telling(compared.b):
        return Wanted(Form.COMPARISON, (_bare(compared.a), _bare(compared.b)), dates, sign=compared.sign)
    return Wanted(Form.COMPARISON, (_bare(compared.a),), dates, sign=compared.sign)


def _only_periods(text: str) -> tuple[Date, ...]:
    return tuple(dict.fromkeys(dates_of(text)))


def _is_meant(form: Form, text: str, periods: int) -> bool:
    """Return whether the form's word means the computation, and is not a name from a table."""
    if form is Form.AVERAGE:
        return (periods > 1 or (not periods and bool(_OF_ALL.search(text)))) and not _CHANGES.search(text)
    if form is Form.SUM:
        summed, ranged = bool(_SUMMED.search(text)), bool(_RANGE.search(text))
        return periods > 1 and (summed or ranged) and not _CHANGES.search(text)
    if form is Form.CHANGE:
        # one period is compared with the one before
        return periods > 1 or bool(_NAMES_CHANGE.search(text)) or (periods == 1 and bool(_HOW_MUCH.search(text)))
    return True


def _bare(text: str) -> str:
    """Return an operand's words, without those that only ask."""
    plain = _ASKING.sub(" ", text).strip(" ?.,:;")
    return " ".join(_TAIL.sub(" ", plain).split())


def _is_telling(operand: str) -> bool:
    """More than periods: "2018" and "the year 2019" name no operand."""
    return len(_OF_PERIODS.sub("", _MONTH.sub("", operand))) > 2


def dates_of(text: str) -> Iterator[Date]:
    """Return the dates that a text names, with their years."""
    return (quantity.date for quantity in quantities(text) if quantity.kind == "date" and quantity.year)
