"""Fusing, finding the document, and packing: small promises, each on values."""

import pytest

from pincite.core.domain.documents import Document, DocumentStatus, MetadataField, MetadataSource, Passage
from pincite.core.domain.search import Candidate, Reason
from pincite.core.domain.turns import Exchange
from pincite.core.questions.matching import DECISIVE_MATCH, kind_meant, match_documents, named_documents, with_capitals
from pincite.core.questions.plan import in_documents, plan_question, plans_of
from pincite.core.questions.utterances import leaning_of
from pincite.core.search.fuse import fuse_rankings
from pincite.core.search.pack import fill_budget, keep_best, to_evidence
from tests.questions.asking import plan_after


def document(name: str, **metadata: str) -> Document:
    fields = tuple(
        MetadataField(field.replace("_", " "), value, MetadataSource.PDF) for field, value in metadata.items()
    )
    return Document(name, name, 1, 10, 10, "", DocumentStatus.READY, metadata=fields)


def candidate(text: str, score: float, *, of: str = "a", page: int = 0, start: int = 0) -> Candidate:
    passage = Passage(f"{of}:{page}:{start}", of, page, str(page + 1), text, start, start + len(text))
    return Candidate(passage, {"reranked": score, "fused": score})


@pytest.mark.behaviour(
    "Ranking",
    "Rankings by words and by meaning are fused by reciprocal ranks (RRF), and the playground shows each stage.",
)
def test_fusion_prefers_what_several_rankings_agree_on() -> None:
    fused = fuse_rankings([(["a", "b", "c"], 1.0), (["b", "d"], 1.0)])
    assert [identity for identity, _ in fused] == ["b", "a", "d", "c"]
    assert fuse_rankings([(["x", "y"], 1.0), (["y", "x"], 1.0)])[0][0] == "x"
    assert fuse_rankings([(["x"], 1.0), (["y"], 3.0)])[0][0] == "y"


def test_a_name_typed_in_small_letters_gets_its_capital_and_a_common_word_none() -> None:
    opening = {
        "marrow-2023.pdf": "MARROW plc. Annual report. Marrow sold more timber. Write to info@marrow.example. "
        "The lease of the yard ends.",
        "lease.pdf": "LEASE AGREEMENT. This lease is made between Tansy and the tenant.",
    }
    library = [document(name) for name in opening]
    asked = "what were marrows sales, and what does the lease say of them?"
    read = with_capitals(asked, library, opening.__getitem__)
    assert read == "what were Marrows sales, and what does the lease say of them?"
    assert named_documents(asked, library, surely=True) == ()
    assert named_documents(read, library, surely=True) == ("marrow-2023.pdf",)
    opening["lease.pdf"] = "LEASE AGREEMENT"
    assert with_capitals(asked, library, opening.__getitem__) == read.replace("lease", "Lease"), "a file's name"
    home = [document("inspection.pdf", title="The Limes Residential Home")]
    asked = "how did residential capacity change?"
    assert with_capitals(asked, home, {"inspection.pdf": "The Limes Residential Home"}.__getitem__) == asked
    titled = [document("statement.pdf", title="REPORT PURSUANT TO SECTION 13")]
    asked = "what does the section on fees say?"
    assert with_capitals(asked, titled, {"statement.pdf": "REPORT PURSUANT TO SECTION 13"}.__getitem__) == asked


def test_a_number_in_a_files_name_is_a_name_and_a_year_is_none() -> None:
    library = [document("form 20418.pdf"), document("form 2023.pdf"), document("letter.pdf")]
    assert named_documents("What is the total of number 20418?", library) == ("form 20418.pdf",)
    assert named_documents("What was the total of 2023?", library) == ()


def test_the_named_company_and_year_come_first() -> None:
    library = [document(f"{name}.pdf") for name in ("3M_2018_10K", "3M_2016_10K", "ADOBE_2018_10K", "BESTBUY_2018_10K")]
    scores = match_documents("What was 3M's 2018 capital expenditure?", ("2018",), library)
    best, second, *rest = sorted(scores, key=lambda name: -scores[name])
    assert best == "3M_2018_10K.pdf" and scores[best] >= DECISIVE_MATCH
    assert second == "3M_2016_10K.pdf" and scores[second] < scores[best]
    assert all(scores[name] == 0 for name in rest)
    assert best_match("How many stores has Best Buy?", library) == "BESTBUY_2018_10K.pdf"


def test_a_name_is_known_with_a_slip_of_the_pen_or_cut_short() -> None:
    library = [document("NORTHWIND_2021.pdf"), document("ACTIVISIONBLIZZARD_2019.pdf"), document("contract.pdf")]
    assert best_match("What did Nortwind earn?", library) == "NORTHWIND_2021.pdf"
    assert best_match("How many games has Activision?", library) == "ACTIVISIONBLIZZARD_2019.pdf"
    assert set(match_documents("Who is the contact?", (), library).values()) == {0}


def test_scores_are_plain_floats_where_a_name_is_one_letter_off() -> None:
    library = [document(f"{name}.pdf") for name in ("NETFLIX_2021", "Harbour Estates lease", "ordinary letter")]
    for question in ("What did Netflx earn?", "What does Harbor Estates owe?"):
        scores = match_documents(question, (), library)
        assert max(scores.values()) > 0 and {type(score) for score in scores.values()} == {float}


def best_match(question: str, library: list[Document]) -> str:
    scores = match_documents(question, (), library)
    return max(scores, key=lambda name: scores[name])


def test_titles_and_authors_name_documents_too() -> None:
    library = [document("a1.pdf", title="WH-1000XM4 Help Guide"), document("b2.pdf", title="Coffee Machine Manual")]
    assert best_match("How do I descale the coffee machine?", library) == "b2.pdf"
    assert set(match_documents("What about the weather?", (), library).values()) == {0}


def test_passages_below_floor_and_duplicates_are_omitted_and_reported() -> None:
    notice = "All rights reserved by the company and its affiliates worldwide"
    ranked = [candidate(notice, 0.9), candidate(notice, 0.8, page=1), candidate("other words here", 0.7, page=2)]
    kept, left_out = keep_best([*ranked, candidate("weak", 0.3, page=3)], floor=0.6, most=10)
    assert [c.passage.page_index for c in kept] == [0, 2]
    assert left_out == ["1 passage below the score floor of 0.60", "1 passage repeating another"]


def test_targets_share_the_places() -> None:
    strong = [candidate(f"strong text number {n}", 0.9 - n / 100, of="a", page=n) for n in range(6)]
    weak = [candidate(f"weak text number {n}", 0.7 - n / 100, of="b", page=n) for n in range(6)]
    kept, _ = keep_best([*strong, *weak], floor=0.6, most=4, targets=("a", "b"))
    assert [c.passage.document_id for c in kept] == ["a", "a", "b", "b"]
    kept, _ = keep_best([*strong, *weak], floor=0.6, most=4)
    assert [c.passage.document_id for c in kept] == ["a"] * 4


def test_one_page_does_not_take_every_place() -> None:
    ranked = [candidate(f"part number {n} of one page", 0.9, start=n) for n in range(5)]
    kept, _ = keep_best([*ranked, candidate("another page", 0.7, page=1)], floor=0.6, most=3)
    assert [c.passage.page_index for c in kept] == [0, 0, 1]


@pytest.mark.behaviour(
    "Budget",
    "Evidence fits into the context budget, and the trace shows how many passages did not fit, were weak or "
    "repeated others.",
)
def test_budget_is_respected_and_omitted_passages_are_reported() -> None:
    kept = [candidate("x" * 400, 0.9), candidate("y" * 400, 0.8, page=1), candidate("z" * 400, 0.7, page=2)]
    chosen, left_out = fill_budget(kept, {}, (), context_characters=900)
    assert [item.candidate.passage.page_index for item in chosen] == [0, 1]
    assert left_out == ["1 passage (search) beyond the context budget"]
    [best], _ = fill_budget(kept, {}, (), context_characters=10)
    assert best.candidate is kept[0]


def test_evidence_has_the_strongest_at_both_ends_with_neighbours_next_to_them() -> None:
    kept = [candidate(f"text {n}", 0.9 - n / 10, page=10 * n) for n in range(4)]
    neighbours = candidate("before", 0, page=9).passage, candidate("after", 0, page=11).passage
    opening = candidate("title page", 0, of="b").passage
    chosen, _ = fill_budget(kept, {kept[1].passage.id: neighbours}, [opening], context_characters=10_000)
    evidence = to_evidence(chosen, {"a": document("A.pdf"), "b": document("B.pdf")})
    assert [item.passage.text for item in evidence] == [
        "text 0", "text 2", "title page", "text 3", "before", "text 1", "after",
    ]  # fmt: skip
    assert [item.number for item in evidence] == list(range(1, 8))
    assert {item.reason for item in evidence} == {"search", "neighbour", "opening_of_a_targeted_document"}
    assert evidence[2].document_name == "B.pdf"


@pytest.mark.behaviour(
    "Filters",
    "A company, a year or a type that is in the question narrows the search automatically.",
    but=(
        'a company or title that is named does, a year chooses among the documents of that name, and a type ("the '
        'policy", "the 2023 report") where exactly one document fits and the type of each is known; a year alone '
        "narrows nothing."
    ),
)
def test_documents_named_in_a_question_are_found_by_name_and_year() -> None:
    library = [document(f"{name}.pdf") for name in ("marrow-2023", "marrow-2024", "tansy-2023", "tansy-2024")]
    assert named_documents("What was Tansy's net income in 2023?", library) == ("tansy-2023.pdf",)
    assert named_documents("What was Marrow's revenue in 2021?", library) == ("marrow-2023.pdf", "marrow-2024.pdf")
    both = named_documents("Compare the revenue of Marrow and Tansy in 2024.", library)
    assert both == ("marrow-2024.pdf", "tansy-2024.pdf")
    assert named_documents("What was the net income in 2023?", library) == ()
    many = [*library, *(document(f"marrow-{year}.pdf") for year in range(2015, 2023))]
    assert named_documents("Compare the revenue of Marrow and Tansy in 2024.", many) == both, "most are of one name"
    grown = named_documents("By how much did Tansy's revenue grow in 2024?", library, beside=frozenset({2023}))
    assert grown == ("tansy-2023.pdf", "tansy-2024.pdf")


def test_a_word_in_another_name_calls_no_document() -> None:
    library = [document("copper-lane.pdf"), document("roadworks.pdf")]
    assert named_documents("Until when is Ferry Lane closed?", library) == ()
    assert named_documents("What does delivery cost at Copper Lane?", library) == ("copper-lane.pdf",)
    assert named_documents("What does delivery cost at Coper Lane?", library) == ("copper-lane.pdf",)


def test_what_a_name_calls_by_fewer_words_than_another_document_is_not_meant() -> None:
    library = [document("ash-hill-nursery.pdf"), document("brook-nursery.pdf"), document("fees.pdf")]
    assert named_documents("Which phone has Ash Hill Nursery?", library) == ("ash-hill-nursery.pdf",)
    assert named_documents("Which phone has Brook Nursery?", library) == ("brook-nursery.pdf",)
    both = {"ash-hill-nursery.pdf", "brook-nursery.pdf"}
    assert set(named_documents("Is Ash Hill dearer than Brook?", library)) == both
    yearly = [document("Tarn annual 2020.pdf"), document("Tarn annual 2021.pdf")]
    assert len(named_documents("What did Tarn earn?", [*yearly, *library])) == len(yearly)


def test_a_document_called_by_its_whole_name_is_named_however_common_the_word() -> None:
    library = [document("letter.pdf"), document("support-contract.pdf")]
    assert named_documents("Who signed the letter?", library) == ("letter.pdf",)
    assert named_documents("What does the support contract say?", library) == ("support-contract.pdf",)
    assert named_documents("Who signed the contract?", library) == ()
    assert named_documents("Who signed the letter?", library, surely=True) == ()
    little = [document("a.pdf"), document("report.pdf"), document("12.pdf")]
    assert named_documents("What is a berth, in the report of 12 May?", little) == ()


@pytest.mark.parametrize("surely", [False, True])
def test_whole_names_mean_no_other_document_that_shares_their_words(surely: bool) -> None:
    names = ("support-contract.pdf", "pellam-agreement.pdf", "pellam-amendment-1.pdf", "satzung.pdf")
    library = [document(name) for name in names]
    for asked in ("Compare the limit in support-contract.pdf and Pellam-agreement.pdf",
                  "Compare the limit in the support contract and the Pellam agreement"):  # fmt: skip
        assert named_documents(asked, library, surely=surely) == names[:2]
    assert named_documents("What does Pellam pay?", library) == names[1:3]


def test_a_name_with_its_ending_means_one_file_and_without_it_all_of_that_name() -> None:
    names = ("Ash Hill lease.pdf", "Ash Hill lease.docx", "Ash Hill lease (2).pdf", "other.pdf")
    library = [document(name) for name in names]
    assert named_documents("What is the rent in Ash Hill lease.docx?", library) == names[1:2]
    assert named_documents("What is the rent in the Ash Hill lease?", library) == names[:3]


@pytest.mark.parametrize("surely", [False, True])
@pytest.mark.parametrize(
    ("common", "proper", "asked"),
    [("notice period.pdf", "Acme.pdf", "What is the notice period of Acme?"),
     ("service agreement.pdf", "Acme consulting.pdf", "Which service agreement does Acme have?"),
     ("terms and conditions.pdf", "Acme delivery.pdf", "what are the terms and conditions of delivery for Acme?")],
)  # fmt: skip
def test_common_words_name_no_document_beside_a_name(common: str, proper: str, asked: str, surely: bool) -> None:
    library = [document(name) for name in (common, proper, "letter.pdf", "Birch.pdf", "Corvane.pdf")]
    assert named_documents(asked, library, surely=surely) == (proper,)


def test_a_year_does_not_leave_out_what_an_amendment_amends() -> None:
    others = [document(f"letter{number}.pdf") for number in range(5)]
    family = [document("pellam-agreement.pdf", year="2024"), document("pellam-amendment.pdf", year="2026", amends="it")]
    assert len(named_documents("What is the fee of Pellam since March 2026?", [*family, *others])) == 2
    reports = [document("orlan-a.pdf", year="2024"), document("orlan-b.pdf", year="2026")]
    assert named_documents("What is the profit of Orlan in 2026?", [*reports, *others]) == ("orlan-b.pdf",)


def test_a_name_is_one_whether_its_accents_are_letters_or_marks() -> None:
    library = [document("Geb\u0075\u0308hren K\u006f\u0308ln.pdf"), document("letter.pdf")]
    assert named_documents("What does a stall cost in K\u00f6ln?", library) == (library[0].id,)


def asked_of(
    question: str, library: list[Document], targets: tuple[str, ...] = ()
) -> list[tuple[str, tuple[str, ...], str]]:
    plan = in_documents(plan_question(question, leaning=leaning_of), library, targets=targets, leaning=leaning_of)
    return [(piece.asked, piece.query.document_ids, piece.name) for piece in plan.pieces]


PRICES = [document(f"{name}.pdf") for name in ("laundry-hilltop", "laundry-harbour", "tram lines")]


def test_a_question_of_documents_that_it_names_apart_is_asked_of_each_in_its_order() -> None:
    both = "What does ironing cost at Harbour and at Hilltop?"
    assert asked_of(both, PRICES) == [
        (both, ("laundry-harbour.pdf",), "laundry-harbour.pdf"),
        (both, ("laundry-hilltop.pdf",), "laundry-hilltop.pdf"),
    ]
    assert asked_of("What does ironing cost at the laundry?", PRICES) == [], "one name for both distinguishes nothing"
    assert asked_of("What does ironing cost at Harbour?", PRICES) == []
    before = [Exchange("", "What does ironing cost at Harbour?", "Two euros.")]
    followed = plan_after("Is it cheaper there, at Hilltop?", before)
    assert "Harbour" in followed.standalone_question and not in_documents(followed, PRICES).pieces


def test_reports_of_one_company_are_asked_together_and_of_the_period_that_is_named() -> None:
    library = [document(f"{name}.pdf") for name in ("orlan-q2", "orlan-q3", "bexton-q2", "bexton-q3")]
    both = "Compare the revenue of Bexton and Orlan"
    assert [(of, name) for _, of, name in asked_of(both, library)] == [
        (("bexton-q2.pdf", "bexton-q3.pdf"), "bexton-q2.pdf, bexton-q3.pdf"),
        (("orlan-q2.pdf", "orlan-q3.pdf"), "orlan-q2.pdf, orlan-q3.pdf"),
    ]
    of_q2 = [of for _, of, _ in asked_of(f"{both} in Q2 2025", library)]
    assert of_q2 == [("bexton-q2.pdf",), ("orlan-q2.pdf",)]


def test_each_part_is_asked_of_the_document_that_it_names_and_a_bare_name_is_asked_what_was_asked_first() -> None:
    first, second = asked_of("What does ironing cost at Harbour, and when do the Tram Lines run?", PRICES)
    assert first == ("What does ironing cost at Harbour", ("laundry-harbour.pdf",), "")
    assert second == ("when do the Tram Lines run?", ("tram lines.pdf",), "")
    first, second = asked_of("What does ironing cost at Harbour, and what at Hilltop?", PRICES)
    assert second == (first[0], ("laundry-hilltop.pdf",), "laundry-hilltop.pdf") and first[2] == "laundry-harbour.pdf"
    first, second = asked_of("What does ironing cost at Harbour and what does it cost at Hilltop?", PRICES)
    assert second == (first[0], ("laundry-hilltop.pdf",), "laundry-hilltop.pdf")
    assert (
        asked_of("What does Harbour cost and what do the Tram Lines cost?", PRICES)[1][0]
        == "what do the Tram Lines cost?"
    )
    assert (
        asked_of("What does ironing cost at Harbour and what is lost at Hilltop?", PRICES)[1][0]
        == "what is lost at Hilltop?"
    )


def test_what_several_mentioned_documents_say_is_asked_of_each() -> None:
    targets = ("laundry-harbour.pdf", "tram lines.pdf")
    assert [of for _, of, _ in asked_of("Who wrote them?", PRICES, targets)] == [(one,) for one in targets]
    assert plans_of(plan_question("Who wrote them?"))[0].document_ids == ()


def test_a_part_that_names_no_document_is_asked_of_those_before_it() -> None:
    first, second = asked_of("What does ironing cost at Harbour? Who is the owner?", PRICES)
    assert first[1] == second[1] == ("laundry-harbour.pdf",) and second[0] == "Who is the owner?"
    mentioned = asked_of(
        "What is the rent? What do the Tram Lines cost?", PRICES, ("tram lines.pdf", "laundry-hilltop.pdf")
    )
    assert ("What do the Tram Lines cost?", ("tram lines.pdf",), "") in mentioned, (
        "it names one, and asks something else"
    )
    planned = in_documents(plan_question("Who pays? Who signs?"), PRICES, targets=("gone",))
    assert {piece.query.document_ids for piece in planned.pieces} == {("gone",)}, "never all documents instead"
    years = plan_question("What was revenue in 2021 and what was profit?")
    assert [one.time_ranges for one in plans_of(years)] == [("2021",), ("2021",)]


@pytest.mark.behaviour(
    "Filters",
    "A document that is named, mentioned or chosen alone brings its first three passages along, with a fifth of"
    " the room.",
)
def test_openings_get_their_share_when_the_budget_is_full() -> None:
    kept = [candidate("x" * 900, 0.9, page=place) for place in range(6)]
    openings = [candidate("y" * 300, 0, of="b", start=place).passage for place in range(3)]
    chosen, left = fill_budget(kept, {}, openings, context_characters=5_000)
    reasons = [item.reason for item in chosen]
    assert reasons.count(Reason.OPENING) == 3 and reasons.count(Reason.SEARCH) == 4
    assert sum(len(item.candidate.passage.text) for item in chosen) <= 5_000 and "2 passages (search)" in left[0]


def test_a_type_and_a_year_mean_the_one_document_that_fits() -> None:
    kinds = {"a.pdf": ("annual report", "2022"), "b.pdf": ("annual report", "2023"), "c.pdf": ("policy", "2023")}
    library = [document(name, document_type=kind, year=year) for name, (kind, year) in kinds.items()]
    assert kind_meant("What does the policy say about remote work?", library) == ("c.pdf",)
    assert kind_meant("What was the revenue in the 2023 report?", library) == ("b.pdf",)
    assert kind_meant("What was the revenue according to the report?", library) == (), "there are two"
    assert kind_meant("What was the revenue in 2023?", library) == ()
    assert kind_meant("What is the policy number of the insurer?", library) == (), "it belongs to the number"
    odd = [document("x.pdf", document_type="—"), document("y.pdf", document_type="Other"), *library]
    assert kind_meant("What does the other one say?", odd) == ()
    assert kind_meant("What does the policy say?", [*library, document("d.pdf")]) == (), "one is of no known type"
    assert kind_meant("What does the policy say?", library[2:]) == (), "there is nothing to narrow"
