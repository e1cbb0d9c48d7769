"""What a trade computes under a name of its own ("quick ratio"): formulas and operands, from files that users edit.

How the operands are found in tables, and the formula worked out, is in `named`.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from string import ascii_lowercase

from pincite.core.domain.edited_files import read_edited
from pincite.core.domain.settings import PACKAGE_ROOT
from pincite.core.text.stating import expression_of

_MARGIN = re.compile(r"(?:\s\([^()]{1,60}\))?\smargin\b")
SHIPPED = PACKAGE_ROOT / "data" / "formulas"


@dataclass(frozen=True, slots=True)
class Formula:
    """``expressions`` over names of operands, the first that the documents allow."""

    names: tuple[str, ...]
    expressions: tuple[str, ...]
    unit: str = ""
    """ "%", "days", "money" for the currency of its operands, or nothing."""


@dataclass(frozen=True, slots=True)
class Operand:
    """What documents print for it, the likeliest first; rows under groups named in ``not_under`` are other things."""

    printed: tuple[str, ...]
    not_under: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Needed:
    """An operand of ``years_before`` years before the one that is asked for."""

    operand: str
    years_before: int = 0


@dataclass(frozen=True)
class Formulas:
    """Formulas by name, and what documents print for each operand; ``problems`` lists files that cannot be used."""

    formulas: Mapping[str, Formula] = field(default_factory=dict)
    operands: Mapping[str, Operand] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def named_in(self, question: str) -> tuple[str, Formula] | None:
        """Return the formula with the longest name that a question uses."""
        text = _without_signs(question)
        found = next(((name, self.formulas[name]) for pattern, name in self._patterns if pattern.search(text)), None)
        return found or self._margin_in(text)

    def _margin_in(self, text: str) -> tuple[str, Formula] | None:
        """Any operand's margin: its share of revenue."""
        for operand, (_, end) in self.operands_in(text):
            if _MARGIN.match(text, end) and "revenue" in self.operands:
                name = f"{operand.replace('_', ' ')} margin"
                return name, Formula((name,), (f"{operand} / revenue * 100",), "%")
        return None

    def operands_in(self, question: str) -> tuple[tuple[str, tuple[int, int]], ...]:
        """Return the operands that a question names, and where; of names in one another the longest."""
        text, found = question.casefold(), dict[str, tuple[int, int]]()
        if len(text) != len(question):
            return ()
        for pattern, operand in self._printed:
            for match in pattern.finditer(text):
                found.setdefault(operand, match.span())
            text = pattern.sub(lambda match: " " * len(match.group()), text)
        return tuple(found.items())

    @cached_property
    def _printed(self) -> list[tuple[re.Pattern[str], str]]:
        names = [(name, operand) for operand, one in self.operands.items() for name in one.printed]
        return [(_pattern(name), operand) for name, operand in sorted(names, key=lambda pair: -len(pair[0]))]

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        names = [(own, key) for key, formula in self.formulas.items() for own in formula.names]
        ordered = sorted(names, key=lambda pair: -len(pair[0]))
        return [(_pattern(_without_signs(own)), key) for own, key in ordered]


@dataclass(frozen=True, slots=True)
class _FormulasFile:
    operands: dict[str, Operand] = field(default_factory=dict)
    formulas: dict[str, Formula] = field(default_factory=dict)


def _without_signs(text: str) -> str:
    """In lower case, without the % of "EBITDA % margin"."""
    return " ".join(text.casefold().replace("%", " ").split())


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name.casefold().removesuffix('s'))}s?(?!\w)")


@cache
def shipped_formulas() -> Formulas:
    return read_formulas(SHIPPED)


def users_formulas(data_dir: Path) -> Formulas:
    """Return the shipped formulas with the user's own, read again so that an edit holds from the next question on."""
    return read_formulas(SHIPPED, data_dir / "formulas")


def read_formulas(*folders: Path) -> Formulas:
    """Return the formulas of every file of the folders; later ones win by name; ``problems`` lists what is left out."""
    operands, formulas, problems = dict[str, Operand](), dict[str, Formula](), list[str]()
    for path, found in read_edited(_FormulasFile, folders, problems):
        operands |= found.operands
        for name, formula in found.formulas.items():
            if wrong := _wrong(formula, operands):
                problems.append(f"{path}: “{name}” is not used: {wrong}.")
            else:
                formulas[name] = formula
    return Formulas(formulas, operands, tuple(problems))


def _wrong(formula: Formula, operands: Mapping[str, Operand]) -> str:
    for expression in formula.expressions:
        try:
            needed, _ = lettered(expression)
        except (SyntaxError, ValueError):
            return f"“{expression}” is not a valid expression"
        if unknown := [one.operand for one in needed if one.operand not in operands]:
            return f"“{unknown[0]}” is not defined"
    return ""


def lettered(expression: str, years: Sequence[int] = (0,), joined: str = "x") -> tuple[tuple[Needed, ...], str]:
    """Return the operands of an expression, and the expression over their letters: "average(x)" is "(a + b) / 2".

    ``years``: how many years before it is worked out, each for a letter x, y, z … of ``joined`` ("y - x").
    Raises SyntaxError or ValueError for what is no expression.
    """
    letters = _Letters()
    each = dict(zip("xyzuvwrst", (letters.of(expression, before) for before in years), strict=False))

    class Joined(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return each[node.id]

    tree = Joined().visit(expression_of(joined))
    if not 1 <= len(letters.needed) <= len(ascii_lowercase):
        raise ValueError("too few or too many operands")
    return tuple(letters.needed), ast.unparse(tree)


class _Letters(ast.NodeTransformer):
    """Puts a letter for each operand of each year."""

    def __init__(self) -> None:
        self.needed: dict[Needed, str] = {}
        self._before = 0

    def of(self, expression: str, years_before: int) -> ast.expr:
        self._before = years_before
        tree: ast.Expression = self.visit(expression_of(expression))
        return tree.body

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._letter(node.id, self._before)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(ast.Name("average"), [ast.Name(operand)], []):
                both = self._letter(operand, self._before), self._letter(operand, self._before + 1)
                return ast.BinOp(ast.BinOp(both[0], ast.Add(), both[1]), ast.Div(), ast.Constant(2))
            case ast.Call(ast.Name("before"), [ast.Name(operand)], []):
                return self._letter(operand, self._before + 1)
            case ast.Call(ast.Name("abs"), [argument], []):
                return ast.Call(ast.Name("abs"), [self.visit(argument)], [])
        raise ValueError("only average, before and abs are known")

    def _letter(self, operand: str, years_before: int) -> ast.expr:
        letters = self.needed
        if len(letters) == len(ascii_lowercase):
            raise ValueError("too many operands")
        return ast.Name(letters.setdefault(Needed(operand, years_before), ascii_lowercase[len(letters)]))
