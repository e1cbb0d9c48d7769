"""What a trade computes under a name of its own ("quick ratio"): formulas and operands, from files that users edit.

How the operands are found in tables, and the formula worked out, is in `named`.
"""

import ast
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from core.domain.settings import PACKAGE_ROOT

SHIPPED = PACKAGE_ROOT / "data" / "formulas"


@dataclass(frozen=True, slots=True)
class Formula:
    """``expressions`` over names of operands, the first that the documents allow."""

    names: tuple[str, ...]
    expressions: tuple[str, ...]
    unit: str = ""
    """ "%", "days", "money" for the currency of its operands, or nothing."""


@dataclass(frozen=True, slots=True)
class Needed:
    """An operand in one period: this one, or the one before."""

    operand: str
    before: bool = False


@dataclass(frozen=True)
class Formulas:
    """Formulas by name, and what documents print for each operand; ``problems`` tells of files that cannot be used."""

    formulas: Mapping[str, Formula] = field(default_factory=dict)
    operands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def named_in(self, question: str) -> tuple[str, Formula] | None:
        """The formula with the longest name that a question uses."""
        text = question.casefold()
        return next(((name, self.formulas[name]) for pattern, name in self._patterns if pattern.search(text)), None)

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        names = [(own, key) for key, formula in self.formulas.items() for own in formula.names]
        ordered = sorted(names, key=lambda pair: -len(pair[0]))
        return [(re.compile(rf"(?<!\w){re.escape(own.casefold())}s?(?!\w)"), key) for own, key in ordered]


@dataclass(frozen=True, slots=True)
class _File:
    operands: dict[str, tuple[str, ...]] = field(default_factory=dict)
    formulas: dict[str, Formula] = field(default_factory=dict)


@cache
def shipped_formulas() -> Formulas:
    return read_formulas(SHIPPED)


def users_formulas(data_dir: Path) -> Formulas:
    """The shipped formulas with the user's own, read anew so that an edit holds from the next question on."""
    return read_formulas(SHIPPED, data_dir / "formulas")


def read_formulas(*folders: Path) -> Formulas:
    """Read every file of the folders; later ones win by name, and what cannot be used is told of and left out."""
    operands, formulas, problems = dict[str, tuple[str, ...]](), dict[str, Formula](), list[str]()
    for path in (path for folder in dict.fromkeys(folders) for path in sorted(folder.glob("*.toml"))):
        try:
            with path.open("rb") as file:
                found = TypeAdapter(_File).validate_python(tomllib.load(file))
        except ValidationError as error:
            first = error.errors()[0]
            problems.append(f"{path} is not used: {'.'.join(map(str, first['loc']))}: {first['msg']}.")
        except (OSError, ValueError) as error:
            problems.append(f"{path} is not used: {error}.")
        else:
            operands |= found.operands
            for name, formula in found.formulas.items():
                if wrong := _wrong(formula, operands):
                    problems.append(f"{path}: “{name}” is not used: {wrong}.")
                else:
                    formulas[name] = formula
    return Formulas(formulas, operands, tuple(problems))


def _wrong(formula: Formula, operands: Mapping[str, tuple[str, ...]]) -> str:
    for expression in formula.expressions:
        try:
            needed, _ = lettered(expression)
        except (SyntaxError, ValueError):
            return f"“{expression}” is no expression"
        if unknown := [one.operand for one in needed if one.operand not in operands]:
            return f"nothing is said of “{unknown[0]}”"
    return ""


def lettered(expression: str) -> tuple[tuple[Needed, ...], str]:
    """The operands of an expression, and the expression over their letters: "average(x)" is "(a + b) / 2".

    Raises SyntaxError or ValueError for what is no expression.
    """
    needed: dict[Needed, str] = {}

    def letter(operand: str, *, before: bool) -> ast.expr:
        one = Needed(operand, before)
        return ast.Name(needed.setdefault(one, chr(ord("a") + len(needed))))

    class Letters(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            match node:
                case ast.Call(ast.Name("average"), [ast.Name(operand)], []):
                    both = ast.BinOp(letter(operand, before=False), ast.Add(), letter(operand, before=True))
                    return ast.BinOp(both, ast.Div(), ast.Constant(2))
                case ast.Call(ast.Name("before"), [ast.Name(operand)], []):
                    return letter(operand, before=True)
                case ast.Call(ast.Name("abs"), [argument], []):
                    return ast.Call(ast.Name("abs"), [self.visit(argument)], [])
            raise ValueError("only average, before and abs are known")

        def visit_Name(self, node: ast.Name) -> ast.AST:
            return letter(node.id, before=False)

    tree = Letters().visit(ast.parse(expression, mode="eval"))
    if not 1 <= len(needed) <= 26:
        raise ValueError("too few or too many operands")
    return tuple(needed), ast.unparse(tree)
