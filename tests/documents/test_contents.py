"""A table of contents is recognised by its lines alone; a table of figures that looks like one stays one."""

import pytest

from pincite.core.documents.contents import with_contents
from pincite.core.documents.passages import split_pages
from pincite.core.domain.documents import Block, BlockKind, Page, PageStatus

LINES = ["Contents", "Scope\t3", "1.1\tFees and charges\t4", "Care . . . . . . . . . . 6", "Descaling . . . . . . 9",
         "Item 5.\tLaw\t9", "Repair\t12", "Annex A: the tariff of the harbour\t14"]  # fmt: skip


def blocks_of(lines: list[str]) -> tuple[str, list[Block]]:
    text, blocks = "\n".join(lines), list[Block]()
    for line in lines:
        start = blocks[-1].end + 1 if blocks else 0
        blocks.append(Block(start, start + len(line), BlockKind.TABLE_ROW if "\t" in line else BlockKind.PARAGRAPH))
    return text, blocks


def test_lines_that_lead_to_pages_are_contents_and_no_passages() -> None:
    text, blocks = blocks_of([*LINES, "This handbook was printed in May."])
    marked = with_contents(text, blocks, 1, 20)
    assert [block.kind is BlockKind.CONTENTS for block in marked] == [False] + [True] * 7 + [False]
    page = Page(1, "2", text, (), marked, PageStatus.TEXT)
    passages = [passage.text for passage in split_pages([page], document_id="d", title="Handbook")]
    assert "Descaling" not in "".join(passages) and "printed in May" in "".join(passages)


@pytest.mark.parametrize(
    ("lines", "at", "count"),
    [
        (LINES, 1, 5),
        (LINES, 60, 80),
        (LINES[:5], 1, 20),
        (
            [f"Row {letter}\t{figure}" for letter, figure in zip("abcdefgh", (9, 3, 12, 4, 8, 1, 7, 2), strict=True)],
            1,
            20,
        ),
        ([f"Row {letter}\t{figure}\t{figure + 2}" for figure, letter in enumerate("abcdefgh")], 1, 20),
        ([f"Row {letter}\t{figure * 40}" for figure, letter in enumerate("abcdefgh")], 1, 20),
        ([f"Row {letter}\t3" for letter in "abcdefgh"], 1, 20),
    ],
)
def test_a_short_document_a_late_page_and_a_table_of_figures_have_none(lines: list[str], at: int, count: int) -> None:
    text, blocks = blocks_of(lines)
    assert with_contents(text, blocks, at, count) == tuple(blocks)
