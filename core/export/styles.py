"""How a place in a document is cited: plainly, as the Bluebook has it, or as OSCOLA has it.

Both books know no uploaded file; each is cited as an unpublished document (Bluebook, rule 17.2; OSCOLA, section 3.4).
"""

from calendar import month_name
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import PurePath

from pincite.core.export.manifest import PinCite, SourceFile

_KEPT_WHOLE = ("May", "June", "July")
"""Months that the Bluebook does not shorten (table 12)."""


class CitationStyle(StrEnum):
    PLAIN = "plain"
    BLUEBOOK = "bluebook"
    OSCOLA = "oscola"


def plain(place: PinCite) -> str:
    """Return the file's name and the page as it is printed, with the page of the file where that differs."""
    position = f"page {place.page_index + 1} of the file"
    printed = place.page_label in ("", str(place.page_index + 1))
    return f"{place.source.name}, {position if printed else f'p. {place.page_label} ({position})'}"


def cited(places: Sequence[tuple[int, PinCite]], style: CitationStyle) -> Iterator[str]:
    """Each place as a note cites it, by the number of its note; what an earlier note has cited is cited in short."""
    first: dict[str, int] = {}
    before: tuple[int, PinCite] | None = None
    for note, place in places:
        digest = place.source.sha256
        if style is CitationStyle.PLAIN:
            yield plain(place)
        elif style is CitationStyle.OSCOLA:
            yield _oscola(place, first.get(digest))
        elif before and before[1].source == place.source and _alone(before, places, note):
            yield "Id." if _pin(before[1]) == _pin(place) else f"Id. at {_pin(place)}"
        else:
            yield _bluebook(place, first.get(digest))
        first.setdefault(digest, note)
        before = (note, place)


def _alone(before: tuple[int, PinCite], places: Sequence[tuple[int, PinCite]], note: int) -> bool:
    """Return whether "Id." is unambiguous: the place before is in the same note, or its note cites no other source."""
    return before[0] == note or len({place.source for number, place in places if number == before[0]}) == 1


def _bluebook(place: PinCite, first: int | None) -> str:
    if first is not None:
        return f"{_short(place.source)}, supra note {first}, at {_pin(place)}"
    dated = _american(place.source.date)
    return f"{_titled(place.source)} {_pin(place)} ({dated}) (unpublished document) (on file with author)"


def _oscola(place: PinCite, first: int | None) -> str:
    if first is not None:
        return f"{_short(place.source)} (n {first}) {_pin(place)}"
    dated = f", {british}" if (british := _british(place.source.date)) else ""
    return f"{_titled(place.source)} (unpublished{dated}) {_pin(place)}"


def _pin(place: PinCite) -> str:
    return place.page_label or str(place.page_index + 1)


def _title(source: SourceFile) -> str:
    return source.title or PurePath(source.name).stem


def _titled(source: SourceFile) -> str:
    return f"{source.author}, {_title(source)}" if source.author else _title(source)


def _short(source: SourceFile) -> str:
    """Return the first part of the full citation."""
    return source.author or _title(source)


def _american(date: str) -> str:
    year, month, day = _read(date)
    name = month_name[month]
    shortened = name if not name or name in _KEPT_WHOLE else f"{name[: 4 if name == 'September' else 3]}."
    return " ".join(filter(None, (shortened, f"{day}," if day else "", year))) or "n.d."


def _british(date: str) -> str:
    year, month, day = _read(date)
    return " ".join(filter(None, (str(day or ""), month_name[month], year)))


def _read(date: str) -> tuple[str, int, int]:
    """Year, month and day of an ISO date; what it lacks or what is none is empty or 0."""
    year, month, day = (*date.split("-"), "", "", "")[:3]
    number = int(month) if month.isdecimal() and 1 <= int(month) <= 12 else 0
    return year, number, int(day) if number and day.isdecimal() else 0
