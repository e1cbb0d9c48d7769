"""Passages are verbatim stretches of their page, of a usable size, that know the headings above them."""

import random

import pytest

from pincite.core.documents.passages import MAX_CHARACTERS, split_pages
from pincite.core.domain.documents import Block, BlockKind, OutlineEntry, Page, PageStatus, Passage, document_of
from tests.search.shelf import page


def split(*pages: Page, **options: object) -> list[Passage]:
    return list(split_pages(pages, document_id="d", title="Manual", **options))  # type: ignore[arg-type]


def test_every_passage_is_its_span_of_the_page() -> None:
    one = page(0, "# Safety\nKeep it dry.\n" + "\n".join(f"Sentence {n} tells more about it." for n in range(80)))
    found = split(one)
    assert len(found) > 2
    assert all(p.text == one.text[p.start : p.end] and len(p.text) <= MAX_CHARACTERS for p in found)
    assert "".join(one.text.split()) == "".join("".join(p.text.split()) for p in found)


def test_headings_run_on_to_the_next_page_and_are_context_not_text() -> None:
    first, second = page(0, "# Charging\nUse the cable."), page(1, "It takes three hours.")
    found = split(first, second)
    assert found[1].heading_path == ("Charging",)
    assert found[1].context == "Manual\nCharging"
    assert found[1].text == "It takes three hours."


def test_an_outline_leads_the_headings() -> None:
    outline = (OutlineEntry("1 Setup", 0, 1), OutlineEntry("1.1 Cable", 1, 2), OutlineEntry("2 Use", 2, 1))
    found = split(page(0, "Intro."), page(1, "Plug."), page(2, "Go."), outline=outline)
    assert [p.heading_path for p in found] == [("1 Setup",), ("1 Setup", "1.1 Cable"), ("2 Use",)]


def test_an_outline_heads_each_section_from_where_it_begins_on_its_page() -> None:
    long = "It says a great deal about this and that. " * 8
    outline = (OutlineEntry("Methods", 0, 1), OutlineEntry("2.1 Results", 0, 1), OutlineEntry("Unseen", 0, 2))
    found = split(
        page(0, f"{long}\n1 Methods\n{long}\nRESULTS\nThe results of use: {long}"), page(1, "More."), outline=outline
    )
    by_heading = {p.heading_path: p.text for p in found}
    assert list(by_heading) == [(), ("Methods",), ("2.1 Results", "Unseen")]
    assert by_heading["Methods",].startswith("1 Methods") and "The results of use" not in by_heading["Methods",]


def test_a_cut_table_keeps_its_column_heads_as_context() -> None:
    rows = [f"Item {n} has a rather long name 1,{n:03d} 2,{n:03d}" for n in range(60)]
    text, blocks, at = "\n".join(rows), [], 0
    for row in rows:
        blocks.append(Block(at, at + len(row), BlockKind.TABLE_ROW, column_heads="Item | 2021 | 2020"))
        at += len(row) + 1
    found = split(Page(0, "1", text, (), tuple(blocks), PageStatus.TEXT))
    assert len(found) > 2
    assert all("Item | 2021 | 2020" in p.context for p in found)


def test_running_heads_and_feet_are_left_out_unless_they_are_all_there_is() -> None:
    text = "ACME annual report\nRevenue rose.\n12"
    blocks = (Block(0, 18, BlockKind.HEADER), Block(19, 32, BlockKind.PARAGRAPH), Block(33, 35, BlockKind.FOOTER))
    assert [p.text for p in split(Page(0, "12", text, (), blocks, PageStatus.TEXT))] == ["Revenue rose."]
    assert [p.text for p in split(Page(0, "12", text[:18], (), blocks[:1], PageStatus.TEXT))] == ["ACME annual report"]


@pytest.mark.parametrize("seed", range(20))
def test_any_text_is_cut_without_loss(seed: int) -> None:
    draw = random.Random(seed)
    text = "".join(draw.choices("ab字。.! \n", weights=(30, 30, 5, 1, 1, 1, seed % 5, seed % 3), k=5000))
    found = split(Page(0, "1", text, (), (), PageStatus.OCR))
    assert "".join(text.split()) == "".join("".join(p.text.split()) for p in found)
    assert all(len(p.text) <= MAX_CHARACTERS for p in found)
    assert len({p.id for p in found}) == len(found) and all(document_of(p.id) == "d" for p in found)


def test_a_page_of_one_endless_word_is_cut_without_recursion() -> None:
    page = Page(0, "1", "a" * 2_000_000, (), (), PageStatus.TEXT)
    assert len(list(split_pages([page], document_id="d", title=""))) > 2_000
