"""A sentence that states something is a claim; headings, questions, small talk and declines are not."""

import pytest

from pincite.core.judge.claims import ClaimText, bare_text, declines, is_claim, without_filler
from pincite.core.judge.claims import extract_claims as claims_of_parts
from pincite.core.text.marks import citation_numbers, plain_text, read_marks


def extract_claims(typed: str) -> tuple[ClaimText, ...]:
    return claims_of_parts(read_marks(typed)[0])


def test_prose_lists_and_tables_come_apart_into_claims_with_their_place() -> None:
    answer = (
        "# Results\n\nSure! Here is what I found:\n\nRevenue rose by 5 % [1]. Costs fell [2][3].\n"
        "- Margin: 12 % [1, 4]\n\n| Year | Profit |\n|---|---|\n| 2023 | 17 |\n\nWould you like more detail?"
    )
    claims = extract_claims(answer)
    assert [claim.text for claim in claims] == ["Revenue rose by 5 %.", "Costs fell.", "- Margin: 12 %", "17"]
    assert claims[-1].in_context == "2023, Profit: 17"
    assert [claim.citations for claim in claims] == [(1,), (2, 3), (1, 4), ()]
    plain = plain_text(read_marks(answer)[0])
    assert all(plain[claim.start : claim.end] == claim.text for claim in claims)


def test_every_table_cell_is_a_claim_about_its_row_and_column() -> None:
    answer = "| | 2023 | 2022 |\n|--|--|--|\n| Net sales | 574 [1] | 513 [1] |\n| Tax | | 7 |\n| Cited | yes | no [2] |"
    claims = extract_claims(answer)
    assert [claim.bare for claim in claims] == [
        "Net sales, 2023: 574", "Net sales, 2022: 513", "Tax, 2022: 7", "Cited, 2023: yes", "Cited, 2022: no",
    ]  # fmt: skip
    assert [claim.citations for claim in claims] == [(1,), (1,), (), (2,), (2,)]
    plain = plain_text(read_marks(answer)[0])
    assert all(plain[claim.start : claim.end] == claim.text for claim in claims)
    assert [claim.text for claim in extract_claims("| Only |\n|---|\n| one column |")] == ["one column"]


def test_next_number_in_an_inline_list_is_not_part_of_the_item() -> None:
    claims = extract_claims("The causes are these. 1. No rent 2. Late rent 3. The number of tenants is 8.")
    assert [claim.bare for claim in claims][1:] == ["No rent", "Late rent", "The number of tenants is 8."]


@pytest.mark.parametrize(
    "text",
    [
        'Therefore, the answer to the question "What is the rent?" is:',
        "What is the rate?",
        "## Summary",
        "**Key figures:**",
        "Here are the steps:",
        "I hope this helps!",
        "Let me know if you need more.",
    ],
)
def test_what_states_nothing_is_no_claim(text: str) -> None:
    assert extract_claims(text) == ()


@pytest.mark.parametrize(
    ("text", "stated", "absent"),
    [
        ("There is no clear limit: liability is capped at 9 million [1].", "liability is capped at 9 million.", 1),
        ("The documents do not mention the price, but the fee is 5 % [1].", "the fee is 5 %.", 1),
        ("The passages do not say — the fee is 5 % [1].", "the fee is 5 %.", 1),
        ("The fee is 5 % [1], but the documents do not mention the price.", "The fee is 5 %", 1),
        ("The document does not include a warranty.", "", 1),
        ("There is no information about the tenant in the passages.", "", 1),
        ("Regarding the deposit: the documents do not mention it.", "", 1),
    ],
)
def test_decline_is_a_claim_and_so_is_every_clause_next_to_it(text: str, stated: str, absent: int) -> None:
    claims = extract_claims(text)
    assert [claim.text for claim in claims if not claim.absent] == ([stated] if stated else [])
    assert sum(claim.absent for claim in claims) == absent


def test_a_negative_statement_about_the_world_is_a_claim() -> None:
    assert not declines("The tenant must not sublet the flat.")
    assert len(extract_claims("The restaurant does not accept dogs.")) == 1


def test_citation_marks_are_read_once_each_and_in_ranges() -> None:
    assert citation_numbers("a [2] b [1-3] c [2]") == (2, 1, 3)
    assert citation_numbers("a [link](http://x) and [7](url)") == ()
    assert bare_text("- **Profit** rose [3].") == "Profit rose [3].", "a number in brackets is the text's own"


def test_marks_of_another_kind_state_nothing() -> None:
    for mark in ("(1)", "[^1]", "[1 ]", "①", "<1>", "{1}", "\\[1\\]", "[a][b]"):
        assert not is_claim(mark)
    assert is_claim("12") and is_claim("(12) days")


@pytest.mark.parametrize(
    ("prose", "left"),
    [
        ("Dogs are kept out [1]. This is stated in both passages [1] and [2].", "Dogs are kept out [1]."),
        ("Sure! The fee is 40 euro [1].\n\nI hope this helps!", "The fee is 40 euro [1]."),
        ("# Answer\n\nThe fee is 40 euro [1].", "The fee is 40 euro [1]."),
        ("The information is given below.", "The information is given below."),
        ("Here is the list:\n- Elm [1]\n- Ash [2]", "Here is the list:\n- Elm [1]\n- Ash [2]"),
        ("| find | result |\n|---|---|\n| point | 2 |", "| find | result |\n|---|---|\n| point | 2 |"),
        ("The fee is due [1]. It is not.", "The fee is due [1]. It is not."),
    ],
)
def test_filler_about_the_answer_is_omitted_when_there_is_other_content(prose: str, left: str) -> None:
    assert without_filler(prose) == left
