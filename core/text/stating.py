"""Put figures into words, and what follows from them: worked out by code, again and again with the same result.

Whoever states a figure and whoever checks the statement make it here, from the figures alone.
"""

import ast
import operator
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from decimal import Decimal, DecimalException, localcontext
from functools import lru_cache
from string import ascii_lowercase

from pincite.core.domain.answers import AnswerPart
from pincite.core.domain.figures import Computation, Figure, Stated
from pincite.core.text.numbers import printed_figure

MAX_OPERANDS = len(ascii_lowercase)
MIN_SERIES = 3
DRAWN_FROM = 0.5
"""Minimum probability of a series found by code for it to be drawn."""
_MAX_EXPRESSION_LENGTH = 400
SCALES = {1000: "thousand", 10**6: "million", 10**9: "billion", 10**12: "trillion"}
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "CNY": "¥", "INR": "₹"}
_NO_TEX = re.compile(r"[^\w\s$€£¥₹%.,()−-]")
_MAX_GROUP_LENGTH = 40
_PARSING = threading.Lock()
"""CPython 3.11 counts how deep its parser is for all threads at once, and raises SystemError where two parse."""
_BRACKETED = re.compile(r"\([^()]*\)")
_FOOTNOTE = re.compile(r"(?<=\w) ?(?:\((?:\d|[a-z])\)){1,4}$")
"""Behind a name: "2015(1)", "Net sales (a)(b)"."""
_DECIMALS = 2
"""Of what is divided."""
_WEAK, _MIDDLE, _STRONG = 1, 2, 3
"""How tightly sums, products and all else hold together."""
_OPERATIONS: Mapping[type[ast.operator], tuple[Callable[[Decimal, Decimal], Decimal], str, int]] = {
    ast.Add: (operator.add, "+", _WEAK),
    ast.Sub: (operator.sub, "-", _WEAK),
    ast.Mult: (operator.mul, "*", _MIDDLE),
    ast.Div: (operator.truediv, "/", _MIDDLE),
    ast.Pow: (operator.pow, "**", _STRONG),
}
_RELATIONS: Mapping[type[ast.cmpop], Callable[[Decimal, Decimal], bool]] = {ast.Gt: operator.gt, ast.Lt: operator.lt}


class NotComputableError(ValueError):
    """The expression is none, lacks a figure, or has no result."""


def expression_of(expression: str) -> ast.Expression:
    """Return a tree of one's own. Raises SyntaxError or ValueError for what is no expression."""
    return deepcopy(_read(expression))


@lru_cache(maxsize=1024)
def _read(expression: str) -> ast.Expression:
    with _PARSING:
        return ast.parse(expression, mode="eval")


def state(figure: Figure) -> str:
    """Return what a figure is of, and its value with unit and scale: "Total net sales, 2015: $30,274 million"."""
    label = ", ".join(part for part in (short(figure.label), short(figure.column)) if part)
    return f"{label}: {with_measure(figure)}" if label else with_measure(figure)


def short(path: str) -> str:
    """Return the last name of a path of groups, with the one before it if that is no sentence; without footnote marks.

    Text that is alone in brackets, as "(in millions)", is no name.
    """
    names = (_FOOTNOTE.sub("", name) for name in path.split(": ") if not _BRACKETED.fullmatch(name.strip()))
    *_, group, name = ("", "", *names)
    return f"{group}: {name}" if 0 < len(group) <= _MAX_GROUP_LENGTH else name


def with_measure(figure: Figure) -> str:
    printed = printed_figure(figure.text)
    own_unit, own_scale = (printed.unit, printed.scale) if printed else ("", 0)
    text = figure.text
    if figure.scale in SCALES and not own_scale:
        text = f"{text} {SCALES[figure.scale]}"
    return text if own_unit else _with_unit(text, figure.unit)


def _with_unit(text: str, unit: str) -> str:
    if not unit:
        return text
    if unit == "%":
        return f"{text}%" if text[-1:].isdigit() else f"{text} %"
    if unit in _SIGNS:
        return f"-{_SIGNS[unit]}{text[1:]}" if text.startswith("-") else f"{_SIGNS[unit]}{text}"
    return f"{text} {unit}" if unit.islower() else f"{unit} {text}"


def reads_so(figure: Figure) -> bool:
    """Return whether its text is read as its value, with a decimal point or comma."""
    readings = (printed_figure(figure.text, decimal_comma=comma) for comma in (False, True))
    return any(reading is not None and reading.value == figure.value for reading in readings)


def statement(figures: Sequence[Figure], computation: Computation | None = None) -> str:
    """Return the statement of the figures: each alone, or what they give together. Raises NotComputableError."""
    if computation is None:
        if series := series_of(figures):
            name, apart = series
            return f"{name}: " + "; ".join(f"{of} {with_measure(one)}" for of, one in zip(apart, figures, strict=True))
        return "; ".join(map(state, figures))
    if relation(computation):
        answer = "Yes" if compute(figures, computation) else "No"
        return f"{answer}: {'; '.join(map(state, figures))}"
    return f"{computation.name}: {result(figures, computation)}"


def series_of(figures: Sequence[Figure]) -> tuple[str, tuple[str, ...]] | None:
    """What several figures of one row, or of one column, are called together, and each of them; None for others."""
    rows, periods = tuple(one.label for one in figures), tuple(one.period or one.column for one in figures)
    columns = tuple(one.column for one in figures)
    for together, apart in ((rows, periods), (columns, tuple(map(short, rows)))):
        if len(set(together)) == 1 and len(set(apart)) == len(figures) >= MIN_SERIES:
            return short(together[0]), apart
    return None


def is_drawn(one: AnswerPart | Stated) -> bool:
    """Return whether it states a row over its periods, or a column, that is likely enough to be what is wanted."""
    return one.computation is None and (one.probability or 0.0) >= DRAWN_FROM and series_of(one.figures) is not None


def relation(computation: Computation) -> str:
    """Return the sign with which it compares, ">" or "<"; "" where it gives a figure. Raises NotComputableError."""
    tree = _parsed(computation.expression)
    return (">" if isinstance(tree.ops[0], ast.Gt) else "<") if isinstance(tree, ast.Compare) else ""


def result(figures: Sequence[Figure], computation: Computation) -> str:
    """What is computed, rounded, with unit and scale. Raises NotComputableError."""
    value = compute(figures, computation)
    text = f"{_rounded(value, figures, computation):,f}"
    if computation.scale in SCALES:
        text = f"{text} {SCALES[computation.scale]}"
    return _with_unit(text, computation.unit)


def compute(figures: Sequence[Figure], computation: Computation) -> Decimal:
    """Work the expression out, by the scale of the result; a comparison gives 1 or 0. Raises NotComputableError."""
    tree = _parsed(computation.expression)
    values = dict(zip(ascii_lowercase, _operands(figures, computation), strict=False))
    try:
        with localcontext(prec=28):
            value = _evaluated(tree, values)
    except (DecimalException, ZeroDivisionError, OverflowError) as error:
        raise NotComputableError(f"{computation.expression} has no result") from error
    if not value.is_finite():
        raise NotComputableError(f"{computation.expression} has no result")
    return value


def formula(figures: Sequence[Figure], computation: Computation) -> str:
    """The formula with its numbers, as plain text: "(30,274 − 24,546) / 24,546 × 100"; "" where it has no result."""
    numbers = _numbers(figures, computation)
    try:
        compute(figures, computation)
    except NotComputableError:
        return ""
    return _plain(_parsed(computation.expression), numbers)[0].replace("-", "−").replace("**", "^").replace("*", "×")


def latex(figures: Sequence[Figure], computation: Computation) -> str:
    """Return the formula with its numbers and its result, as LaTeX; "" where it has none, or only compares."""
    numbers = {letter: text.replace(",", "{,}") for letter, text in _numbers(figures, computation).items()}
    try:
        if relation(computation):
            return ""
        value = result(figures, computation)
    except NotComputableError:
        return ""
    value = _NO_TEX.sub("", value).replace("%", r"\%").replace("$", r"\$").replace(",", "{,}")
    return rf"{_tex(_parsed(computation.expression), numbers)[0]} = \text{{{value}}}"


def _operands(figures: Sequence[Figure], computation: Computation) -> list[Decimal]:
    """Return the figures as the result is counted: of one scale as they are printed, of several as amounts."""
    scale = Decimal(computation.scale)
    if len({figure.scale for figure in figures}) == 1 and scale in (1, figures[0].scale):
        return [figure.value for figure in figures]
    return [figure.amount / scale for figure in figures]


def _numbers(figures: Sequence[Figure], computation: Computation) -> dict[str, str]:
    return {
        letter: f"{value.normalize():,f}"
        for letter, value in zip(ascii_lowercase, _operands(figures, computation), strict=False)
    }


def _rounded(value: Decimal, figures: Sequence[Figure], computation: Computation) -> Decimal:
    """Round a sum to the decimals of its figures; what is divided gets two, fewer where they are zeros."""
    divided = any(isinstance(node, ast.Div | ast.Pow) for node in ast.walk(_parsed(computation.expression)))
    printed = max((-int(figure.value.as_tuple().exponent) for figure in figures), default=0)
    decimals = max(_DECIMALS, printed) if divided else max(0, printed)
    whole = round(value, decimals)
    return whole.to_integral_value() if whole == whole.to_integral_value() and divided else whole


def _parsed(expression: str) -> ast.expr:
    if len(expression) > _MAX_EXPRESSION_LENGTH:
        raise NotComputableError("the expression is too long")
    try:
        return expression_of(expression).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotComputableError(f"{expression} is not a valid expression") from error


def _evaluated(node: ast.expr, values: Mapping[str, Decimal]) -> Decimal:
    match node:
        case ast.BinOp(left, sign, right) if type(sign) in _OPERATIONS:
            return _OPERATIONS[type(sign)][0](_evaluated(left, values), _evaluated(right, values))
        case ast.Compare(left, [sign], [right]) if type(sign) in _RELATIONS:
            return Decimal(_RELATIONS[type(sign)](_evaluated(left, values), _evaluated(right, values)))
        case ast.UnaryOp(ast.USub(), operand):
            return -_evaluated(operand, values)
        case ast.Call(ast.Name("abs"), [operand], []):
            return abs(_evaluated(operand, values))
        case ast.Name(name) if name in values:
            return values[name]
        case ast.Constant(value) if isinstance(value, int | float) and not isinstance(value, bool):
            return Decimal(str(value))
    raise NotComputableError(f"“{ast.unparse(node)}” cannot be computed")


def _plain(node: ast.expr, numbers: Mapping[str, str]) -> tuple[str, int]:
    """Return an expression in words of one line, and how tightly it holds together."""
    match node:
        case ast.Compare(left, [compared], [right]):
            sign = ">" if isinstance(compared, ast.Gt) else "<"
            return f"{_plain(left, numbers)[0]} {sign} {_plain(right, numbers)[0]}", _WEAK
        case ast.BinOp(left, between, right):
            _, sign, hold = _OPERATIONS[type(between)]
            return f"{_grouped(_plain(left, numbers), hold)} {sign} {_grouped(_plain(right, numbers), hold + 1)}", hold
        case ast.UnaryOp(ast.USub(), operand):
            return f"-{_grouped(_plain(operand, numbers), _STRONG)}", _WEAK
        case ast.Call(ast.Name("abs"), [operand], []):
            return f"|{_plain(operand, numbers)[0]}|", _STRONG
    return _number(node, numbers)


def _tex(node: ast.expr, numbers: Mapping[str, str]) -> tuple[str, int]:
    match node:
        case ast.BinOp(left, ast.Div(), right):
            return rf"\frac{{{_tex(left, numbers)[0]}}}{{{_tex(right, numbers)[0]}}}", _STRONG
        case ast.BinOp(left, ast.Pow(), right):
            base = _tex(left, numbers)[0]
            return rf"\left({base}\right)^{{{_tex(right, numbers)[0]}}}", _STRONG
        case ast.BinOp(left, between, right):
            _, sign, hold = _OPERATIONS[type(between)]
            sign = sign.replace("*", r"\times")
            return f"{_grouped(_tex(left, numbers), hold)} {sign} {_grouped(_tex(right, numbers), hold + 1)}", hold
        case ast.UnaryOp(ast.USub(), operand):
            return f"-{_grouped(_tex(operand, numbers), _STRONG)}", _WEAK
        case ast.Call(ast.Name("abs"), [operand], []):
            return rf"\left|{_tex(operand, numbers)[0]}\right|", _STRONG
    return _number(node, numbers)


def _number(node: ast.expr, numbers: Mapping[str, str]) -> tuple[str, int]:
    text = numbers.get(node.id, node.id) if isinstance(node, ast.Name) else ast.unparse(node)
    text = f"{int(text):,}" if text.isdecimal() else text
    return text, _WEAK if text.startswith("-") else _STRONG


def _grouped(text: tuple[str, int], hold: int) -> str:
    return f"({text[0]})" if text[1] < hold else text[0]
