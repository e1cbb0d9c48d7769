"""The retriever on real indexes: it finds, names the source, obeys scope, floor and budget, and is repeatable."""

from pathlib import Path
from typing import Any

import pytest

from pincite.core.domain.search import Candidate, SearchResult
from pincite.core.domain.settings import Settings
from pincite.core.models.rank_features import FEATURES
from pincite.core.models.rerank import BuiltInReranker
from pincite.core.questions.plan import plan_question
from tests.search.shelf import Search, id_of, make_retriever

STATEMENTS = [
    "# Annual Report\nThis report describes the business of the company, its stores and its people.",
    "# Risk Factors\nDemand may fall. Competition for staff is strong. Weather may close stores.",
    "# CONSOLIDATED BALANCE SHEETS\n| Total current assets 9,500 8,800\n| Accounts payable 2,100 1,900\n"
    "| Total current liabilities 5,400 5,100\n| Total assets 21,000 20,100",
    "# CONSOLIDATED STATEMENTS OF CASH FLOWS\n| Net cash provided by operating activities 3,300 3,050\n"
    "| Purchases of property and equipment (810) (775)",
    "# Notes\nThe company leases most of its stores. Leases run for ten years with options to renew.",
]
DOCUMENTS = {
    "NORTHWIND_2021_10K.pdf": STATEMENTS,
    "NORTHWIND_2019_10K.pdf": [text.replace("9,500", "7,700").replace("810", "640") for text in STATEMENTS],
    "SOUTHGATE_2021_10K.pdf": [text.replace("9,500", "4,100").replace("810", "333") for text in STATEMENTS],
    "coffee_manual.pdf": [
        "# Cleaning\nDescale the machine every month with the tablets.",
        "# Faults\nError 189 means that the steam boiler is empty. Refill the tank and switch the machine on again.",
        "# Service\nCall the service line on weekdays.",
    ],
}


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> Search:
    made, _ = make_retriever(tmp_path_factory.mktemp("library"), DOCUMENTS)
    return made


def search(retriever: Search, question: str, *names: str, characters: int = 6000) -> SearchResult:
    scope = [id_of(name) for name in names]
    return retriever.search(plan_question(question), context_characters=characters, scope=scope)


def places(result: SearchResult, stage: str = "packed") -> list[tuple[str, int]]:
    return [(c.passage.document_id, c.passage.page_index) for c in result.rankings[stage]]


def test_the_fault_is_found_by_its_number(retriever: Search) -> None:
    assert places(search(retriever, "What does error 189 mean?"))[0] == (id_of("coffee_manual.pdf"), 1)


def test_words_missing_from_the_searched_documents_are_reported(retriever: Search) -> None:
    asked = "Which tablets descale the moped?"
    assert search(retriever, asked).absent == ("moped",)
    assert search(retriever, asked, "NORTHWIND_2021_10K.pdf").absent == ("tablets", "descale", "moped")


def test_ratio_is_looked_up_on_the_pages_with_its_parts(retriever: Search) -> None:
    found = places(search(retriever, "What is the FY2021 operating cash flow ratio?", "NORTHWIND_2021_10K.pdf"))
    assert {page for _, page in found[:2]} == {2, 3}


def test_the_document_that_the_question_names_comes_first(retriever: Search) -> None:
    found = places(search(retriever, "What was Northwind's capital expenditure in 2021?"))
    assert found[0] == (id_of("NORTHWIND_2021_10K.pdf"), 3)


def test_nothing_comes_from_outside_the_scope(retriever: Search) -> None:
    result = search(retriever, "What does error 189 mean?", "SOUTHGATE_2021_10K.pdf")
    for stage in result.rankings:
        assert {document for document, _ in places(result, stage)} <= {id_of("SOUTHGATE_2021_10K.pdf")}
    assert search(retriever, "Anything?", "removed.pdf").notes == ("None of the chosen documents is in the library.",)


def test_a_page_that_the_question_names_is_a_candidate(retriever: Search) -> None:
    result = search(retriever, "What is said on page 5?", "NORTHWIND_2021_10K.pdf")
    assert places(result, "reranked")[0][1] == 4


@pytest.mark.behaviour("Enough?", "Passages that score below a floor are not used for an answer.")
def test_evidence_obeys_floor_and_budget_and_shows_its_scores(retriever: Search) -> None:
    result = search(retriever, "What does error 189 mean?", characters=300)
    searched = [item for item in result.evidence if item.reason == "search"]
    assert all(item.scores["reranked"] >= result.score_floor for item in searched)
    assert sum(len(item.passage.text) for item in result.evidence) <= 300
    assert {"keyword", "dense", "fused", "reranked"} <= set(searched[0].scores)
    assert set(FEATURES) <= set(result.rankings["reranked"][0].scores)
    assert result.reranker == "built-in" and result.left_out


def test_neighbours_surround_what_was_found(retriever: Search) -> None:
    result = search(retriever, "What does error 189 mean?", "coffee_manual.pdf")
    texts = [item.passage.text.split("\n")[0] for item in result.evidence]
    at = texts.index("Faults")
    assert {item.reason for item in result.evidence} >= {"search"}
    assert set(texts[:at] + texts[at + 1 :]) >= {"Cleaning", "Service"}


def test_a_targeted_document_opens_the_evidence_for_its_question(retriever: Search) -> None:
    from dataclasses import replace

    plan = replace(plan_question("How long do leases run?"), document_ids=(id_of("NORTHWIND_2019_10K.pdf"),))
    result = retriever.search(plan, context_characters=6000)
    assert "opening_of_a_targeted_document" in {item.reason for item in result.evidence}


@pytest.mark.behaviour("Enough?", "A retry looks wider and looser than the try before, and for what was found missing.")
def test_every_retry_is_looser_than_the_one_before(tmp_path: Path) -> None:
    retriever, _ = make_retriever(tmp_path, {"coffee_manual.pdf": DOCUMENTS["coffee_manual.pdf"]})
    first, second, third = (
        retriever.search(plan_question("Is tea served?", attempt=attempt), context_characters=6000)
        for attempt in range(3)
    )
    assert third.score_floor < second.score_floor < first.score_floor
    assert len(third.evidence) >= len(second.evidence) >= len(first.evidence)


class Stern(BuiltInReranker):
    """Gives every passage a hundredth of the built-in score, and states the calibration of that score."""

    name = "stern"
    floors = (0.006, 0.0055)

    def rate(self, *given: Any) -> list[Candidate]:
        return [candidate.scored(reranked=candidate.scores["reranked"] / 100) for candidate in super().rate(*given)]


def test_each_reranker_uses_its_own_floor(tmp_path: Path) -> None:
    documents = {"coffee_manual.pdf": DOCUMENTS["coffee_manual.pdf"]}
    plan = plan_question("What does error 189 mean?")
    built_in = make_retriever(tmp_path / "one", documents)[0].search(plan, context_characters=6000)
    stern = make_retriever(tmp_path / "two", documents, reranker=Stern())[0].search(plan, context_characters=6000)
    assert stern.score_floor == 0.006 and stern.evidence
    assert [e.passage for e in stern.evidence] == [e.passage for e in built_in.evidence]


def test_no_passage_above_the_floor_gives_empty_evidence(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, score_floor=1.0)
    retriever, _ = make_retriever(tmp_path, {"coffee_manual.pdf": DOCUMENTS["coffee_manual.pdf"]}, settings=settings)
    result = retriever.search(plan_question("What does error 189 mean?"), context_characters=6000)
    assert result.evidence == () and result.rankings["reranked"]


def test_the_same_question_gets_the_same_ranking(retriever: Search) -> None:
    first, second = (search(retriever, "How long do the leases of the stores run?") for _ in range(2))
    assert first.rankings["reranked"] == second.rankings["reranked"]
    assert first.evidence == second.evidence


def test_other_scripts_are_found_by_keyword(tmp_path: Path) -> None:
    pages = [
        "保修期为两年。退货需要收据。",
        "Гарантия действует два года с даты покупки.",
        "الضمان سنتان من تاريخ الشراء.",
    ]
    retriever, _ = make_retriever(
        tmp_path, {"warranty.pdf": pages, "coffee_manual.pdf": DOCUMENTS["coffee_manual.pdf"]}
    )
    for question, page in (("保修期多长?", 0), ("Какова гарантия?", 1), ("كم مدة الضمان؟", 2)):
        found = retriever.search(plan_question(question), context_characters=6000)
        assert places(found, "keyword")[0] == (id_of("warranty.pdf"), page)


def test_a_printed_page_number_goes_before_the_position_and_both_are_searched(tmp_path: Path) -> None:
    pages = [f"The boiler of model {name} is filled by hand every morning." for name in "ABCDE"]
    retriever, _ = make_retriever(tmp_path, {"manual.pdf": pages}, labels=("i", "ii", "1", "2", "3"))
    result = search(retriever, "What does page 3 of the manual say of the boiler?", "manual.pdf")
    fused = [candidate.passage.page_index for candidate in result.rankings["fused"]]
    assert fused[:2] == [4, 2]
    assert any("page 5 of manual.pdf" in notice for notice in result.notices)
    roman = search(retriever, "What does page ii say of the boiler?", "manual.pdf")
    assert roman.rankings["fused"][0].passage.page_index == 1 and not roman.notices


def test_a_question_in_english_finds_its_page_in_another_language(tmp_path: Path) -> None:
    texts = [
        "Die Fähre zur Insel braucht bei ruhiger See dreieinhalb Stunden.",
        "Mieter müssen drei Monate vor dem Auszug kündigen.",
        "Das Dach des Rathauses ist mit Kupfer gedeckt.",
    ]
    settings = Settings(data_dir=tmp_path, embedding_model="e5")
    retriever, _ = make_retriever(tmp_path, {"a.pdf": texts}, settings=settings)
    for question, page_index in (("How long is the notice period for tenants?", 1), ("What covers the town hall?", 2)):
        result = retriever.search(plan_question(question), context_characters=12_000)
        assert result.rankings["packed"][0].passage.page_index == page_index
        gap = result.rankings["dense"][0].scores["dense"] - result.rankings["dense"][-1].scores["dense"]
        assert gap > 0.2, "cosines of both embedders are spread alike"
