"""Dates with day, month and year, with the names of months in six languages."""

import re
from collections.abc import Iterator

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero gennaio janeiro",
            "february feb februar février febrero febbraio fevereiro",
            "march mar märz mars marzo março",
            "april apr avril abril aprile",
            "may mai mayo maggio maio",
            "june jun juni juin junio giugno junho",
            "july jul juli juillet julio luglio julho",
            "august aug août agosto",
            "september sep sept septembre septiembre settembre setembro",
            "october oct oktober octobre octubre ottobre outubro",
            "november nov novembre noviembre novembro",
            "december dec dezember décembre diciembre dicembre dezembro",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DATES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\b{_MONTH}\s{{1,9}}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s{{0,9}},?\s{{1,9}}{_YEAR}\b",
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er)?\s{{1,9}}(?:de\s{{1,9}})?{_MONTH},?\s{{1,9}}(?:de\s{{1,9}})?{_YEAR}\b",
        rf"\b{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)\b",
        rf"\b{_YEAR}年\s{{0,9}}(?P<month>\d{{1,2}})月\s{{0,9}}(?P<day>\d{{1,2}})日",
    )
)


def dates_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each date begins, and the date as year-month-day; of one form after the other."""
    for pattern in _DATES:
        for match in pattern.finditer(text):
            month = match["month"].lower()
            number, day = int(month) if month.isdigit() else _MONTHS[month], int(match["day"])
            if 1 <= number <= 12 and 1 <= day <= 31:
                yield match.start(), f"{match['year']}-{number:02d}-{day:02d}"
