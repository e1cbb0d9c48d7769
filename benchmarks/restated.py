"""The same sentence in another form: dates, percentages, currencies, scales, spelled numbers, order."""

import random
import re
from collections.abc import Callable, Iterator
from decimal import Decimal

from benchmarks.invented import MONTHS

_DATE = re.compile(
    rf"(?<![\w.,/-])(?<!and )(?<!to )(\d\d?) ({'|'.join(MONTHS)}) ((?:19|20)\d\d)\b"
    rf"|\b({'|'.join(MONTHS)}) (\d\d?), ((?:19|20)\d\d)\b"
)
_PERCENT = re.compile(r"(?<=\d)(?: ?%| per ?cent)")
_MONEY = re.compile(r"([$€£])(\d[\d,]*(?:\.\d+)?)(?! ?(?:[\w,.]*\d|thousand|million|billion|per|a\b))")
_GROUPED = re.compile(r"(?<![\w.,$€£-])(\d{1,3}(?:,\d{3})+)(?= [a-z]{3}(?!\w*llion\b|\w*ousand\b))")
_WORDS = ("two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
          "eighteen nineteen twenty").split()  # fmt: skip
_COUNTED = r"(?= (?:\w+ )?(?:days|weeks|months|years|hours|times|members|people|copies)\b)"
_SPELLED = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b{_COUNTED}", re.IGNORECASE)
_DIGITS = re.compile(rf"(?<![\w.,$€£-])(?:[2-9]|1\d|20){_COUNTED}")
_HALF = re.compile(r"(?<![\w.,])(\d{1,3})\.5(?=[ %])")
_LEADING = re.compile(
    r"(?P<lead>(?:In|On|As of|At|During) [\w ]{4,40}?(?:19|20)\d\d),? (?P<rest>[a-z][^;]{20,200})(?P<end>\.)"
)
_CODES = {"$": "USD", "€": "EUR", "£": "GBP"}
_NAMES = {"$": "dollars", "€": "euros", "£": "pounds"}


def restatements(text: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield the kind of each form with the text in it: one place changed at a time."""
    forms: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
        ("date", _DATE, lambda match: _date(match, rng)),
        ("percent", _PERCENT, lambda match: " per cent" if "%" in match.group() else " %"),
        ("currency", _MONEY, lambda match: _currency(match, rng)),
        ("scale", _GROUPED, _in_thousands),
        ("spelled", _SPELLED, lambda match: str(_WORDS.index(match.group().lower()) + 2)),
        ("spelled", _DIGITS, lambda match: _WORDS[int(match.group()) - 2]),
        ("half", _HALF, lambda match: f"{match[1]}½"),
    )
    for kind, pattern, other in forms:
        for match in pattern.finditer(text):
            if match.start():
                yield kind, text[: match.start()] + other(match) + text[match.end() :]
    if moved := _LEADING.fullmatch(text):
        lead, rest = moved["lead"], moved["rest"]
        yield "order", f"{rest[0].upper()}{rest[1:]} {lead[0].lower()}{lead[1:]}."


def _date(match: re.Match[str], rng: random.Random) -> str:
    day, month, year = (match[1], match[2], match[3]) if match[1] else (match[5], match[4], match[6])
    number = MONTHS.index(month) + 1
    forms = [f"{int(day):02}.{number:02}.{year}", f"{year}-{number:02}-{int(day):02}"]
    return rng.choice([*forms, f"{month} {day}, {year}" if match[1] else f"{day} {month} {year}"])


def _currency(match: re.Match[str], rng: random.Random) -> str:
    amount = match[2]
    forms = [f"{_CODES[match[1]]} {amount}", f"{amount} {_NAMES[match[1]]}"]
    return rng.choice(forms + ([f"{match[1]}{_thousands(amount)} thousand"] if amount.count(",") == 1 else []))


def _in_thousands(match: re.Match[str]) -> str:
    return f"{_thousands(match[1])} thousand"


def _thousands(amount: str) -> str:
    return f"{Decimal(amount.replace(',', '')) / 1000:f}"
