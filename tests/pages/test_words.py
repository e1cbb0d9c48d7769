"""Foreign text cannot become Markdown, and figures read as people write them."""

import re
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from pincite.core.domain.answers import (
    AnswerPart,
    Citation,
    Claim,
    ClaimStatus,
    PartKind,
    Score,
    Span,
    Verdict,
    lists_passages,
    separated,
)
from pincite.core.domain.figures import Computation, Figure
from pincite.core.domain.search import Piece, SearchPlan, SubQuery
from pincite.core.text.marks import read_marks
from pincite.pages.components.answer import answer_markdown, claim_line
from pincite.pages.components.why import _understood
from pincite.pages.components.words import about, duration, escape, escape_lines, page_name, shorten, size, tame

QUOTED = Citation(1, "d", "rates.pdf", 0, "1", "It is 5 %.", 0, 10)


def verdict(*claims: Claim) -> Verdict:
    score = Score(1.0, "")
    return Verdict(claims, score, score, score, score, 0.9, True)


def test_why_names_the_documents_that_one_question_is_put_to() -> None:
    rent = "Which has the higher rent?"
    pieces = tuple(Piece(rent, SubQuery(rent), name) for name in ("elm.pdf", "oak.pdf"))
    turn: Any = SimpleNamespace(plan=SearchPlan(rent, rent, (), pieces=pieces))
    assert list(_understood(turn))[1:] == ["Asked of each by itself: elm.pdf, oak.pdf"]
    turn.plan = replace(turn.plan, pieces=(*pieces, Piece("Who signed?", SubQuery("Who signed?"))))
    assert list(_understood(turn))[1].startswith("Answered part by part: “Which has the higher rent?” of elm.pdf; ")


@pytest.mark.parametrize(
    "attack",
    [
        "![x](http://evil.example/x.png)",
        "[click](http://evil.example)",
        "<img src=x>",
        r"$\href{javascript:alert(1)}{x}$",
        r"\(\includegraphics{x.png}\)",
        r"\(x\\)",
        "$5 and $6",
        ":red[alarm]",
        "[a]: b",
    ],
)
def test_model_text_cannot_load_or_link(attack: str) -> None:
    for shown in (escape(attack), tame(attack)):
        for sign in "[]<$!":
            assert shown.count(sign) == shown.count("\\" + sign)


@pytest.mark.behaviour(
    "Figures and charts",
    "LaTeX in a model's prose is drawn as a formula; what in it could link, load, colour or make room stays text.",
)
@pytest.mark.parametrize(
    ("written", "drawn"),
    [
        (r"Then \(E = mc^2\) [1].", r"Then $E = mc^2$ \[1\]."),
        (r"So \[ \frac{a}{b} < 3 \] holds", r"So $\frac{a}{b} \lt  3$ holds"),
        ("$$x_1$$ and $x_2$", "$x_1$ and $x_2$"),
        ("$5_000 to $6_000", r"\$5_000 to \$6_000"),
        (r"$\color{white} x_1$", r"\$\\color{white} x_1\$"),
        (r"$\rule{9em}{9em}$", r"\$\\rule{9em}{9em}\$"),
    ],
)
def test_model_formulas_are_drawn_only_when_harmless(written: str, drawn: str) -> None:
    assert tame(written) == drawn
    assert "$" not in escape(written).replace("\\$", "")


def test_a_bare_address_stays_text() -> None:
    assert "https://" not in tame("See https://evil.example/x") and ":\u2060//" in tame("See https://evil.example/x")


@pytest.mark.parametrize(
    ("attack", "shown"),
    [
        (":material/verified_user:", ":\u2060material/verified_user:"),
        (":material_home:", ":\u2060material_home:"),
        (":+1:", ":\u2060+1:"),
        (":white_check_mark:", ":\u2060white_check_mark:"),
        ("(www.evil.example)", "(www\u2060.evil.example)"),
        ("WWW.evil.example", "WWW\u2060.evil.example"),
        ("m_x-y@evil.example", "m_x-y\u2060@evil.example"),
    ],
)
def test_icons_and_addresses_that_are_sought_after_parsing_stay_text(attack: str, shown: str) -> None:
    assert tame(attack) == shown
    assert re.sub(r"\\(.)", r"\1", escape(attack)) == shown


def test_signs_written_as_entities_and_directives_stay_text() -> None:
    assert tame("&colon;material_home: R&D") == r"\&colon;material_home: R&D"
    for neutral in (escape, tame):
        assert neutral(":help std::vector 10:30") == r"\:help std\:\:vector 10:30"


def test_mentions_keep_their_sign() -> None:
    assert escape("@contract, ask @ once") == tame("@contract, ask @ once") == "@contract, ask @ once"


def test_lists_tables_and_emphasis_from_a_model_are_kept() -> None:
    text = "- **one**\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    assert answer_markdown((AnswerPart(text),), None) == text


def test_document_text_is_shown_exactly() -> None:
    assert escape("1 * 2_3 # x") == r"1 \* 2_3 \# x" and escape("_x_ y_") == r"\_x\_ y\_"
    quoted = AnswerPart("# Not a heading\n\n1. item [11]", (1,), PartKind.VERBATIM)
    assert answer_markdown((quoted,), None) == "\\# Not a heading  \n1\\. item \\[11\\] :gray-badge[1]"


def test_a_heading_keeps_its_line_and_a_sentence_that_goes_on_does_not_break() -> None:
    quoted = AnswerPart("3 Costs\n The fee is 5 euros,\nwhich is due\n in May.", (1,), PartKind.VERBATIM, 0)
    assert answer_markdown((quoted,), None) == "3 Costs  \nThe fee is 5 euros, which is due in May. :gray-badge[1]"
    assert escape_lines("1. item") == "1\\. item"


def test_each_claim_carries_a_mark_that_reads_without_colour() -> None:
    parts, _ = read_marks("It is 5 % [1]. It is 9 %. It may end [2, 3].")
    claims = (
        Claim("It is 5 %.", 0, 10, ClaimStatus.SUPPORTED, citations=(1,), quotation=QUOTED),
        Claim("It is 9 %.", 11, 21, ClaimStatus.UNSUPPORTED),
        Claim("It may end.", 22, 33, ClaimStatus.CONTRADICTED, citations=(2, 3)),
    )
    shown = answer_markdown(parts, verdict(*claims))
    assert shown == "It is 5 %. :green-badge[✓ 1] It is 9 %. :gray-badge[? unsupported] It may end. :red-badge[✗ 2 3]"


def test_markers_after_a_claim_belong_to_it() -> None:
    parts, _ = read_marks("It is 5 %. [1] [2] Then more.")
    claims = (Claim("It is 5 %.", 0, 10, ClaimStatus.PARTLY_SUPPORTED, citations=(1, 2)),)
    assert answer_markdown(parts, verdict(*claims)) == "It is 5 %. :orange-badge[◐ 1 2] Then more."


@pytest.mark.parametrize("citations, quotation", [((), None), ((1,), None)])
def test_no_claim_is_ticked_without_a_citation_that_was_found(citations: Any, quotation: Any) -> None:
    claim = Claim("It is 5 %.", 0, 10, ClaimStatus.SUPPORTED, citations=citations, quotation=quotation)
    assert "✓" not in answer_markdown((AnswerPart("It is 5 %.", citations),), verdict(claim)) + claim_line(claim)


def test_claim_with_removed_source_shows_that() -> None:
    claim = Claim("It is 5 %.", 0, 10, ClaimStatus.SOURCE_REMOVED, citations=(1,), quotation=QUOTED)
    shown = answer_markdown((AnswerPart("It is 5 %.", (1,)),), verdict(claim)), claim_line(claim)
    assert all("source removed" in text and "✓" not in text for text in shown)


def test_pages_show_the_printed_label_and_the_position_where_they_differ() -> None:
    assert page_name("iv", 3) == "p. iv (page 4 of the file)"
    assert page_name("Budget A1:C6", 0) == "Budget A1:C6 (page 1 of the file)"
    assert page_name("4", 3) == page_name("", 3) == "p. 4"


def test_figures_read_well() -> None:
    assert [size(900), size(2048), size(5 * 2**20)] == ["900 B", "2 KiB", "5.0 MiB"]
    assert [duration(0.02), duration(2.5), duration(125)] == ["20 ms", "2.5 s", "2 min 5 s"]
    assert duration(119.7) == "2 min 0 s"
    assert [about(20), about(1619), about(7300)] == ["less than a minute", "about 27 minutes", "about 2 hours"]
    assert shorten("annual-report-2023.pdf", 14) == "annual-re….pdf"


def test_a_figure_is_bold_with_its_formula_beneath_and_none_of_its_words_are_markdown() -> None:
    figures = tuple(
        Figure(Decimal(text), text, "USD", 1, year, "Fees_of *ships*", year, "d", 0, 0, 1)
        for text, year in (("4", "2020"), ("5", "2021"))
    )
    change = Computation("Change in fees_of *ships*", "(b - a) / a * 100", "%")
    part = AnswerPart("Change in fees_of *ships*: 25%", (1,), PartKind.FIGURE, figures=figures, computation=change)
    shown = answer_markdown((part,), None)
    assert shown.startswith("**Change in fees_of \\*ships\\*: 25%** :gray-badge[1]")
    assert shown.rstrip().endswith(r"$$\frac{5 - 4}{4} \times 100 = \text{25\%}$$")
    stated = AnswerPart("Fees, 2021: $5", (1,), PartKind.FIGURE, figures=figures[1:])
    assert answer_markdown((stated,), None) == r"**Fees, 2021: \$5** :gray-badge[1]"


def _stated(label: str, *cells: tuple[str, str], number: int = 1, unit: str = "USD") -> AnswerPart:
    figures = tuple(
        Figure(Decimal(text.replace(",", "")), text, unit, 10**6, year, label, year, f"d{number}", 0, 0, 1)
        for year, text in cells
    )
    return AnswerPart(f"{label}: {cells}", (number,), PartKind.FIGURE, figures=figures)


def test_figures_of_one_row_are_drawn_below_their_years() -> None:
    shown = answer_markdown((_stated("Operating profit", ("2021", "11,162"), ("2020", "10,080")),), None)
    rows = "|   | 2021 | 2020 |\n|:--|--:|--:|\n| Operating profit | \\$11,162 million | \\$10,080 million |"
    assert shown == f"{rows}\n\n:gray-badge[1]"


def test_figures_of_several_documents_have_the_documents_as_columns() -> None:
    between = AnswerPart("\n\n")
    first, second = (AnswerPart(f"{name}.pdf:", kind=PartKind.NOTE) for name in ("elm", "oak"))
    one, other = _stated("Net sales", ("2017", "3,033")), _stated("Revenue", ("2017", "1,694"), number=2)
    shown = answer_markdown((first, between, one, between, second, between, other, between, AnswerPart("More.")), None)
    table, badges, more = shown.split("\n\n")
    assert table.splitlines()[0] == "|   | elm.pdf, 2017 | oak.pdf, 2017 |"
    assert table.splitlines()[2] == "| Net sales / Revenue | \\$3,033 million | \\$1,694 million |"
    assert (badges, more) == (":gray-badge[1] :gray-badge[2]", "More.")
    alone = answer_markdown((first, between, one), None)
    assert alone.startswith("elm.pdf:") and "|" not in alone, "one figure is no table"


def test_quoted_table_rows_are_drawn_as_one_table() -> None:
    heads, row = (
        AnswerPart(text, (1,), PartKind.VERBATIM, start)
        for text, start in (("Orchard\t2024\t2025", 0), ("Hightop\t124\t131", 40))
    )
    shown = answer_markdown((heads, AnswerPart("\n\n"), row, AnswerPart("\n\nMore.")), None)
    assert shown.startswith("| Orchard | 2024 | 2025 |\n|:--|--:|--:|\n| Hightop | 124 | 131 |\n\n:gray-badge[1]")
    assert shown.endswith("\n\nMore.")


def test_heads_are_drawn_over_the_columns_that_they_head() -> None:
    part = AnswerPart("Ended May 31,\n2019\t2018\nCash\t4,466\t4,249", (1,), PartKind.VERBATIM, 0)
    head = AnswerPart("Most relevant in your documents", kind=PartKind.EVIDENCE)
    shown = answer_markdown((head, AnswerPart("a.pdf, page 1", kind=PartKind.NOTE), part), None).split("\n\n")
    assert shown[-2:] == [":small[Ended May 31,]", "|   | 2019 | 2018 |\n|:--|--:|--:|\n| Cash | 4,466 | 4,249 |"]
    groups = replace(part, text="Sales\tProfit\nPart\t2026\t2025\t2026\t2025\nOats\t9\t8\t7\t6")
    shown = answer_markdown((head, AnswerPart("a.pdf, page 1", kind=PartKind.NOTE), groups), None).split("\n\n")
    assert shown[-2].startswith(":small[Sales") and shown[-1].startswith("| Part | 2026 | 2025 | 2026 | 2025 |")


def test_listed_passages_say_where_they_are_and_have_their_likeliest_words_marked() -> None:
    text = "The rent is 900 euros [net]. It is due monthly."
    parts = (
        AnswerPart("Most relevant in your documents", kind=PartKind.EVIDENCE),
        AnswerPart("\n\n"),
        AnswerPart("lease_1.pdf, page 2 · Rent", kind=PartKind.NOTE),
        AnswerPart("\n\n"),
        AnswerPart(text, (1,), PartKind.VERBATIM, 0, marked=(Span(12, 27),)),
        AnswerPart("\n\n"),
        AnswerPart("prices.pdf, page 1", kind=PartKind.NOTE),
        AnswerPart("\n\n"),
        AnswerPart("Prices (EUR)\nItem\tPrice\nChair\t40", (2,), PartKind.VERBATIM, 0, marked=(Span(30, 32),)),
    )
    assert answer_markdown(parts, None).split("\n\n") == [
        "**Most relevant in your documents**",
        ":small[**lease_1.pdf, page 2 · Rent**] :gray-badge[1]",
        "The rent is :yellow-background[900 euros \\[net\\]]. It is due monthly.",
        ":small[**prices.pdf, page 1**] :gray-badge[2]",
        ":small[Prices \\(EUR\\)]",
        "| Item | Price |\n|:--|--:|\n| Chair | :yellow-background[40] |",
    ]


def test_rows_of_two_documents_are_no_table_and_an_edited_list_is_no_list() -> None:
    rows = [AnswerPart(f"{name}\t9", (number,), PartKind.VERBATIM, 0) for number, name in ((1, "Rent"), (2, "Costs"))]
    assert "|:" not in answer_markdown((rows[0], AnswerPart("\n\n"), rows[1]), None)
    head = AnswerPart("Most relevant in your documents", kind=PartKind.EVIDENCE)
    where = AnswerPart("a.pdf, page 1", kind=PartKind.NOTE)
    sentence = AnswerPart("The rent is due monthly.", (1,), PartKind.VERBATIM, 0)
    listed = answer_markdown((head, where, sentence, rows[0]), None)
    assert "The rent is due monthly." in listed and "| Rent | 9 |" in listed
    edited = (head, where, sentence, AnswerPart("\n\nThe rent is 6,000."))
    assert not lists_passages(edited) and "The rent is 6,000." in answer_markdown(edited, None)


def test_answers_of_several_documents_are_drawn_as_a_table() -> None:
    def of(name: str, number: int, *quoted: str) -> list[AnswerPart]:
        answers = [AnswerPart(words, (number,), PartKind.VERBATIM) for words in quoted]
        return [AnswerPart(f"{name}:", kind=PartKind.NOTE), *answers]

    rest = AnswerPart("No sure answer in oak.pdf.", kind=PartKind.NOTE)
    named = [*of("ash.pdf", 1, "It ends | in May."), *of("elm.pdf", 2, "It ends in June.", "Or in July."),
             *of("fir.pdf", 3, "It ends in\nAugust.")]  # fmt: skip
    names = ("ash.pdf", "elm.pdf", "fir.pdf", "oak.pdf")
    shown = answer_markdown(tuple(separated([*named, rest])), None, names)
    rows = [
        r"| ash.pdf | It ends \| in May. :gray-badge[1] |",
        "| elm.pdf | It ends in June. :gray-badge[2] Or in July. :gray-badge[2] |",
        "| fir.pdf | It ends in August. :gray-badge[3] |",
    ]
    assert "\n".join(["| Document | Answer |", "|:--|:--|", *rows]) in shown
    assert shown.endswith("\n\nNo sure answer in oak.pdf.")
    assert "| Document |" not in answer_markdown(tuple(separated(named[:4])), None, names), "two are no table"
    assert "| Document |" not in answer_markdown(tuple(separated(named)), None, names[:2]), "fir.pdf: is a remark"
