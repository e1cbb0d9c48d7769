"""Numbers, dates and times as a spreadsheet shows them, by the format of their cell (ECMA-376, 18.8.31)."""

import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

_SECTION = re.compile(r'(?:[^;"\\\[]|"[^"]*"|\\.|\[[^\]]*\])*')
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|_.|\*.|\[[^\]]*\]')
_DIGITS = re.compile(r"[#0?][#0?,.]*")
_PLACE = 0xE000
"""Where signs begin that stand for literal text while the digits are set."""
_GENERAL_DIGITS = 11
"""What a cell without a format shows at most."""


def shown(value: Any, number_format: str) -> str:
    """Return what a cell shows; dates are written YYYY-MM-DD, since many formats depend on the machine."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        is_day = value.time() == time(0)
        return (
            value.date().isoformat() if is_day else value.isoformat(" ", "minutes" if not value.second else "seconds")
        )
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if not isinstance(value, int | float):
        return str(value)
    sections = _SECTION.findall(number_format)[::2] if ";" in number_format else [number_format]
    return _number(Decimal(repr(value)), sections)


def _number(value: Decimal, sections: list[str]) -> str:
    is_other = (value < 0 and len(sections) > 1) or (value == 0 and len(sections) > 2)
    section = sections[(2 if value == 0 else 1) if is_other else 0]
    sign = "-" if value < 0 and not is_other else ""
    literals = list[str]()

    def kept(found: re.Match[str]) -> str:
        literals.append(found[1] or found[2] or found[3] or "")
        return chr(_PLACE + len(literals) - 1) if literals[-1] else ""

    pattern = _LITERAL.sub(kept, section)
    if "General" in pattern or pattern.strip() in ("", "@"):
        text = pattern.replace("General", "@").replace("@", _general(abs(value))) if section else ""
    else:
        scaled = abs(value) * (100 if "%" in pattern else 1)
        text = _DIGITS.sub(lambda found: _digits(scaled, found[0], pattern), pattern, count=1)
    for at, literal in enumerate(literals):
        text = text.replace(chr(_PLACE + at), literal)
    return f"{sign}{text.strip()}" if any(map(str.isdigit, text)) else text.strip()


def _digits(value: Decimal, digits: str, pattern: str) -> str:
    thousands = len(digits) - len(digits.rstrip(","))
    whole, _, decimals = digits.rstrip(",").partition(".")
    value = value.scaleb(-3 * thousands)
    places = sum(sign in "#0?" for sign in decimals)
    if "E" in pattern:
        return f"{value:.{places}E}"
    rounded = value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    text = f"{rounded:{',' if ',' in whole else ''}f}"
    for sign in reversed(decimals):
        if sign != "#" or not text.endswith("0"):
            break
        text = text[:-1]
    return text.rstrip(".").zfill(whole.count("0")) if places else text.zfill(whole.count("0"))


def _general(value: Decimal) -> str:
    rounded = f"{float(value):.{_GENERAL_DIGITS}g}"
    if "e" not in rounded:
        return rounded
    digits, _, power = f"{float(value):.{_GENERAL_DIGITS - 6}E}".partition("E")
    return f"{digits.rstrip('0').rstrip('.')}E{power}"
