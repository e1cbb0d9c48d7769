"""Read a source that is a structured record (JSON) as facts, and hold claims against them.

A record says things prose seldom says: a key with false, or with nothing. Keys become words ("OutdoorSeating" →
"outdoor seating"), values become statements, so that the other checks can read the record like any text.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from core.text.numbers import Quantity, quantities
from core.text.terms import FUNCTION_WORDS, stem

Value = Literal["yes", "no", "unknown"]
Disagreement = Literal["denied", "unknown", "affirmed", "hours", "day"]

_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_NO, _YES = frozenset({"no", "none", "false", "n/a", "not available"}), frozenset({"yes", "true"})
_VAGUE = frozenset(
    {"good", "has", "have", "is", "accepts", "offers", "allows", "info", "type", "business", "available"}
)
_NEGATED = re.compile(
    r"\b(?:not|no|without|lacks?|lacking|neither|nor|unavailable|none|absent|never|cannot|excluding)\b|n['’]t\b", re.I
)
_UNSAID = re.compile(
    r"\b(?:(?:not|n['’]t|no|nor|any)\s(?:\w+\s){0,4}(?:specif\w*|mention\w*|provided?|listed|given|information|details?|data|clear|known|stated|disclosed)"
    r"|unclear|unknown|unspecified|undisclosed|null)\b",
    re.I,
)
_DENIED_AFTER = re.compile(r"(?:(?!,|\band\b|\bbut\b).){0,40}\b(?:not|n['’]t|unavailable)\b")
_SCOPE_END = re.compile(
    r"[.;:!?\n]|\bexcept\s|,\s(?:with|offers|provides|has|includes|features|accepts)\s|,\s(?=[\w\s-]{1,30}\s(?:is|are)\b)|"
    r",?\s(?:but|however|while|although|though|yet|whereas)\s|,\s(?:and\s)?(?:it|the|they|there|its)\s|\sand\s(?:it|the|they|is|has|offers|provides)\s",
    re.I,
)
_WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY_RANGE = re.compile(rf"\b({'|'.join(_WEEK)})s?\b\s*(?:to|through|thru|until|-|–|—)\s*({'|'.join(_WEEK)})s?\b", re.I)
_DAY = re.compile(rf"\b({'|'.join(_WEEK)})s?\b", re.I)
_WEEKDAYS, _WEEKEND = re.compile(r"\bweekdays?\b", re.I), re.compile(r"\bweekends?\b", re.I)
_EVERY_DAY = re.compile(r"\b(?:daily|every\s?day|(?:seven|7) days)\b", re.I)


@dataclass(frozen=True, slots=True)
class Fact:
    """A key of the record that is a yes, a no or nothing; ``names`` finds it in a claim."""

    label: str
    value: Value
    names: re.Pattern[str]
    parent: re.Pattern[str] | None


class Record:
    """One structured source, read once."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        """Take the parsed JSON object."""
        self._content = content

    @cached_property
    def text(self) -> str:
        """Return the record as lines of prose: what it states, leaving out what it denies or leaves open."""
        return "\n".join(line for line in _lines((), self._content) if line)

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """Return all keys with a yes, a no or nothing."""
        return tuple(_facts((), self._content))

    @cached_property
    def schedule(self) -> Mapping[str, tuple[float, ...]]:
        """Return opening and closing minute of the day by weekday, where the record has weekdays for keys."""
        found: dict[str, tuple[float, ...]] = {}
        for key, value in _pairs(self._content):
            if key.lower() in _WEEK and isinstance(value, str):
                hours = tuple(quantity.value for quantity in quantities(value) if quantity.kind == "time")
                found[key.lower()] = hours if len(set(hours)) > 1 else ()
        return found

    @cached_property
    def _times(self) -> frozenset[float]:
        """Return the times of day that its prose tells."""
        return frozenset(quantity.value for quantity in quantities(self.text) if quantity.kind == "time")

    def disagreements(self, claim: str) -> list[tuple[Disagreement, str]]:
        """Return where `claim` says otherwise than the record, each with one line for people."""
        found: list[tuple[Disagreement, str]] = []
        for fact in self.facts:
            match = fact.names.search(claim)
            if match is None or not _is_meant(fact, claim, match):
                continue
            if fact.value == "unknown" and fact.names.search(self.text):
                continue  # left open by its key, but told elsewhere in the record
            said = _stance(claim, match)
            if said == "yes" and fact.value == "no":
                found.append(("denied", f"the source says no to “{fact.label}”"))
            elif said == "yes" and fact.value == "unknown":
                found.append(("unknown", f"the source leaves “{fact.label}” open"))
            elif said != "yes" and fact.value == "yes":
                found.append(("affirmed", f"the source says yes to “{fact.label}”"))
            elif said == "no" and fact.value == "unknown":
                found.append(("unknown", f"the source leaves “{fact.label}” open"))
        return found + list(self._schedule_disagreements(claim))

    def _schedule_disagreements(self, claim: str) -> Iterator[tuple[Disagreement, str]]:
        if not self.schedule:
            return
        times = [quantity for quantity in quantities(claim) if quantity.kind == "time"]
        known = {time for hours in self.schedule.values() for time in hours} | self._times
        for time in times:
            if not _among(time, known):
                yield "hours", f"{time.text.strip()} is not among the hours of the source"
        about_hours = times or re.search(r"\bopen|\bhours|\boperat", claim, re.I)
        if not about_hours or re.search(r"\bclosed\b", claim, re.I):
            return
        groups = list(_day_groups(claim, times))
        for days, hours in groups:
            for day in days:
                if any(day in others and len(others) < len(days) for others, _ in groups):
                    continue  # "daily until nine, on Fridays until ten"
                given = self.schedule.get(day, ())
                if not given:
                    yield "day", f"the source gives no hours for {day.capitalize()}"
                    break
                if len(hours) == 2 and not all(_among(time, {edge}) for time, edge in zip(hours, given, strict=False)):
                    yield "hours", f"the source gives other hours for {day.capitalize()}"
                    break


def read_record(source: str) -> Record | None:
    """Return the record if `source` is a JSON object, else None."""
    text = source.strip()
    if not text.startswith("{") or not text.endswith("}"):
        return None
    try:
        content = json.loads(text)
    except ValueError:
        return None
    return Record(content) if isinstance(content, dict) else None


def _words(key: str) -> list[str]:
    return [word.lower() for word in _CAMEL.findall(key)]


def _plain(value: Any) -> Value | None:
    if value is None or value == "" or value == {} or value == []:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and value.strip().lower() in _NO | _YES:
        return "yes" if value.strip().lower() in _YES else "no"
    return None


def _lines(path: tuple[str, ...], value: Any) -> Iterator[str]:
    label = " ".join(word for key in path[-2:] for word in _words(key))
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from _lines((*path, str(key)), child)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) > 1:
            yield f"{label}: {len(value)}"
        for child in value:
            yield from _lines(path, child)
    elif (plain := _plain(value)) is not None:
        yield f"{label}: yes" if plain == "yes" else ""
    else:
        yield f"{label}: {value}"


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield str(key), child
            yield from _pairs(child)
    elif isinstance(value, list):
        for child in value:
            yield from _pairs(child)


def _facts(path: tuple[str, ...], content: Mapping[str, Any]) -> Iterator[Fact]:
    repeated = {
        word for word, count in Counter(w for key in content for w in set(_words(str(key)))).items() if count > 1
    }
    for key, value in content.items():
        words = [word for word in _words(str(key)) if word not in repeated] or _words(str(key))
        if isinstance(value, Mapping) and value:
            yield from _facts((*path, str(key)), value)
            kinds = {_plain(child) for child in value.values()}
            if kinds <= {"no"}:
                yield Fact(" ".join(words), "no", _pattern(words), None)
            continue
        plain = _plain(value)
        if plain is None and isinstance(value, str) and len(value) < 40 and len(words) > 1:
            plain = "yes"
        if plain is not None:
            parent = _pattern(_words(path[-1])) if path and len(words) == 1 else None
            yield Fact(" ".join(words), plain, _pattern(words), parent)


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Match the words of a key as people write them: "wi-fi", "takeout", "outdoor seats", "ambiance" for "ambience"."""
    kept = [word for word in words if word not in _VAGUE] or list(words)
    if any(word in FUNCTION_WORDS and len(word) > 2 for word in kept[:-1]):
        kept = kept[-1:]
    return re.compile(r"\b" + r"[\s-]?".join(map(_root, kept)) + r"\b", re.IGNORECASE)


def _root(word: str) -> str:
    if word.endswith(("ence", "ance")):
        return re.escape(word[:-4]) + r"[ae]nc\w*"
    root = stem(word)
    return re.escape(root[:-4] if len(root) >= 10 else root) + (r"\w*" if len(word) > 4 else "")


def _is_meant(fact: Fact, claim: str, match: re.Match[str]) -> bool:
    word = match.group()
    if fact.parent is None:
        return True
    if word[:1].isupper() and match.start() > 0:
        return False  # "State Street": a name, not the key "street"
    if (
        claim[max(0, match.start() - 2) : match.start()].lower() == "a "
        and claim[match.end() : match.end() + 3] == " of"
    ):
        return False
    near = claim[max(0, match.start() - 120) : match.end() + 60]
    return bool(fact.parent.search(near)) or len(word) > 5


def _stance(claim: str, match: re.Match[str]) -> Value:
    """Say whether the claim affirms, denies or leaves open what was matched, by the negation in force there."""
    start = max((end.end() for end in _SCOPE_END.finditer(claim, 0, match.start())), default=0)
    following = _SCOPE_END.search(claim, match.end())
    scope_end = following.start() if following else len(claim)
    if _UNSAID.search(claim, start, scope_end):
        return "unknown"
    after = claim[match.end() : min(scope_end, match.end() + 40)]
    if _NEGATED.search(claim, start, match.start()) or _DENIED_AFTER.match(after):
        return "no"
    return "yes"


def _day_groups(claim: str, times: Sequence[Quantity]) -> Iterator[tuple[list[str], list[Quantity]]]:
    """Pair the days a claim names with the two times told for them, whichever of the two comes first."""
    days = sorted(_day_mentions(claim), key=lambda mention: mention[0])
    starts = [position for position, _ in days]
    days_first = not times or (bool(starts) and starts[0] < times[0].start)
    for number, (position, names) in enumerate(days):
        if days_first:
            low, high = position, starts[number + 1] if number + 1 < len(days) else len(claim)
        else:
            low, high = starts[number - 1] if number else 0, position
        yield names, [time for time in times if low <= time.start < high][:2]


def _day_mentions(claim: str) -> Iterator[tuple[int, list[str]]]:
    covered: list[tuple[int, int]] = []
    for match in _DAY_RANGE.finditer(claim):
        first, last = _WEEK.index(match[1].lower()), _WEEK.index(match[2].lower())
        covered.append(match.span())
        yield match.start(), [_WEEK[(first + offset) % 7] for offset in range((last - first) % 7 + 1)]
    for match in _DAY.finditer(claim):
        if not any(start <= match.start() < end for start, end in covered):
            yield match.start(), [match[1].lower()]
    for pattern, names in ((_EVERY_DAY, _WEEK), (_WEEKDAYS, _WEEK[:5]), (_WEEKEND, _WEEK[5:])):
        for match in pattern.finditer(claim):
            yield match.start(), list(names)


def _among(time: Quantity, known: set[float]) -> bool:
    """Let "9:00" stand for 21:00 where the claim does not say which half of the day it means."""
    return time.value in known or ("m" not in time.text.lower() and (time.value + 720) % 1440 in known)
