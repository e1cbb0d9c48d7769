"""Numbers, dates and times as a spreadsheet shows them, by the format of their cell (ECMA-376, 18.8.31)."""

import operator
import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

_SECTION = re.compile(r'(?:[^;"\\\[]|"[^"]{0,99}"|\\.|\[[^\]]{0,99}\])*')
_LITERAL = re.compile(r'"([^"]{0,99})"|\\(.)|\[\$([^\]-]{0,99})[^\]]{0,99}\]|_.|\*.|\[[^\]]{0,99}\]')
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)(-?[\d.]+)\]")
_COMPARED = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
_POWER = re.compile(r"([#0?.,]{1,99})E([+-])(0{1,9})", re.IGNORECASE)
_FRACTION = re.compile(r"([#0?]{0,99})(\s{0,9})([#0?]{1,99})/([#0?\d]{1,99})")
_DIGITS = re.compile(r"[#0?][#0?,.]*|\.[#0?]+")
_PLACE = 0xE000
"""First of the characters that replace literal text while the digits are set."""
_GENERAL_DIGITS = 11
"""What a cell without a format shows at most."""


def shown(value: Any, number_format: str) -> str:
    """Return what a cell shows; dates are written YYYY-MM-DD, since many formats depend on the machine."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        is_day, detail = value.time() == time(0), "seconds" if value.second else "minutes"
        return value.date().isoformat() if is_day else value.isoformat(" ", detail)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds or "s" in number_format else "")
    if not isinstance(value, int | float):
        return str(value)
    with localcontext(prec=400):
        return _number(Decimal(repr(value)), list(_sections(number_format)))


def _sections(number_format: str) -> Iterator[str]:
    at = 0
    while at <= len(number_format):
        found = _SECTION.match(number_format, at)
        assert found is not None
        yield found[0]
        at = found.end() + 1


def _number(value: Decimal, sections: list[str]) -> str:
    section, has_sign = _section_of(value, sections)
    literals = list[str]()

    def kept(found: re.Match[str]) -> str:
        literals.append(found[1] or found[2] or found[3] or "")
        return chr(_PLACE + len(literals) - 1) if literals[-1] else ""

    pattern = _LITERAL.sub(kept, section)
    if "General" in pattern or pattern.strip() in ("", "@"):
        text = pattern.replace("General", "@").replace("@", _general(abs(value))) if section else ""
    else:
        text = _set(abs(value) * (100 if "%" in pattern else 1), pattern)
    for at, literal in enumerate(literals):
        text = text.replace(chr(_PLACE + at), literal)
    return f"{'-' if has_sign else ''}{text.strip()}" if any(map(str.isdigit, text)) else text.strip()


def _section_of(value: Decimal, sections: list[str]) -> tuple[str, bool]:
    """Return the section for a value, and whether it is shown with a minus."""
    if any(_CONDITION.match(section) for section in sections):
        for section in sections:
            condition = _CONDITION.match(section)
            if condition is None or _COMPARED[condition[1]](value, Decimal(condition[2])):
                return section, value < 0
    is_other = (value < 0 and len(sections) > 1) or (value == 0 and len(sections) > 2)
    return sections[(2 if value == 0 else 1) if is_other else 0], value < 0 and not is_other


def _set(value: Decimal, pattern: str) -> str:
    if power := _POWER.search(pattern):
        places = len(power[1].partition(".")[2])
        digits, _, exponent = f"{value:.{places}E}".partition("E")
        sign = "-" if exponent.startswith("-") else power[2].replace("-", "")
        return _POWER.sub(f"{digits}E{sign}{exponent.lstrip('+-').zfill(len(power[3]))}", pattern, count=1)
    if fraction := _FRACTION.search(pattern):
        return pattern[: fraction.start()] + _fraction(value, fraction) + pattern[fraction.end() :]
    groups = _DIGITS.findall(pattern)
    if len(groups) > 1 and not any("." in group or "," in group for group in groups):
        return _spread(value, pattern)
    return _DIGITS.sub(lambda found: _digits(value, found[0]), pattern, count=1)


def _fraction(value: Decimal, found: re.Match[str]) -> str:
    whole = int(value) if found[1] else 0
    if found[4].isdigit() and int(found[4]):
        lower = int(found[4])
        upper = int((value - whole) * lower + Decimal("0.5"))
    else:
        near = Fraction(value - whole).limit_denominator(10 ** len(found[4]) - 1)
        upper, lower = near.numerator, near.denominator
    parts = [str(whole)] if whole or (found[1] and not upper) else []
    return " ".join([*parts, f"{upper}/{lower}"] if upper else parts or ["0"])


def _spread(value: Decimal, pattern: str) -> str:
    """Set digits into several groups of places, such as 000-00-0000, from the right."""
    digits = list(f"{value.quantize(Decimal(1), ROUND_HALF_UP):f}")
    signs = list(pattern)
    places = [at for at, sign in enumerate(signs) if sign in "#0?"]
    for at in reversed(places):
        first = at == places[0]
        signs[at] = "".join(digits) if first and digits else digits.pop() if digits else "0" if signs[at] == "0" else ""
    return "".join(signs)


def _digits(value: Decimal, digits: str) -> str:
    thousands = len(digits) - len(digits.rstrip(","))
    whole, _, decimals = digits.rstrip(",").partition(".")
    places = sum(sign in "#0?" for sign in decimals)
    rounded = value.scaleb(-3 * thousands).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    before, _, behind = f"{rounded:{',' if ',' in whole else ''}f}".partition(".")
    if before == "0" and "0" not in whole:
        before = ""
    for sign in reversed(decimals):
        if sign == "0" or not behind.endswith("0"):
            break
        behind = behind[:-1]
    return f"{before.zfill(whole.count('0'))}{'.' if behind else ''}{behind}"


def _general(value: Decimal) -> str:
    rounded = f"{float(value):.{_GENERAL_DIGITS}g}"
    if "e" not in rounded:
        return rounded
    digits, _, power = f"{float(value):.{_GENERAL_DIGITS - 6}E}".partition("E")
    return f"{digits.rstrip('0').rstrip('.')}E{power}"
