"""Determine which figures a text states, and whether one agrees with a reference: within 1 %, in any scale.

`pincite.core.text.numbers` defines which text is a figure, and its unit and scale.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pincite.core.text.numbers import Quantity, quantities, stated_measure

TOLERANCE = 0.01
MAX_RIVALS = 3
"""Maximum number of other figures in a text that still shows clearly which figure is the answer."""
ROW = 3
"""Minimum number of figures without a word between them that count as a row of a table; none is singled out there."""
_SCALES = (1e3, 1e6, 1e9)
_AMOUNT = re.compile(
    r"(?<=[$€£¥])( ?\d)(\d{3})(?![\d,])|(?<![\d.,])(\d)(\d{3})(?= ?(?:%|(?:thousand|million|mn|billion|bn)\b))"
)
_BRACKETED_SHARE = re.compile(r"\((\d[\d.]{0,12}) ?%\)")
_ASKED_SCALE = re.compile(
    r"\bin (?:(?:US|USD|U\.S\.|EUR|GBP|\$) ?)?(?:dollars? )?(?:thousand|million|billion)s?\b", re.IGNORECASE
)
FALLING = re.compile(
    r"\b(?:negative|minus|loss(?:es)?|lost|fell|fall(?:s|ing|en)?|down|lower|less|declin\w{1,4}|decreas\w{1,4}|"
    r"drop(?:s|ped)?|reduc\w{1,6}|shr[aiu]nk\w{0,3})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question settles for reading figures: the scale it wants, the figures that it names, and a fall."""

    scale: float
    values: frozenset[float]
    falling: bool = False
    """It asks by how much something fell: the answer may give that with a minus or without."""


def asked_of(question: str) -> Asked:
    wanted = _ASKED_SCALE.search(question)
    scale = float(stated_measure(wanted.group())[1]) if wanted else 0.0
    values = frozenset(quantity.value for quantity in figures(question))
    return Asked(scale, values, bool(FALLING.search(question)))


def figures(text: str) -> list[Quantity]:
    """Return the figures of a text in order; dates and times of day are none, four digits alone may be one."""
    text = _AMOUNT.sub(lambda match: ",".join(part for part in match.groups() if part), text)
    text = _BRACKETED_SHARE.sub(r"-\1%", text)
    return [found for found in quantities(text) if found.kind not in ("date", "time") or is_year(found)]


def is_year(quantity: Quantity) -> bool:
    """Return whether it is four digits that may be a year, or an amount."""
    return quantity.kind == "date" and quantity.text.strip().isdigit() and len(quantity.text.strip()) == 4


def states(wanted: Sequence[Quantity], text: str, asked: Asked, *, singled_out: bool = True) -> bool:
    """Return whether a text states every wanted figure.

    With ``singled_out``, no wanted figure may be in a row of figures only, and the text may contain at most MAX_RIVALS
    other figures; years, figures of the question and figures before an equals sign do not count.
    """
    falling = asked.falling or bool(FALLING.search(text))
    given = figures(text)
    in_row = _in_rows(text)
    found = {
        index: [figure for figure in given if agree(one, figure, asked, falling=falling)]
        for index, one in enumerate(wanted)
    }
    if not all(found.values()):
        return _in_a_word(wanted, text) and not given
    if not singled_out:
        return True
    if any(all(figure.text.strip() in in_row for figure in matches) for matches in found.values()):
        return False
    taken = {figure.value for matches in found.values() for figure in matches}
    return len(_rivals(text, asked) - taken) <= MAX_RIVALS


def agree(wanted: Quantity, given: Quantity, asked: Asked, *, falling: bool = False) -> bool:
    """Return whether two figures agree: by value within TOLERANCE, or to the last decimal that the wanted one writes.

    A share may be written as such or in percent, an amount in thousands, millions or billions, and if only one of
    the two states the scale, it may apply to the other. A fall may be expressed in words instead of a sign, an outflow
    in brackets.
    """
    if is_year(wanted) and is_year(given):
        return wanted.value == given.value
    if not _of_one_kind(wanted, given):
        return False
    decimals = wanted.step / 2 if "." in wanted.text else 0.0
    room = max(TOLERANCE * abs(wanted.value), decimals) * 1.0001
    return any(
        abs(value - wanted.value) <= room
        for factor in _factors(wanted, given, asked)
        for value in _signed(wanted, given, factor, falling=falling)
    )


def _of_one_kind(wanted: Quantity, given: Quantity) -> bool:
    kinds = {_kind(wanted), _kind(given)}
    if kinds == {"percent", "money"}:
        return False
    if wanted.unit and given.unit:
        return wanted.unit == given.unit
    plain, other = (wanted, given) if _kind(wanted) == "number" else (given, wanted)
    return len(kinds) == 1 or not plain.unit or _kind(other) == "number"


def _kind(quantity: Quantity) -> str:
    return "number" if quantity.kind == "date" else quantity.kind


def _factors(wanted: Quantity, given: Quantity, asked: Asked) -> Iterator[float]:
    """What the given value may have to be multiplied with."""
    yield 1.0
    if "percent" in (wanted.kind, given.kind):
        if wanted.kind != given.kind:
            yield 100.0 if wanted.kind == "percent" else 0.01
        return
    if is_year(given) or (_scaled(wanted) and _scaled(given)):
        return
    if _scaled(given) and asked.scale:
        yield 1 / asked.scale
    elif _scaled(wanted):
        yield from _SCALES
    elif _scaled(given):
        yield from (1 / scale for scale in _SCALES)
    elif asked.scale:
        yield from (*_SCALES, *(1 / scale for scale in _SCALES))


def _scaled(quantity: Quantity) -> bool:
    """Return whether a quantity has a scale word such as "million"."""
    return quantity.step > 1 or (quantity.step == 0 and quantity.kind == "number" and quantity.value >= 1000)


def _signed(wanted: Quantity, given: Quantity, factor: float, *, falling: bool) -> Iterator[float]:
    value = given.value * factor
    yield value
    outflow = value < 0 and given.kind != "percent" and "(" in given.text
    if (wanted.value < 0 < value and falling) or (wanted.value > 0 and outflow):
        yield -value
    elif wanted.value > 0 > value and given.kind == "percent" and falling:
        yield -value  # "fell by -5 %"


def _in_rows(text: str) -> frozenset[str]:
    """Return the figures, as written, that are in rows without a word between them."""
    return frozenset(figure.text.strip() for run in _runs(text) if len(run) >= ROW for figure in run)


def _runs(text: str) -> Iterator[list[Quantity]]:
    """Figures that follow each other with nothing but blanks, signs and brackets between them."""
    run: list[Quantity] = []
    end = 0
    for figure in quantities(text):
        between = text[end : figure.start]
        if figure.kind in ("date", "time") or (run and re.search(r"[^\W_]|[=/+×*÷:;]|[–-] ?$", between)):
            yield run
            run = []
        if figure.kind not in ("date", "time"):
            run.append(figure)
        end = figure.end
    yield run


def _rivals(text: str, asked: Asked) -> set[float]:
    """Values that a reader might take for the answer."""
    shown = text.rsplit("=", 1)[-1] if "=" in text else text
    return {figure.value for figure in figures(shown) if not is_year(figure) and figure.value not in asked.values}


def _in_a_word(wanted: Sequence[Quantity], text: str) -> bool:
    """Return whether a short text states "one" or "two", words that `figures` does not read in prose."""
    number_words = re.findall(r"\b(?:one|two)\b", text.casefold())
    return (
        len(wanted) == 1
        and len(text.split()) <= 12
        and number_words == [{1: "one", 2: "two"}.get(int(wanted[0].value))]
    )
