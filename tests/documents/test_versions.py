"""What changed between two versions: every change that matters is found, and a new layout is none."""

import pytest

from pincite.core.documents.versions import compare, statements_of
from pincite.core.domain.documents import Block, BlockKind, Page, PageStatus
from pincite.core.domain.versions import Comparison, Concern, Difference, DifferenceKind
from pincite.core.text.checker import installed_checker

BASE = (
    "1. Term",
    "The lease begins on 15 March 2026 and runs for 24 months.",
    "2. Rent",
    "The rent is EUR 2,750 a month. The Tenant shall pay it in advance by bank transfer.",
    "3. Notice",
    "Either party may end the lease with 90 days' notice as clause 2 says.",
    "4. Repairs",
    "Norrland Dairy Ltd bears the cost of repairs. Small repairs are for the Tenant.",
)


def page(*blocks: str, number: int = 0, kinds: dict[str, BlockKind] | None = None) -> Page:
    """A page of blocks; a block with a number and one word or two is a heading."""
    text, found = "", []
    for block in blocks:
        kind = BlockKind.HEADING if block[:1].isdigit() and len(block.split()) < 4 else BlockKind.PARAGRAPH
        found.append(Block(len(text), len(text) + len(block), (kinds or {}).get(block, kind)))
        text += f"{block}\n"
    return Page(number, str(number + 1), text, (), tuple(found), PageStatus.TEXT)


def compared(*newer: str, older: tuple[str, ...] = BASE) -> Comparison:
    return compare("old", [page(*older)], "new", [page(*newer)], installed_checker())


def only(*newer: str) -> Difference:
    [one] = compared(*newer).differences
    return one


def edited(old: str, new: str) -> Difference:
    assert any(old in one for one in BASE)
    return only(*(one.replace(old, new) for one in BASE))


def marked(one: Difference) -> tuple[list[str], list[str]]:
    first, second = (
        [side.text[span.start : span.end] for span in side.differing] if side else [] for side in (one.old, one.new)
    )
    return first, second


@pytest.mark.behaviour("Versions", "A changed figure, date, name, reference or duty is found and named as such.")
@pytest.mark.parametrize(
    ("old", "new", "concern", "words"),
    [
        ("EUR 2,750", "EUR 2,950", Concern.FIGURE, (["EUR 2,750"], ["EUR 2,950"])),
        ("24 months", "24 weeks", Concern.FIGURE, (["24 months"], ["24 weeks"])),
        ("15 March 2026", "15 May 2026", Concern.DATE, (["15 March 2026"], ["15 May 2026"])),
        ("Norrland Dairy", "Halden Foods", Concern.NAME, (["Norrland Dairy"], ["Halden Foods"])),
        ("shall pay", "may pay", Concern.MEANING, (["shall"], ["may"])),
        ("shall pay", "shall not pay", Concern.MEANING, ([], ["not"])),
        ("Either party may", "Either party must not", Concern.MEANING, (["may"], ["must not"])),
        ("in advance", "in arrears", Concern.MEANING, (["advance"], ["arrears"])),
        ("clause 2", "clause 4", Concern.REFERENCE, (["2"], ["4"])),
    ],
)
def test_a_change_is_found_with_what_it_is_about(
    old: str, new: str, concern: Concern, words: tuple[list[str], list[str]]
) -> None:
    one = edited(old, new)
    assert one.kind is DifferenceKind.CHANGED and one.concerns == (concern,) and one.matters
    assert marked(one) == words


def test_marks_are_where_the_words_are_on_the_page() -> None:
    one = edited("EUR 2,750", "EUR 2,950")
    text = page(*BASE).text
    assert one.old and [text[place.start : place.end] for place in one.old.marks] == ["EUR 2,750"]
    assert one.old.heading == "2. Rent"


def test_other_words_with_the_same_meaning_do_not_matter() -> None:
    one = edited("bears the cost", "covers the cost")
    assert one.concerns == (Concern.WORDING,) and not one.matters


def test_without_a_checker_other_words_may_matter() -> None:
    newer = [page(*(one.replace("bears", "covers") for one in BASE))]
    [one] = compare("old", [page(*BASE)], "new", newer, None).differences
    assert one.concerns == (Concern.MEANING,)


@pytest.mark.behaviour("Versions", "Line and page breaks, numbering and spellings of a figure are no changes.")
@pytest.mark.parametrize(
    "newer",
    [
        tuple(one.upper() if one[0].isdigit() else one for one in BASE),
        tuple(one.replace(" ", "\n", 5) for one in BASE),
        tuple(one.replace("'", "’").replace("EUR 2,750", "€2,750").replace("90 days", "ninety (90) days")
              for one in BASE),
        (*BASE[:3], *BASE[3].replace(". ", ".\n").split("\n"), *BASE[4:]),
    ],
    ids=["capitals", "line breaks", "spellings", "paragraphs"],
)  # fmt: skip
def test_layout_and_spelling_are_no_changes(newer: tuple[str, ...]) -> None:
    assert compared(*newer).differences == ()


def test_a_page_break_in_a_sentence_is_no_change() -> None:
    head, rest = BASE[-1].split("of repairs")
    newer = [page(*BASE[:-1], f"{head}of"), page(f"repairs{rest}", number=1)]
    found = compare("old", [page(*BASE)], "new", newer, None)
    assert found.differences == () and found.compared == (10, 10)
    torn = statements_of(newer)[-2]
    assert [place.page_index for place in torn.extracts] == [0, 1]


def test_running_heads_contents_and_comments_are_left_out() -> None:
    kinds = {"Draft 2": BlockKind.HEADER, "Term ... 1": BlockKind.CONTENTS, "[comment: why?]": BlockKind.COMMENT}
    newer = page("Draft 2", "Term ... 1", *BASE, "[comment: why?]", kinds=kinds)
    assert compare("old", [page(*BASE)], "new", [newer], None).differences == ()


def test_an_added_clause_is_one_change_and_what_it_renumbers_is_none() -> None:
    newer = (*BASE[:2], "2. Deposit", "The deposit is EUR 500. It bears no interest.",
             *(one.replace("2. R", "3. R").replace("3. N", "4. N").replace("4. Rep", "5. Rep")
               .replace("clause 2", "clause 3") for one in BASE[2:]))  # fmt: skip
    found = compared(*newer)
    [one] = found.differences
    assert one.kind is DifferenceKind.ADDED and one.new and one.old is None
    assert one.new.text.split("\n") == ["2. Deposit", "The deposit is EUR 500.", "It bears no interest."]
    assert one.near and page(*BASE).text[: one.near.end].endswith("24 months.")
    assert found.renumbered == 4


def test_a_removed_clause_is_where_it_was() -> None:
    found = compared(*BASE[:4], *BASE[6:])
    [one] = found.differences
    assert one.kind is DifferenceKind.REMOVED and one.old and one.old.text.startswith("3. Notice\nEither party")


def test_a_moved_clause_is_moved_once() -> None:
    one = only(*BASE[:2], *BASE[4:6], *BASE[6:], *BASE[2:4])
    assert one.kind is DifferenceKind.MOVED and not one.matters
    assert one.new and one.new.text.startswith("2. Rent\nThe rent is EUR 2,750")


def test_a_moved_clause_with_another_figure_matters() -> None:
    rent = BASE[3].replace("2,750", "2,950")
    found = compared(*BASE[:2], *BASE[4:], "2. Rent", rent).differences
    [changed] = [one for one in found if one.kind is DifferenceKind.CHANGED]
    assert changed.moved and changed.matters and changed.concerns == (Concern.FIGURE,)


def test_rows_of_tables_are_paired_by_their_first_cell() -> None:
    rows = {"Rent\t2,750\t2,900\t3,000": BlockKind.TABLE_ROW, "Rent\t1\t2\t3": BlockKind.TABLE_ROW,
            "Deposit\t500\t500\t500": BlockKind.TABLE_ROW}  # fmt: skip
    first, second, same = rows
    found = compare("old", [page(first, same, kinds=rows)], "new", [page(second, same, kinds=rows)], None)
    [one] = found.differences
    assert one.kind is DifferenceKind.CHANGED and one.concerns == (Concern.FIGURE,)


def test_pages_without_text_are_counted() -> None:
    empty = Page(1, "2", "", (), (), PageStatus.EMPTY, "a_picture_without_text")
    blank = Page(2, "3", "", (), (), PageStatus.EMPTY, "blank_page")
    assert compare("old", [page(*BASE)], "new", [page(*BASE), empty, blank], None).unread == (0, 1)


def test_documents_with_nothing_in_common_are_removed_and_added() -> None:
    found = compared("Wholly other words stand here.", "Nothing else does.").differences
    assert {one.kind for one in found} == {DifferenceKind.ADDED, DifferenceKind.REMOVED}
