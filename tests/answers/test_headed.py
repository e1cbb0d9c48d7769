"""A cell is stated where the row read alone under its heads and the row among the others agree on it."""

from dataclasses import replace

from pincite.core.answers.headed import agreed_cell
from pincite.core.answers.quoting import quotes
from pincite.core.answers.selection import select
from pincite.core.domain.documents import Passage
from pincite.core.domain.presentation import MIN_ANSWER_CONFIDENCE
from pincite.core.domain.search import Evidence, HeadedCell, TableRow

HEADS = ("Duty", "Who", "By when")
ROWS = (
    ("Check of the pumps", "Night porter", "each Friday"),
    ("Reports with photographs", "Warden", "within 12 hours"),
    ("Reports without photographs", "Clerk", "within three days"),
)


def _evidence(*rows: tuple[str, ...], heads: tuple[str, ...] = HEADS) -> Evidence:
    lines, cells, start = ["\t".join(heads)], list[TableRow](), len("\t".join(heads)) + 1
    for row in rows:
        own, at = list[HeadedCell](), start
        for head, text in zip(heads, row, strict=True):
            own += [HeadedCell(at, at + len(text), head)] if text else []
            at += len(text) + 1
        cells.append(TableRow((), tuple(own), heads))
        lines.append("\t".join(row))
        start += len(lines[-1]) + 1
    passage = Passage("p", "d", 0, "1", "\n".join(lines), 0, len("\n".join(lines)))
    return Evidence(1, passage, "duties.pdf", {"reranked": 1.0}, table_rows=tuple(cells))


def _cell(question: str, item: Evidence) -> str:
    selection = select(question, [item])
    cell = agreed_cell(question, selection)
    return item.passage.text[cell.start : cell.end] if cell else ""


def test_both_readings_find_the_cell_under_the_head_that_is_asked_for() -> None:
    assert _cell("Who does the check of the pumps?", _evidence(*ROWS)) == "Night porter"
    assert _cell("By when is the check of the pumps done?", _evidence(*ROWS)) == "each Friday"


def test_it_is_the_headline_over_its_row() -> None:
    question, item = "Who does the check of the pumps?", _evidence(*ROWS)
    head, *rows = quotes(question, select(question, [item]))
    assert head.text == "Night porter" and rows[-1].text == "\t".join(ROWS[0])


def test_small_words_tell_rows_apart() -> None:
    assert _cell("Who writes reports without photographs?", _evidence(*ROWS)) in ("Clerk", "")
    assert _cell("Who writes the reports?", _evidence(*ROWS)) == "", "two rows share the same words"


def test_an_empty_cell_lends_its_question_to_no_other() -> None:
    rows = (("Upper weir", "31", ""), ("Lower weir", "44", "57"))
    item = _evidence(*rows, heads=("Station", "May", "June"))
    assert _cell("How much rain fell at the upper weir in June?", item) == ""


def test_rows_are_not_compared() -> None:
    assert _cell("Which duties fall to the warden?", _evidence(*ROWS)) == ""


def test_a_blank_behind_its_label_is_no_answer_and_lends_its_question_to_no_other() -> None:
    lines = ("Permit for the weir", "Place: Upper weir", "Night guard: ____", "Issued by: Ida Lund")
    text = "\n".join([*lines, "The permit holds for one day and for no other work than this."])
    item = Evidence(1, Passage("p", "d", 0, "1", text, 0, len(text)), "permit.docx", {"reranked": 1.0})
    assert select("Who is the night guard?", [item]).right < MIN_ANSWER_CONFIDENCE
    valid = replace(item, passage=replace(item.passage, text="Permit for the weir\nValid until: ____\nFire watch: yes"))
    assert select("Until when is the permit valid?", [valid]).right < MIN_ANSWER_CONFIDENCE
    assert select("Who issued the permit?", [item]).right >= MIN_ANSWER_CONFIDENCE
