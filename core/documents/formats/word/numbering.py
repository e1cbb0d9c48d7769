"""The numbers of a Word file's lists and headings, counted as the file defines (ECMA-376, 17.9)."""

import re
from collections import defaultdict
from dataclasses import dataclass

from docx.oxml.ns import qn
from docx.oxml.xmlchemy import BaseOxmlElement

from pincite.core.documents.formats.numerals import BULLET, numeral

_PLACE = re.compile(r"%([1-9])")


@dataclass(frozen=True, slots=True)
class _Level:
    start: int
    form: str
    text: str
    in_figures: bool
    """Numbers of other levels in it are written so, too."""
    restart: int
    """It restarts after a number of this level or a higher one (1 = top); 0: it never does."""


class Numbering:
    """Counts the numbered paragraphs of a document, which must be given in their order."""

    def __init__(self, element: BaseOxmlElement | None) -> None:
        kinds = list(element.iterchildren(qn("w:abstractNum"))) if element is not None else []
        self._levels = {value(kind, "w:abstractNumId"): _levels(kind) for kind in kinds}
        styled = {_child_value(kind, "w:styleLink"): value(kind, "w:abstractNumId") for kind in kinds}
        linked = {value(kind, "w:abstractNumId"): styled.get(_child_value(kind, "w:numStyleLink")) for kind in kinds}
        self._of: dict[str, tuple[str, dict[int, _Level], dict[int, int]]] = {}
        self._counts: dict[str, dict[int, int]] = defaultdict(dict)
        self._begun = set[str]()
        for number in element.iterchildren(qn("w:num")) if element is not None else ():
            abstract = _child_value(number, "w:abstractNumId")
            if not self._levels.get(abstract):
                abstract = linked.get(abstract) or abstract
            changed = list(number.iterchildren(qn("w:lvlOverride")))
            starts = {_whole(value(one, "w:ilvl")): _child_value(one, "w:startOverride") for one in changed}
            own = {at: level for one in changed for at, level in _levels(one).items()}
            levels = {**self._levels.get(abstract, {}), **own}
            self._of[value(number, "w:numId")] = abstract, levels, {at: _whole(n) for at, n in starts.items() if n}

    def label(self, number_id: str, at: int) -> str:
        """The number or bullet of the next paragraph of this list on this level (0 = top); empty where it has none."""
        abstract, levels, starts = self._of.get(number_id, ("", {}, {}))
        if at not in levels:
            return ""
        counts = self._counts[abstract]
        if number_id not in self._begun:
            self._begun.add(number_id)
            counts.update({level: start - 1 for level, start in starts.items()})
        for level in range(at):
            counts.setdefault(level, levels[level].start if level in levels else 1)
        counts[at] = counts.get(at, levels[at].start - 1) + 1
        for deeper in [level for level in counts if level > at]:
            if at < (levels[deeper].restart if deeper in levels else deeper):
                del counts[deeper]
        if levels[at].form == "bullet":
            return BULLET
        return _PLACE.sub(lambda place: self._at(int(place[1]) - 1, at, counts, levels), levels[at].text).strip()

    def _at(self, level: int, of: int, counts: dict[int, int], levels: dict[int, _Level]) -> str:
        form = levels[level].form if level in levels else "decimal"
        return numeral(counts.get(level, 1), "decimal" if levels[of].in_figures and level != of else form)


def _levels(element: BaseOxmlElement) -> dict[int, _Level]:
    found = {}
    for level in element.iterchildren(qn("w:lvl")):
        at = _whole(value(level, "w:ilvl"))
        found[at] = _Level(
            _whole(_child_value(level, "w:start"), 1),
            _child_value(level, "w:numFmt") or "decimal",
            _child_value(level, "w:lvlText"),
            level.find(qn("w:isLgl")) is not None,
            min(_whole(_child_value(level, "w:lvlRestart"), at), at),
        )
    return found


def value(element: BaseOxmlElement, name: str = "w:val") -> str:
    """Return an attribute of an element; empty where it has none."""
    return str(element.get(qn(name)) or "")


def _child_value(element: BaseOxmlElement, name: str) -> str:
    child = element.find(qn(name))
    return value(child) if child is not None else ""


def _whole(text: str, otherwise: int = 0) -> int:
    return int(text) if re.fullmatch(r"-?\d{1,6}", text) else otherwise
