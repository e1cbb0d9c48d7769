"""Figures as tables print them, and the units and scales that heads and captions state.

Unlike `numbers`, which reads prose, it takes a whole cell, exactly, and says whether it is a figure at all.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from core.text.numbers import MEASURES

_CODES = "USD|EUR|GBP|CHF|JPY|CNY|RMB|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL|KRW|ZAR|SGD|HKD|NZD|MXN"
_SIGNS = {
    "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "RMB": "CNY", "US$": "USD", "A$": "AUD",
    "AU$": "AUD", "C$": "CAD", "CA$": "CAD", "NZ$": "NZD", "HK$": "HKD", "S$": "SGD", "R$": "BRL",
}  # fmt: skip
_CURRENCY = rf"(?:US|A|AU|C|CA|NZ|HK|S|R)?\$|[€£¥₹₽]|\b(?:{_CODES})\b"
_NAMES = {
    "dollar": "USD", "euro": "EUR", "pound": "GBP", "sterling": "GBP", "yen": "JPY", "yuan": "CNY", "rupee": "INR",
    "franc": "CHF",
}  # fmt: skip
_SCALE_WORDS = {
    "thousand": 10**3, "tausend": 10**3, "tsd": 10**3, "000": 10**3, "k": 10**3, "lakh": 10**5, "million": 10**6,
    "millionen": 10**6, "mio": 10**6, "mm": 10**6, "mn": 10**6, "m": 10**6, "crore": 10**7, "billion": 10**9,
    "milliarden": 10**9, "mrd": 10**9, "bn": 10**9, "b": 10**9, "trillion": 10**12,
}  # fmt: skip
_LONG = "thousand|tausend|tsd|lakh|million|millionen|mio|crore|billion|milliarden|mrd|trillion"
_FIGURE = re.compile(
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
_STATED = re.compile(
    rf"(?P<currency>{_CURRENCY}|\b(?:{'|'.join(_NAMES)})s?\b)?\s?(?:(?<!\d)['’]?(?P<zeros>000)s?\b"
    rf"|\(?\b(?P<scale>{_LONG})(?:s|en)?\b|(?<=[$€£¥])(?P<short>bn|mn|m|k)\b)"
    rf"(?:\s(?:of\s)?(?:US\s|U\.S\.\s)?(?P<of>{_CURRENCY}|(?:{'|'.join(_NAMES)})s?\b))?",
    re.IGNORECASE,
)
_STATED_CURRENCY = re.compile(rf"{_CURRENCY}|\b(?:{'|'.join(_NAMES)})s?\b", re.IGNORECASE)
_PER_ONE = re.compile(r"\bper\b(?!\s?cent)", re.IGNORECASE)
_EXCEPT = re.compile(r"\b(?:except|other than|excluding|unless|außer)\b.*", re.IGNORECASE | re.DOTALL)
_PERCENT = re.compile(r"%|\bper\s?cent(?:age)?s?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Printed:
    """A cell's figure: ``scale`` is what it prints itself, 0 where it prints none."""

    value: Decimal
    unit: str = ""
    scale: int = 0


def uses_decimal_comma(texts: Iterable[str]) -> bool:
    """Whether figures that stand together are written like 1.234,5 more often than like 1,234.5."""
    commas = points = 0
    for text in texts:
        if text[-1:].isdigit() or text[-1:] in ")%€$":
            commas += bool(_DECIMAL_COMMA.search(text))
            points += bool(_DECIMAL_POINT.search(text))
    return commas > points


def printed_figure(text: str, *, decimal_comma: bool = False) -> Printed | None:
    """Read a cell that is one figure with its sign, currency, unit and footnote mark; None for anything else."""
    match = _FIGURE.fullmatch(" ".join(text.split()))
    if match is None or (match["unit"] and match["unit"].lower().rstrip(".") not in MEASURES):
        return None  # "18 March", "1st"
    value = _value(match["digits"], decimal_comma=decimal_comma)
    if value is None:
        return None
    closed = match["close"] or (match["late"] and ")" in text)
    negative = bool(match["sign"] and match["sign"] != "+") or bool(match["inner_sign"])
    negative = negative or bool((match["open"] or match["inner"]) and closed)
    scale = _SCALE_WORDS.get((match["scale"] or "").lower(), 0)
    currency = match["before"] or match["after"]
    unit = "%" if match["percent"] or match["late"] else _currency(currency) if currency else match["unit"] or ""
    return Printed(-value if negative else value, unit, scale)


def stated_measure(text: str) -> tuple[str, int]:
    """The unit and the scale that a caption or a head states; "" and 0 where it states none.

    "In millions, except per share data" gives millions; "Earnings per share" gives 1, whatever the table says.
    """
    kept = _EXCEPT.sub("", text)
    scale, unit = 0, ""
    if stated := _STATED.search(kept):
        scale = _SCALE_WORDS[(stated["zeros"] or stated["scale"] or stated["short"]).lower()]
        unit = _currency(stated["currency"] or stated["of"] or "")
    if not unit and (found := _STATED_CURRENCY.search(kept)):
        unit = _currency(found.group())
    if not scale and _PERCENT.search(kept):
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
    upper = word.upper()
    return _SIGNS.get(upper) or _NAMES.get(word.lower().rstrip("s"), upper)
