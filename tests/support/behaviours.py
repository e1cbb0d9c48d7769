"""The page `docs/behaviours.md`, made from the tests that are marked with a behaviour.

``python -m tests.support.behaviours`` writes the page again; a test compares it with the marks.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from pincite.core.domain.settings import PACKAGE_ROOT

PAGE = PACKAGE_ROOT / "docs" / "behaviours.md"
SECTIONS = (
    "Resume",
    "Memory",
    "Amendments, versions and strangers",
    "Filters",
    "Plans",
    "Enough?",
    "Budget",
    "Router",
    "Evaluator",
    "Ranking",
    "Figures and charts",
    "Review",
    "Suggestions and document cards",
    "The Model Context Protocol",
    "The grid",
    "Versions",
    "Other programs",
    "Formats",
    "Several processes",
    "Accounts",
)
HEAD = """\
# Documented behaviours

Programs that answer questions about documents by a graph of steps, and check themselves, document much the same
behaviours. This page lists {total} of them: {whole} work, {partial} work in part. Each row names the test that fails if
the behaviour is lost; the page is made from these tests. What depends on how a question is worded is tested in English.
"""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """``limit`` names what is missing if it works only in part."""

    section: str
    text: str
    limit: str
    test: str


def marked_behaviours() -> list[Behaviour]:
    """Return the behaviours of all tests, by file and line."""
    found = []
    for file in sorted((PACKAGE_ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                name = f"{file.relative_to(PACKAGE_ROOT).as_posix()}::{node.name}"
                found += [Behaviour(*texts, name) for texts in _marks(node)]
    return found


def _marks(function: ast.FunctionDef) -> Iterator[tuple[str, str, str]]:
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.behaviour":
            section, text = (ast.literal_eval(argument) for argument in mark.args)
            limits = {keyword.arg: ast.literal_eval(keyword.value) for keyword in mark.keywords}
            yield section, text, limits.get("but", "")


def render_page() -> str:
    """Return the page in Markdown. Raises ValueError if a mark names an unknown section."""
    found = marked_behaviours()
    if unknown := {each.section for each in found} - set(SECTIONS):
        raise ValueError(f"Unknown sections: {sorted(unknown)}")
    partial = sum(bool(each.limit) for each in found)
    lines = [HEAD.format(total=len(found), whole=len(found) - partial, partial=partial)]
    for section in SECTIONS:
        lines += [f"## {section}\n", "| behaviour | works | test |", "|---|---|---|"]
        lines += [
            f"| {each.text} | {f'in part: {each.limit}' if each.limit else 'yes'} | `{each.test}` |"
            for each in found
            if each.section == section
        ]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
