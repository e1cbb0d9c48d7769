"""What is computed of operands: its name, its formula and in what it is measured."""

from collections.abc import Sequence

from pincite.core.domain.figures import Computation, Figure
from pincite.core.domain.keys import in_words
from pincite.core.questions.operations import Form, Wanted, dates_of
from pincite.core.text.stating import short


def computation_of(asked: Wanted, figures: Sequence[Figure]) -> Computation:
    """Name, expression and measure of what is computed."""
    form, two = asked.form, len(asked.operands) == 2
    unit = figures[0].unit or figures[-1].unit
    scale = max(figure.scale for figure in figures)
    letters = [chr(ord("a") + at) for at in range(len(figures))]
    name = _name(form, figures, two=two)
    match form:
        case Form.COMPARISON if asked.than is not None:
            return Computation(name, f"a {asked.sign} {(asked.than / figures[0].scale).normalize():f}")
        case Form.COMPARISON:
            return Computation(name, f"a {asked.sign} b" if two else f"b {asked.sign} a")
        case Form.GROWTH:
            return Computation(name, "(b - a) / a * 100", "%")
        case Form.COMPOUND_GROWTH:
            years = abs(_year(figures[-1]) - _year(figures[0])) or 1
            return Computation(name, f"((b / a) ** (1 / {years}) - 1) * 100", "%")
        case Form.SHARE:
            return Computation(name, "a / b * 100", "%")
        case Form.RATIO:
            return Computation(name, "a / b")
        case Form.AVERAGE:
            return Computation(name, f"({' + '.join(letters)}) / {len(letters)}", unit, scale)
        case Form.SUM:
            return Computation(name, " + ".join(letters), unit, scale)
    return Computation(name, "a - b" if two else "b - a", unit, scale)


def _name(form: Form, figures: Sequence[Figure], *, two: bool) -> str:
    first, last = figures[0], figures[-1]
    if two:
        when = f", {first.period}" if first.period and first.period == last.period else ""
        one, other = _thing(first), _thing(last)
        match form:
            case Form.SHARE:
                return f"{one} as a share of {other}{when}"
            case Form.RATIO:
                return f"Ratio of {one} to {other}{when}"
        return f"{one} less {other}{when}"
    title = in_words(form).capitalize()
    of = "in" if form in (Form.CHANGE, Form.GROWTH) else "of"
    joint = " to " if form in (Form.CHANGE, Form.GROWTH, Form.COMPOUND_GROWTH) else " and "
    return f"{title} {of} {_thing(first)}, {joint.join(_when(figure) for figure in figures)}"


def _thing(figure: Figure) -> str:
    return short(figure.label) or short(figure.column) or "the figure"


def _when(figure: Figure) -> str:
    return figure.period or figure.column


def _year(figure: Figure) -> int:
    return max((date[0] for date in dates_of(f"{figure.period} {figure.column} {figure.label}")), default=0)
