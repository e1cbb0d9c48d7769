"""Which cell of a table's row answers: read twice, among the rows of its passage and alone under its heads.

Nothing is stated where the two readings find different cells, where another row or column is named no less by the
question, or where rows would have to be compared.
"""

from pincite.core.answers.selection import Selection, reader_of
from pincite.core.answers.units import Unit
from pincite.core.domain.search import HeadedCell, TableRow
from pincite.core.text.terms import content_terms, stem, words


def agreed_cell(question: str, selection: Selection) -> HeadedCell | None:
    """Return the cell of the best unit in which both readings find the answer; None where they do not agree."""
    best, reader = selection.scored[0], reader_of(selection.skill)
    row = row_of(best.unit)
    if row is None or reader is None or best.answer is None or not _is_named_best(question, row, best.unit):
        return None
    text, places = as_record(row, best.unit)
    [reading] = reader.read(question, [text])
    found = [(one[1], cell) for cell, (start, end) in places if (one := reading.best(start, end)) is not None]
    _, cell = max(found, key=lambda one: one[0], default=(0.0, row.cells[0]))
    agreed = cell.start <= best.answer.start and best.answer.end <= cell.end
    return cell if agreed and cell != row.cells[0] and not _names_another_column(question, row, cell) else None


def row_of(unit: Unit) -> TableRow | None:
    """Return the row of a table that a unit is."""
    rows = unit.item.table_rows
    return next((row for row in rows if unit.start <= row.cells[0].start and row.cells[-1].end <= unit.end), None)


def as_record(row: TableRow, unit: Unit) -> tuple[str, list[tuple[HeadedCell, tuple[int, int]]]]:
    """Return a row as lines of a head and a cell, below its groups, and where each cell is in that."""
    text, places = "".join(f"{group}\n" for group in row.groups), list[tuple[HeadedCell, tuple[int, int]]]()
    for cell in row.cells:
        text += f"{cell.head}: " if cell.head else ""
        cell_text = unit.item.passage.text[cell.start : cell.end]
        places.append((cell, (len(text), len(text) + len(cell_text))))
        text += f"{cell_text}\n"
    return text, places


def _is_named_best(question: str, row: TableRow, unit: Unit) -> bool:
    """Return whether a question shares more words with a row's label and groups than with any other row's.

    Small words count: "without".
    """
    asked = frozenset(map(stem, words(question)))

    def shared(one: TableRow) -> int:
        label = unit.item.passage.text[one.cells[0].start : one.cells[0].end]
        return len(asked.intersection(map(stem, words(" ".join([*one.groups, label])))))

    return all(shared(row) > shared(other) for other in unit.item.table_rows if other is not row)


def _names_another_column(question: str, row: TableRow, cell: HeadedCell) -> bool:
    """Return whether a question has words of another column's head that neither the cell's head nor its row has."""
    asked = frozenset(content_terms(question))
    own = asked.intersection(content_terms(" ".join([cell.head, *row.groups])))
    return any(asked.intersection(content_terms(head)) - own for head in row.heads[1:] if head != cell.head)
