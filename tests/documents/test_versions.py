"""What changed between two versions: every change that matters is found, and a new layout is none."""

import time

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


ROW, ITEM = BlockKind.TABLE_ROW, BlockKind.LIST_ITEM


def between(old: tuple[str, ...], new: tuple[str, ...], kind: BlockKind = BlockKind.PARAGRAPH) -> Comparison:
    sides = ([page(*one, kinds=dict.fromkeys(one, kind))] for one in (old, new))
    first, second = sides
    return compare("old", first, "new", second, None)


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("2.5 million euros are lent to the borrower.", "3.5 million euros are lent to the borrower.", None),
        ("12.50 | Widget blue | box", "18.50 | Widget blue | box", ROW),
        ("- 500 | loss of the year", "+ 500 | loss of the year", ROW),
        ("The creatinine is ≤ 30 mg in all.", "The creatinine is ≥ 30 mg in all.", None),
        ("☒ Yes ☐ No, the tenant may keep pets.", "☐ Yes ☒ No, the tenant may keep pets.", None),
        ("The fee is ₹ 500 for each of us.", "The fee is ₽ 500 for each of us.", None),
        ("Pay EUR 100 / USD 100 per item.", "Pay GBP 100 / USD 100 per item.", None),
        ("The account is 1234567890123 at the bank.", "The account is 1234567890124 at the bank.", None),
        ("The code for the door is 0042 now.", "The code for the door is 42 now.", None),
        ("The lessee is not able to pay.", "The lessee is notable to pay.", None),
        ("यह दिन अच्छा है और लंबा है।", "यह दान अच्छा है और लंबा है।", None),
        ("本合同受中国法律管辖并解释。", "本合同受德国法律管辖并解释。", None),
    ],
)
def test_small_changes_are_found(old: str, new: str, kind: BlockKind | None) -> None:
    found = between((old,), (new,), kind or BlockKind.PARAGRAPH)
    assert [one.kind for one in found.differences] == [DifferenceKind.CHANGED] and found.renumbered == 0


def test_another_number_of_a_clause_is_a_change_where_nothing_came_or_went() -> None:
    [one] = between(
        ("7. März 2026 ist der Beginn der Miete.",), ("8. März 2026 ist der Beginn der Miete.",)
    ).differences
    assert one.concerns == (Concern.REFERENCE,) and marked(one) == (["7."], ["8."])


def test_words_that_begin_another_sentence_are_a_change() -> None:
    old = "The tenant may not sublet. Unless the landlord agrees the tenant pays."
    new = "The tenant may not sublet unless the landlord agrees. The tenant pays."
    assert between((old,), (new,)).differences
    rows = ("Anna | 5 | Bob", "7 | Carl | 9"), ("Anna | 5", "Bob | 7 | Carl", "9")
    assert between(*rows, ROW).differences


def test_the_numbers_of_a_list_excuse_no_reference() -> None:
    old = ("1. apples are red fruit", "2. pears are green fruit", "The rent is due as clause 2 says on Mondays.")
    new = ("1. apples are red fruit", "2. cherries taste sour", "3. pears are green fruit",
           "The rent is due as clause 3 says on Mondays.")  # fmt: skip
    sides = [page(*one, kinds=dict.fromkeys(one[:-1], ITEM)) for one in (old, new)]
    found = compare("old", sides[:1], "new", sides[1:], None)
    assert Concern.REFERENCE in {concern for one in found.differences for concern in one.concerns}


def test_a_clause_with_its_number_is_changed_whatever_its_words() -> None:
    old = "7.2 The Supplier shall notify the Client without undue delay after a breach of data."
    new = "7.2 If personal information is lost, it must be told within 48 hours."
    [one] = between((old,), (new,)).differences
    assert one.kind is DifferenceKind.CHANGED and Concern.FIGURE in one.concerns


def test_a_clause_that_moved_is_not_the_new_one_with_its_number() -> None:
    fees = ("4. Fees", "4.1 The Customer pays the fee within thirty days.")
    secrets = "Each party shall keep the confidential information of the other secret."
    rights = "The Supplier keeps all rights in the materials that it has made."
    stays = ("6. Rights", f"6.1 {rights}", "6.2 The Customer may use them during the term.")
    old = (*fees, "5. Secrecy", f"5.1 {secrets}", *stays)
    new = (
        *fees,
        "5. Prices",
        "5.1 On each anniversary the fee may rise by 3 %.",
        *stays,
        "7. Secrecy",
        f"7.1 {secrets}",
    )
    added, moved = compared(*new, older=old).differences
    assert added.kind is DifferenceKind.ADDED and added.new and "5.1 On each anniversary" in added.new.text
    assert moved.kind is DifferenceKind.MOVED and moved.new and secrets in moved.new.text


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ([f"Item | {at} | 10" for at in range(1500)], [f"Item | {at} | 11" for at in range(1500)], ROW),
        (["Widget | blue | 10", "-- none"] * 700, ["Widget | blue | 11", "-- none"] * 700, ROW),
        ([f"Sentence {at} says one thing." for at in range(1500)],
         [f"Other words of number {at} here." for at in range(1500)], BlockKind.PARAGRAPH),
    ],
    ids=["a price column", "rows that repeat", "nothing in common"],
)  # fmt: skip
def test_long_documents_are_compared_in_seconds(old: list[str], new: list[str], kind: BlockKind) -> None:
    started = time.perf_counter()
    found = between(tuple(old), tuple(new), kind)
    assert found.differences and time.perf_counter() - started < 15
    if "Item" in old[0]:
        assert {one.kind for one in found.differences} == {DifferenceKind.CHANGED}


def test_documents_with_nothing_in_common_are_removed_and_added() -> None:
    found = compared("Wholly other words stand here.", "Nothing else does.").differences
    assert {one.kind for one in found} == {DifferenceKind.ADDED, DifferenceKind.REMOVED}
