"""Read quantities, dates and times out of text and compare them by value, not by spelling.

"$1.2 billion", "1,200 million" and "1,200" under the words "in millions" are one amount; "5 %" and "1.5 %" are not.
Whether a claim may use a number is decided in `checks`. `printed_figure` takes a whole cell of a table, exactly, and
decides whether it is a figure at all; `stated_measure` reads the units and scales that heads and captions state.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from pincite.core.text.terms import FUNCTION_WORDS, UNRAISED, stem

Kind = Literal["number", "percent", "money", "date", "time", "label"]
"""A label is the number of a clause, section, page or footnote: it names a place and counts nothing."""

_SCALES = {
    "hundred": 1e2, "thousand": 1e3, "k": 1e3, "tsd": 1e3, "tausend": 1e3, "lakh": 1e5, "million": 1e6, "millions": 1e6,
    "millionen": 1e6, "mn": 1e6, "m": 1e6, "mm": 1e6, "mio": 1e6, "млн": 1e6, "crore": 1e7, "billion": 1e9,
    "billions": 1e9, "milliarden": 1e9, "bn": 1e9, "b": 1e9, "mrd": 1e9, "млрд": 1e9, "trillion": 1e12, "tn": 1e12,
    "万": 1e4, "億": 1e8, "亿": 1e8,
}  # fmt: skip
_CODES = "USD|EUR|GBP|CHF|JPY|CNY|RMB|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL|KRW|ZAR|SGD|HKD|NZD|MXN"
_CURRENCY = rf"(?<![a-z])(?:US|A|AU|C|CA|NZ|HK|S|R)\$|[$€£¥₹₽]|\b(?-i:{_CODES})\b"
_CURRENCIES = {code.lower(): code for code in _CODES.split("|")} | {
    "$": "USD", "us$": "USD", "dollar": "USD", "dollars": "USD", "€": "EUR", "euro": "EUR", "euros": "EUR",
    "£": "GBP", "pound": "GBP", "pounds": "GBP", "sterling": "GBP", "¥": "JPY", "yen": "JPY", "₹": "INR", "rs": "INR",
    "rs.": "INR", "rupee": "INR", "₽": "RUB", "rmb": "CNY", "yuan": "CNY", "franc": "CHF", "a$": "AUD", "au$": "AUD",
    "c$": "CAD", "ca$": "CAD", "nz$": "NZD", "hk$": "HKD", "s$": "SGD", "r$": "BRL",
}  # fmt: skip
_LENGTHS = frozenset({"m", "mm"})
"""Scales of amounts of money ("$5 mm"); behind any other number, units of length."""
_SMALL_NUMBERS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
} | {"dozen": 12, "half": 0.5}
_TENS = {w: 20 + 10 * i for i, w in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split())}
_MONTHS = {name: at for at, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1)}
_MONTH = (
    r"(?P<month>jan(?:uary?)?|feb(?:ruary?)?|mar(?:ch)?|apr(?:il)?|may|jun[ei]?|jul[yi]?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_MONTH_NAMES = "January February March April May June July August September October November December".split()
_SPELLED_SCALES = {1e3: " thousand", 1e6: " million", 1e9: " billion"}
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:1[5-9]|20)\d\d)"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\b",
        r"(?<![\d.])(?P<day>0?[1-9]|[12]\d|3[01])\.\s?(?P<month>0?[1-9]|1[0-2])\.\s?(?P<year>(?:19|20)\d\d)\b(?!\.\d)",
        r"(?<![\d/])(?P<day>1[3-9]|2\d|3[01])/(?P<month>0?[1-9]|1[0-2])/(?P<year>(?:19|20)\d\d)\b(?!/)",
        r"(?<![\d/])(?P<month>0?[1-9]|1[0-2])/(?P<day>1[3-9]|2\d|3[01])/(?P<year>(?:19|20)\d\d)\b(?!/)",
        rf"\b{_MONTH}\s+{_DAY}(?:\s?,?\s+{_YEAR})?\b(?![\d:.]*\d)",
        rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}(?:\s?,?\s+{_YEAR})?\b",
        rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}\b",
        rf"(?<![$€£¥₹₽])(?<!(?:USD|EUR|GBP|CHF)\s)\b(?:FY\s?)?{_YEAR}\b(?![,.]\d|\s*%|\s?(?:[€£]|(?:EUR|USD|GBP)\b))",
        r"\bFY\s?'?(?P<year>\d\d)\b",
    )
)
_LAST_DAY = re.compile(r"\s?[-–]\s?(?P<day>[0-3]?\d)\b(?![-/:.]?\d)")
_TIME = re.compile(
    r"\b(?P<hour>[01]?\d|2[0-4])(?::(?P<minute>[0-5]\d|0))?\s*(?P<half>[ap])\.?\s?m\b\.?"
    r"|\b(?P<hour24>[01]?\d|2[0-4]):(?P<minute24>[0-5]?\d)(?::\d\d)?\b",
    re.IGNORECASE,
)
_PARTS = {"½": 1 / 2, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 1 / 4, "¾": 3 / 4, "⅛": 1 / 8, "⅜": 3 / 8, "⅝": 5 / 8, "⅞": 7 / 8}
_LONG_SCALES = "|".join(sorted((word for word in _SCALES if len(word) > 2), key=len, reverse=True))
_PART = re.compile(f"[{''.join(_PARTS)}]")
_SCALE_WORDS = "|".join(sorted(_SCALES, key=len, reverse=True))
_SCALED = re.compile(rf"[ -]?({_SCALE_WORDS})\b", re.IGNORECASE)
_NUMBER = re.compile(
    rf"(?P<open>\()?(?P<sign>(?<![\w.])(?<!\d\s)[-−–+]\s?(?=[\d$€£¥]))?(?P<money>{_CURRENCY}|\bRs\.?)?\s?"
    r"(?P<digits>(?P<continental>\d{1,3}(?:(?:\.\d{3}){1,8},\d+|(?:\.\d{3}){2,8}|(?:[\u00a0\u202f]\d{3}){1,8},\d+)(?![.,]?\d))|"
    rf"\d{{0,9}}\s?[{''.join(_PARTS)}]|\d{{1,3}}(?:,\d{{2,3}}){{1,8}}(?:\.\d+)?|\d{{1,3}}(?:[\u00a0\u202f']\d{{3}}){{1,8}}(?!\d)"
    r"|\d{1,3}(?: \d{3}){1,8}(?=\s?(?:[€$£₽%]|(?:EUR|USD|GBP|dollars?|euros?|руб|km|kg)\b))"
    r"|\d++(?:[.,]\d++)?)(?P<close>\))?"
    rf"(?:st|nd|rd|th)?(?:[ -]?(?P<scale>{_SCALE_WORDS})\b)?"
    r"(?P<percent>\s?%|\s?per\s?cent\b|\s?percent\w*|\s?pct\b)?"
    rf"(?P<after>\s?(?:dollars?\b|euros?\b|pounds?\b|(?-i:{_CODES})\b|[€$£₽]))?",
    re.IGNORECASE,
)
_CONTINENTAL = str.maketrans(".,", ",.")
"""For figures that can only be meant so: "1.234,5" and "1.234.567"; "1.234" may be either and is read as in English."""
_WORD_NUMBER = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?:[- ](?P<unit>{'|'.join(_SMALL_NUMBERS)}))?"
    rf"|(?P<alone>{'|'.join(_SMALL_NUMBERS)}))\b"
    r"(?:[ -](?P<scale>hundred|thousand|million|billion|dozen))?(?P<percent>\s+per\s?cent|\s*%)?",
    re.IGNORECASE,
)
_STATED_SCALE = re.compile(
    rf"(?:\bin\s|\()['’]?(?P<said>000|{_LONG_SCALES})s?\b|(?:{_CURRENCY})\s?['’]?(?P<behind>000|{_SCALE_WORDS})s?\b"
    rf"|(?:^|\(|\bin\s)(?P<before>{_LONG_SCALES}|[bm]n)s?\.?\s(?:{_CURRENCY})",
    re.IGNORECASE | re.MULTILINE,
)
"""The unit and scale that a head or caption gives for the figures below it."""
_UNITS = {
    spelling: unit
    for unit, spellings in {
        "km": "km kilometers kilometres", "m": "meters metres", "cm": "cm", "mm": "mm millimeters millimetres",
        "mi": "miles mile", "ft": "feet foot ft", "in": "inches inch", "kg": "kg kilograms kilogram kilos",
        "g": "g grams gram", "mg": "mg", "lb": "lb lbs pounds pound", "oz": "oz ounces ounce",
        "l": "liters litres liter litre", "ml": "ml",
        "s": "seconds second secs",
        "min": "minutes minute mins min", "h": "hours hour hrs", "d": "days day",
        "w": "weeks week", "mo": "months month", "y": "years year", "bp": "bps basis",
        "C": "°c", "F": "°f", "cup": "cups cup", "tbsp": "tbsp tablespoons tablespoon", "tsp": "tsp teaspoons teaspoon",
        "kw": "kw kilowatts kilowatt", "mw": "mw", "gb": "gb gigabytes gigabyte", "mb": "mb megabytes megabyte",
    }.items()
    for spelling in spellings.split()
}  # fmt: skip
_UNIT = re.compile(
    r"\)?[ \t-]?(?:\([^()\n]{1,20}\)[ \t])?"
    r"(?:(?:(?P<kind>business|working|trading|banking)|calendar|consecutive|full|further|additional|more)[ \t])?"
    rf"(?P<unit>{'|'.join(sorted(map(re.escape, _UNITS), key=len, reverse=True))})\b",
    re.IGNORECASE,
)
_BARE = re.compile(r"[ \t]{0,9}(?:(?P<cell>$|[\n\d(|—–$€£¥%-])|[.,;:)\]](?!\d))")
_JOINED = re.compile(r"\s{0,4}(?:to|and|or|by|through|[-–—,/&]|,\s?(?:and|or))\s{0,4}", re.IGNORECASE)
"""Between the figures of a range or a list, which count the same thing."""
_REFERENCE = re.compile(
    r"(?:\b(?P<word>clause|sub-?clause|section|sec|sect|article|art|paragraph|para|page|pp|p|footnote|note|item|exhibit|"
    r"schedule|annex|appendix|attachment|chapter|part|figure|fig|table|rule|regulation|recital|line|column|volume|vol|"
    r"number|nr|title|form|version|phase|step)s?\.?|\bNos?\.|§{1,2}|\#)\s?$",
    re.IGNORECASE,
)
_HEADING_NUMBER = re.compile(r"\s{0,9}(?P<digits>\d{1,2}(?:\.\d{1,2}){1,3})\.?[ \t]+(?=[“\"‘']?[A-Z])")
_NAMING = re.compile(r"(?<![^\W_])(?P<word>[^\W\d_]{2,20})\s$")
_COUNTED = re.compile(r"\)?[ \t-]?(?P<words>[^\W\d_]{3,20}(?:[ -][^\W\d_]{3,20}){0,2})")
_TIMES = {
    spelling: unit
    for unit, spellings in {
        "s": "second", "min": "minute", "h": "hour", "d": "day daily", "w": "week weekly", "mo": "month monthly",
        "q": "quarter quarterly", "y": "year annum annually yearly",
    }.items()
    for spelling in spellings.split()
}  # fmt: skip
_PER = re.compile(
    r"\)?(?:[ -]?(?!per\b|pro\b)[^\W\d_]{1,14}){0,2}?(?:\sof(?:\s(?!per\b|pro\b)[^\W\d_]{1,14}){1,4}?)?"
    r"(?:\s?/\s?(?P<over>[^\W\d_]{1,14})|\s(?:(?:per|pro)\s(?!cent\b)(?P<word>[^\W\d_]{2,20})"
    rf"|(?:an?|each|every)\s(?P<one>{'|'.join(_TIMES)})\b|(?P<often>daily|weekly|monthly|quarterly|annually|yearly)\b"
    r"|p\.\s?(?P<year>a)\.))",
    re.IGNORECASE,
)
"""What a rate is per."""
_NAMED = re.compile(r"[^\W\d_]-?$")
_LETTER = re.compile(r"[A-Z]\b")
_BULLET = re.compile(
    r"^[ \t]*(?:\(\d{1,2}\)|\d{1,3}[.)])(?=\s)|\b24/7\b|(?i:\bstep\s\d+|\bout of (?:5|10|100)\b)"
    r"|(?i:\b40[13]\s?\(?[kb]\)?(?![a-z]))|\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]",
    re.MULTILINE,
)

_CURRENCY_NAMES = "dollar|euro|pound|sterling|yen|yuan|rupee|franc"
_LONG = "thousand|tausend|tsd|lakh|million|millionen|mio|crore|billion|milliarden|mrd|trillion"
_CELL_FIGURE = re.compile(
    rf"(?P<open>[(\[])? ?(?P<sign>[-−–+])? ?(?P<before>{_CURRENCY})? ?(?P<inner>[(\[])?(?P<inner_sign>[-−–])? ?"
    r"(?P<digits>\d[\d.,' ]{0,40}|\.\d{1,40}) ?(?P<percent>%|per ?cent\b)? ?"
    rf"(?:(?P<scale>{_LONG}|bn|mn|m|k)s?\b\.?)? ?(?P<after>{_CURRENCY})? ?(?P<unit>°?[a-z]{{1,12}}\.?)?"
    r"(?:/[a-z]{1,6})? ?"
    r"(?P<close>[)\]])? ?(?P<late>%)?(?: ?(?:[*†‡]|\((?:[a-z]|\d)\))){0,8}",
    re.IGNORECASE,
)
_DECIMAL_COMMA = re.compile(r"\d,\d{1,2}(?!\d)|\.\d{3}[.,]")
_DECIMAL_POINT = re.compile(r"\d\.\d{1,2}(?!\d)|,\d{3}")
_GROUPED = re.compile(r"\d{1,3}(?:([.,' ])\d{3})(?:\1\d{3}){0,8}")
_LAKHS = re.compile(r"\d{1,2}(?:,\d\d){0,8},\d{3}")
_STATED_MEASURE = re.compile(
    rf"(?P<currency>{_CURRENCY}|\b(?:{_CURRENCY_NAMES})s?\b)?\s?(?:(?<!\d)['’]?(?P<zeros>000)s?\b"
    rf"|\(?\b(?P<scale>{_LONG})(?:s|en)?\b|(?<=[$€£¥])(?P<short>bn|mn|m|k)\b)"
    rf"(?:\s(?:of\s)?(?:US\s|U\.S\.\s)?(?P<of>{_CURRENCY}|(?:{_CURRENCY_NAMES})s?\b))?",
    re.IGNORECASE,
)
_STATED_CURRENCY = re.compile(rf"{_CURRENCY}|\b(?:{_CURRENCY_NAMES})s?\b", re.IGNORECASE)
_PER_ONE = re.compile(r"\bper\b(?!\s?cent)", re.IGNORECASE)
_EXCEPT = re.compile(r"\b(?:except|other than|excluding|unless|außer)\b.*", re.IGNORECASE | re.DOTALL)
_PER_CENT = re.compile(r"%|\bper\s?cent(?:age)?s?\b", re.IGNORECASE)

MAX_ROUNDED = 0.05
"""Rounding may move a figure by this share of it: 5.2 may be given as 5, but 1.5 not as 2."""
MEASURES = frozenset([*_UNITS, *_SMALL_NUMBERS, *_TENS, *_CURRENCIES, *_SCALES]) - {"in", "m", "s"}
"""Words that belong to a figure and not to what it counts."""


def one_spelling(word: str) -> str:
    """Spell a unit, currency or counting word the one way in which all its spellings meet; others as they are."""
    if word in _TENS or (word in _SMALL_NUMBERS and word != "half"):
        return f"{_TENS.get(word) or _SMALL_NUMBERS[word]:g}"
    if word in _UNITS and word != "in":
        return next(spelling for spelling, unit in _UNITS.items() if unit == _UNITS[word])
    return "%" if word in ("percent", "pct") else _CURRENCIES.get(word, word).lower()


@dataclass(frozen=True, slots=True)
class Quantity:
    """One figure as written: ``value`` with sign and scale applied; a date is (year, month, day) with 0 for unsaid."""

    text: str
    start: int
    end: int
    kind: Kind
    value: float
    step: float = 0.0
    """The unit of the last written digit: how far rounding may have moved the value."""
    date: tuple[int, int, int] = (0, 0, 0)
    unit: str = ""
    """What is measured, or the currency."""
    bare: bool = False
    """No words behind it name what it counts: a figure of a table, or the last word of a sentence."""
    per: str = ""
    """What a rate is per: "d" for "2 % a day", "share" for "$3 per share"."""
    named: str = ""
    """The word that it numbers: "clause" of "clause 6.1", "berth" of "berth 9"; "#" for a heading's number."""
    counted: frozenset[str] = frozenset()
    """The stems of what is counted: of "full-time" and "employees" for "12 full-time employees"."""

    @property
    def digits(self) -> str:
        """Return the number of a place as it is written, or the whole number that it is."""
        return "".join(re.findall(r"[\d.]", self.text)).strip(".") if self.step else f"{self.value:g}"

    @property
    def counts(self) -> bool:
        """Return whether it is an amount: how much or how many."""
        return self.kind in ("number", "percent", "money")

    @property
    def year(self) -> int:
        """Return the year that a date names, else 0."""
        return self.date[0]


def quantities(text: str) -> tuple[Quantity, ...]:
    """Return every date, time and number of `text` in reading order; list numbers and citation marks are left out."""
    blanked = _BULLET.sub(lambda match: " " * len(match.group()), text.translate(UNRAISED))
    found: list[Quantity] = []
    for reader in (_dates, _times, _figures, _spelled):
        read = list(reader(blanked))
        found += read
        # Not with spaces: what is left of "April 18-26" must not read as minus 26.
        signs = list(blanked)
        for quantity in read:
            signs[quantity.start : quantity.end] = "_" * (quantity.end - quantity.start)
        blanked = "".join(signs)
    return tuple(_joined(blanked, sorted(found, key=lambda quantity: quantity.start)))


def _joined(text: str, found: Sequence[Quantity]) -> list[Quantity]:
    """Give the figures of a range or list what only the last of them has, or of places the first: "5 to 10 %"."""
    joined = list(found)
    for place in range(len(joined) - 2, -1, -1):
        one, following = joined[place], joined[place + 1]
        has_no_words = one.kind == "number" and following.counts and not (one.unit or one.counted)
        if has_no_words and _JOINED.fullmatch(text, one.end, following.start):
            joined[place] = replace(
                one, kind=following.kind, unit=following.unit, per=following.per, counted=following.counted
            )
    for place in range(1, len(joined)):
        one, before = joined[place], joined[place - 1]
        has_no_words = bool(before.named) and one.kind == "number" and not (one.unit or one.counted)
        if has_no_words and _JOINED.fullmatch(text, before.end, one.start):
            joined[place] = replace(one, kind=before.kind, named=before.named, bare=False)
    return joined


def in_one_spelling(text: str) -> str:
    """Return the text with its shares, amounts and days in one spelling: "5%", "EUR 5 million", "3 May 2026"."""
    pieces, position = [], 0
    for one in quantities(text):
        if one.start >= position and (spelled := _spelled_once(one)):
            lead = one.text[: len(one.text) - len(one.text.lstrip())]
            pieces += [text[position : one.start], lead, spelled]
            position = one.end
    return "".join([*pieces, text[position:]])


def _spelled_once(one: Quantity) -> str:
    year, month, day = one.date
    if year and 0 < month <= len(_MONTH_NAMES) and day:
        return f"{day} {_MONTH_NAMES[month - 1]} {year}"
    digits = re.search(r"\d(?:[\d.,' \u00a0\u202f]*\d)?", one.text) if one.kind in ("percent", "money") else None
    if digits is None or _PART.search(one.text) or one.text.lstrip()[:1] in "(-−–+":
        return ""
    if one.kind == "percent":
        return f"{digits.group()}%"
    scaled = _SCALED.match(one.text, digits.end())
    scale = _SPELLED_SCALES.get(_SCALES[scaled[1].lower()], f" {scaled[1]}") if scaled else ""
    return f"{one.unit} {digits.group()}{scale}" if one.unit else ""


def stated_scales(text: str) -> frozenset[float]:
    """Return the factors a table or page declares for its figures ("in thousands of dollars"), always with 1."""
    scales = {1.0}
    for match in _STATED_SCALE.finditer(text):
        word = next(filter(None, match.groups())).lower()
        scales.add(1e3 if word == "000" else _SCALES.get(word, 1.0))
    return frozenset(scales)


def same(claimed: Quantity, given: Quantity, scales: frozenset[float] = frozenset({1.0})) -> bool:
    """Return whether `given` supports `claimed`: same kind, and same value to the precision of the claim."""
    if "label" in (claimed.kind, given.kind):
        return claimed.digits == given.digits and {claimed.kind, given.kind} <= {"label", "number"}
    if claimed.kind == "date" or given.kind == "date":
        if claimed.kind == given.kind:
            return all(mine in (0, theirs) for mine, theirs in zip(claimed.date, given.date, strict=True))
        plain = given if claimed.kind == "date" else claimed
        dated = claimed if claimed.kind == "date" else given
        return plain.kind == "number" and dated.date[1:] == (0, 0) and plain.value == dated.year
    if not comparable(claimed, given):
        return False
    if {claimed.unit, given.unit} == {"m", ""}:  # "48m" may be millions
        scales = scales | {1e6, 1e-6}
    return any(is_close(claimed, given.value * scale) for scale in scales)


def comparable(one: Quantity, other: Quantity) -> bool:
    """Return whether two figures count the same kind of thing, as far as both show what they count and per what."""
    if (one.unit and other.unit and one.unit != other.unit) or (one.per and other.per and one.per != other.per):
        return False
    if one.kind == other.kind:
        return True
    plain = one if one.kind == "number" else other
    # A bare figure of a table may be an amount or a share; "five days" is neither, nor is "berth 9".
    return plain.kind == "number" and plain.bare and not plain.unit and "time" not in (one.kind, other.kind)


def is_close(claimed: Quantity, value: float) -> bool:
    """Return whether a value is what was claimed, as exactly as that is written."""
    # Falling amounts are written as "fell by 5": the sign may be in the verb, so only a written minus is binding.
    difference = min(
        abs(claimed.value - value), abs(claimed.value + value) if claimed.value > 0 > value else float("inf")
    )
    rounded = min(claimed.step / 2, MAX_ROUNDED * abs(value))
    up = abs(claimed.value) >= abs(value) or round(abs(claimed.value) / (claimed.step or 1)) % 2 == 0
    # A half is rounded up, or to the even digit.
    return difference <= max(rounded * (1.0001 if up else 0.9999), abs(value) * 1e-12)


def _dates(text: str) -> Iterator[Quantity]:
    taken = bytearray(len(text))
    for pattern in _DATES:
        for match in pattern.finditer(text):
            if any(taken[match.start() : match.end()]):
                continue
            parts = match.groupdict()
            year = int(parts["year"] or 0)
            month_text = (parts.get("month") or "0").lower()
            month = int(month_text) if month_text.isdigit() else _MONTHS[month_text[:3]]
            taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
            date = (2000 + year if 0 < year < 100 else year, month, int(parts.get("day") or 0))
            yield Quantity(match.group(), *match.span(), "date", float(date[0]), 0.0, date)
            if not date[0] and (last := _LAST_DAY.match(text, match.end())):
                date = (date[0], date[1], int(last["day"]))
                yield Quantity(last.group(), *last.span(), "date", float(date[0]), 0.0, date)


def _times(text: str) -> Iterator[Quantity]:
    for match in _TIME.finditer(text):
        hour = int(match["hour"] or match["hour24"])
        if match["half"]:
            hour = hour % 12 + (12 if match["half"].lower() == "p" else 0)
        minutes = (hour % 24) * 60 + int(match["minute"] or match["minute24"] or 0)
        yield Quantity(match.group(), *match.span(), "time", float(minutes))


def _figures(text: str) -> Iterator[Quantity]:
    heading = _HEADING_NUMBER.match(text)
    if heading:
        span = heading.span("digits")
        major, minor = heading["digits"].split(".")[:2]
        yield Quantity(heading["digits"], *span, "label", float(f"{major}.{minor}"), 0.1, named="#")
    for match in _NUMBER.finditer(text, heading.end("digits") if heading else 0):
        if _NAMED.search(text, max(0, match.start("digits") - 3), match.start("digits")) and not match["money"]:
            continue  # "Q3", "B12", "COVID-19": part of a name
        if _LETTER.match(text, match.end()) and not match["scale"]:
            continue  # "2D"
        money = (match["money"] or match["after"] or "").strip().lower()
        length = match["scale"] or "" if not money else ""  # "5M" is no length
        scale = 1.0 if length in _LENGTHS or not match["scale"] else _SCALES[match["scale"].lower()]
        digits, part = match["digits"], _PARTS.get(match["digits"][-1], 0.0)
        if match["continental"]:
            digits = digits.translate(_CONTINENTAL)
        elif re.fullmatch(r"\d{1,15},\d{1,2}", digits):
            digits = digits.replace(",", ".")
        digits = re.sub(r"[,\s']", "", digits[:-1] if part else digits) or "0"
        bracketed = bool(match["open"] and match["close"])
        negative = bool(match["sign"] and match["sign"].strip() != "+") or (
            bracketed and ("," in match["digits"] or "." in digits)
        )
        kind: Kind = "percent" if match["percent"] else "money" if money else "number"
        unit = _CURRENCIES.get(money, "") if kind == "money" else _unit_after(text, match.end())
        if length in _LENGTHS:
            unit = length
        quantity = Quantity(
            match.group(),
            *match.span(),
            kind,
            (float(digits) + part) * scale * (-1 if negative else 1),
            0.001 if part else scale * 10.0 ** -len(digits.partition(".")[2]),
            unit=unit,
            bare=_BARE.match(text, match.end()) is not None,
            per=_per_after(text, match.end()),
        )
        yield _placed(text, quantity) if kind == "number" and scale == 1.0 and not part else quantity


def _placed(text: str, quantity: Quantity) -> Quantity:
    """Return a plain number with what it counts, or what it is the number of."""
    if quantity.text.endswith(("st", "nd", "rd", "th")):
        return quantity
    counted = _counted_after(text, quantity.end) if not quantity.unit else frozenset[str]()
    before = text[max(0, quantity.start - 24) : quantity.start + (quantity.text[:1] == " ")]
    if reference := _REFERENCE.search(before):
        return replace(quantity, kind="label", named=stem(reference["word"] or "no"), bare=False)
    naming = _NAMING.search(before)
    if naming is None or counted or quantity.unit or not quantity.text.strip().isdigit() or quantity.value >= 1000:
        return replace(quantity, counted=counted)
    word = naming["word"].lower()
    if word in FUNCTION_WORDS or word in MEASURES or word.endswith(("ed", "ing")):
        return quantity  # "reached 9"
    follows = _BARE.match(text, quantity.end)
    return replace(quantity, named=stem(word), bare=follows is not None and follows["cell"] is not None)


def _spelled(text: str) -> Iterator[Quantity]:
    for match in _WORD_NUMBER.finditer(text):
        tens, unit = (match["tens"] or "").lower(), (match["unit"] or match["alone"] or "").lower()
        measured = _unit_after(text, match.end())
        if unit in ("one", "two") and not (match["scale"] or match["percent"] or tens or measured):
            continue  # "one of the two" counts nothing that a source would write as a figure
        scale = (match["scale"] or "").lower()
        value = (_TENS.get(tens, 0) + _SMALL_NUMBERS.get(unit, 0)) * (
            12 if scale == "dozen" else _SCALES.get(scale, 1.0)
        )
        kind: Kind = "percent" if match["percent"] else "number"
        counted = _counted_after(text, match.end()) if not measured else frozenset[str]()
        per = _per_after(text, match.end())
        yield Quantity(match.group(), *match.span(), kind, float(value), unit=measured, per=per, counted=counted)


def _unit_after(text: str, end: int) -> str:
    match = _UNIT.match(text, end)
    if match is None:
        return ""
    return ("business " if match["kind"] else "") + _UNITS[match["unit"].lower()]


def _per_after(text: str, end: int) -> str:
    match = _PER.match(text, end)
    if match is None:
        return ""
    word = next((word for word in match.groups() if word), "").lower()
    one = word.removesuffix("s")
    return "y" if match["year"] else _TIMES.get(one) or _UNITS.get(word) or _UNITS.get(one) or stem(word)


def _counted_after(text: str, end: int) -> frozenset[str]:
    """Return the stems of the words behind a figure, up to the first that adds no more to what is counted."""
    match = _COUNTED.match(text, end)
    counted = []
    for word in re.split("[ -]", match["words"]) if match else ():
        if word.lower() in FUNCTION_WORDS or word.lower() in MEASURES or word.lower() == "every":
            break
        counted.append(stem(word))
    return frozenset(counted)


@dataclass(frozen=True, slots=True)
class Printed:
    """A cell's figure: ``scale`` is what it prints itself, 0 where it prints none."""

    value: Decimal
    unit: str = ""
    scale: int = 0


def uses_decimal_comma(texts: Iterable[str]) -> bool:
    """Return whether figures of one group are written like 1.234,5 more often than like 1,234.5."""
    commas = points = 0
    for text in texts:
        if text[-1:].isdigit() or text[-1:] in ")%€$":
            commas += bool(_DECIMAL_COMMA.search(text))
            points += bool(_DECIMAL_POINT.search(text))
    return commas > points


def printed_figure(text: str, *, decimal_comma: bool = False) -> Printed | None:
    """Read a cell that is one figure with its sign, currency, unit and footnote mark; None for anything else."""
    match = _CELL_FIGURE.fullmatch(" ".join(text.split()))
    if match is None or (match["unit"] and match["unit"].lower().rstrip(".") not in MEASURES):
        return None  # "18 March", "1st"
    value = _value(match["digits"], decimal_comma=decimal_comma)
    if value is None:
        return None
    closed = match["close"] or (match["late"] and ")" in text)
    negative = bool(match["sign"] and match["sign"] != "+") or bool(match["inner_sign"])
    negative = negative or bool((match["open"] or match["inner"]) and closed)
    scale = int(_SCALES.get((match["scale"] or "").lower(), 0))
    currency = match["before"] or match["after"]
    unit = "%" if match["percent"] or match["late"] else _currency(currency) if currency else match["unit"] or ""
    return Printed(-value if negative else value, unit, scale)


def stated_measure(text: str) -> tuple[str, int]:
    """Return the unit and the scale that a caption or a head states; "" and 0 where it states none.

    "In millions, except per share data" gives millions; "Earnings per share" gives 1, regardless of the table.
    """
    kept = _EXCEPT.sub("", text)
    scale, unit = 0, ""
    if stated := _STATED_MEASURE.search(kept):
        scale = 1000 if stated["zeros"] else int(_SCALES[(stated["scale"] or stated["short"]).lower()])
        unit = _currency(stated["currency"] or stated["of"] or "")
    if not unit and (found := _STATED_CURRENCY.search(kept)):
        unit = _currency(found.group())
    if not scale and _PER_CENT.search(kept):
        return "%", 1
    if not scale and _PER_ONE.search(kept):
        scale = 1
    return unit, scale


def _value(digits: str, *, decimal_comma: bool) -> Decimal | None:
    digits = digits.strip(" .,'") if digits[:1] != "." else digits.rstrip(" ,")
    whole, mark, rest = digits.rpartition("," if decimal_comma else ".")
    if not mark:
        whole, rest = digits, ""
    if rest and not rest.isdigit():
        return None
    if whole and not whole.isdigit() and not _GROUPED.fullmatch(whole) and not _LAKHS.fullmatch(whole):
        return None
    plain = "".join(filter(str.isdigit, whole)) or "0"
    return Decimal(f"{plain}.{rest}" if rest else plain)


def _currency(word: str) -> str:
    return _CURRENCIES.get(word.lower()) or _CURRENCIES.get(word.lower().rstrip("s"), word.upper())
