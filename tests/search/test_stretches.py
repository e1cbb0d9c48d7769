"""What a question names by its place is found by the structure of the pages, and nowhere else."""

from pincite.core.domain.documents import Block, BlockKind, Page, PageStatus
from pincite.core.questions.places import title_in, without_places
from pincite.core.search.stretches import is_on, numbered, pages_called, title_of, titled
from pincite.core.text.terms import content_terms

HEADING, ITEM, PARAGRAPH, FOOTER = BlockKind.HEADING, BlockKind.LIST_ITEM, BlockKind.PARAGRAPH, BlockKind.FOOTER


def page(index: int, label: str, *lines: tuple[str, BlockKind]) -> Page:
    blocks, at = [], 0
    for text, kind in lines:
        blocks.append(Block(at, at + len(text), kind, level=1 if kind is HEADING else 0))
        at += len(text) + 1
    return Page(index, label, "\n".join(text for text, _ in lines), (), tuple(blocks), PageStatus.TEXT)


PAGES = (
    page(0, "iv", ("Contents", HEADING), ("5 Repairs 1", PARAGRAPH), ("6 Liability 1", PARAGRAPH)),
    page(1, "1", ("5 Repairs", HEADING), ("5.1 A fault is mended.", ITEM), ("6 Liability", HEADING),
         ("6.1 It is limited.", ITEM), ("1", FOOTER)),
    page(2, "2", ("6.2 An insurance is kept.", ITEM), ("Table 2. Prices", PARAGRAPH), ("7 Law", HEADING),
         ("The law of Denmark governs.", PARAGRAPH)),
)  # fmt: skip


def texts(name: str) -> list[str]:
    return [stretch.text for stretch in numbered([name], PAGES)]


def test_a_section_is_found_by_its_number_and_goes_on_over_the_page() -> None:
    assert texts("section 6") == ["6 Liability\n6.1 It is limited.", "6.2 An insurance is kept.\nTable 2. Prices"]
    assert texts("article 7") == texts("chapter 7") == ["7 Law\nThe law of Denmark governs."]
    assert texts("section 6.1") == ["6.1 It is limited."]


def test_of_two_places_of_one_number_the_one_within_the_other_name_is_meant() -> None:
    statutes = page(0, "1", ("Article II. Boats", HEADING), ("§ 1 Boats are blue.", PARAGRAPH),
                    ("§ 2 Two may row.", PARAGRAPH), ("Article III. Hall", HEADING),
                    ("§ 1 The hall is open to all members until late.", PARAGRAPH))  # fmt: skip
    found = [stretch.text for stretch in numbered(["§ 1", "Article II"], [statutes])]
    assert found[0] == "§ 1 Boats are blue."
    lines = ("Article I. Boats", "§ 1 Boats are all blue.", "Article II. Hall", "§ 1 It is open.", "Article III. End")
    plain = page(0, "1", *((line, PARAGRAPH) for line in lines))
    assert numbered(["§ 1", "Article II"], [plain])[0].text == "§ 1 It is open."
    longest, *_ = numbered(["§ 1"], [statutes])
    assert longest.text.startswith("§ 1 The hall")


def test_a_caption_needs_its_name_and_a_number_alone_is_no_table() -> None:
    assert texts("table 2") == ["Table 2. Prices"]
    assert texts("table 5") == texts("figure 6") == texts("section 9") == []
    assert is_on("section 6", PAGES) and not is_on("section 9", PAGES)


def test_pages_go_by_what_is_printed_on_them_and_else_by_position() -> None:
    assert [one.page.page_index for one in pages_called(["iv", "2"], PAGES, 3)] == [0, 2]
    assert [one.page.page_index for one in pages_called(["3", "first", "last"], PAGES, 3)] == [2, 0]
    assert pages_called(["9"], PAGES, 3) == []
    assert "Denmark" in pages_called(["last"], PAGES, 3)[0].text


def test_question_content_remains_after_removing_the_place() -> None:
    assert not set(content_terms(without_places("What is on page A-1?")))
    assert set(content_terms(without_places("What does section 6 say about insurance?"))) >= {"insur"}


def test_a_section_is_found_by_the_whole_of_its_title_with_its_number_or_without() -> None:
    pages = (*PAGES, page(3, "3", ("Clause 8 – Law of the sea", HEADING), ("It is not applied.", PARAGRAPH)))
    sea = ["Clause 8 – Law of the sea\nIt is not applied."]
    assert [one.text for one in titled("law of the SEA", pages)] == sea
    assert [one.text for one in titled("Clause 8 – Law of the sea", pages)] == sea
    assert titled("sea", pages) == titled("law of", pages) == []
    assert title_in("What does the section “Payment schedule” say?") == "Payment schedule"
    assert title_in("What is the payment schedule?") == title_in("Is there a penalty in the termination clause?") == ""


def test_a_number_inside_a_title_is_part_of_it() -> None:
    for heading in ("Vitamin C deficiency", "Top 10 risks", "I agree", "Results 2023 by region", "2023 results"):
        assert title_of(heading) == heading
    assert {title_of(one) for one in ("Clause 3 – Price", "3. Price", "C. Price", "IV. Price", "§ 4 Price")} == {
        "Price"
    }


def test_a_clause_ends_where_the_next_of_its_name_begins() -> None:
    lines = ["Article II. Members", "§ 3 Members pay a fee.", "It is due in May.", "§ 4 A member leaves by letter."]
    clauses = [page(0, "1", *((line, PARAGRAPH) for line in lines), ("Article III. Boats", PARAGRAPH))]
    assert [one.text for one in numbered(["§ 3"], clauses)] == ["§ 3 Members pay a fee.\nIt is due in May."]
    assert [one.text for one in numbered(["article II"], clauses)] == ["\n".join(lines)]
