"""The judge's promises: a mark per claim, citations that must hold, and caps no critic can lift."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pincite.core.domain.answers import AnswerPart, ClaimStatus, PartKind, Score, Verdict
from pincite.core.domain.documents import Passage
from pincite.core.domain.search import Evidence
from pincite.core.judge.judge import CAP_CONTRADICTION, CAP_INVALID_CITATION, AnswerFindings, at_most
from pincite.core.judge.judge import judge_answer as judge_parts
from pincite.core.judge.verdict import verdict_of
from pincite.core.text.marks import read_marks

LEASE = "The tenant shall pay the rent of 900 euros on the first of each month. The tenant may keep one cat."
REPORT = "Sales rose to 48 million in 2020. The company employs 310 people in Basel."


def judge_answer(
    question: str, typed: str, sources: Sequence[str], *, citations_expected: bool = False
) -> AnswerFindings:
    return judge_parts(question, read_marks(typed)[0], sources, citations_expected=citations_expected)


def verdict(typed: str, page: str) -> Verdict:
    """Return the verdict on a draft with one whole page as evidence."""
    evidence = [Evidence(1, Passage("p", "d", 0, "1", page, 0, len(page)), "lease.pdf")]
    parts = read_marks(typed)[0]
    return verdict_of("", parts, evidence, removed_markers=0, page_text=lambda *_: page, threshold=0.65)


def statuses(answer: str, *sources: str) -> list[ClaimStatus]:
    return [claim.status for claim in judge_answer("What does it say?", answer, sources).claims]


def test_claim_found_in_the_cited_source_is_supported_and_quoted() -> None:
    findings = judge_answer("What is the rent?", "The tenant shall pay the rent of 900 euros [1].", [LEASE, REPORT])
    (claim,) = findings.claims
    assert claim.status is ClaimStatus.SUPPORTED
    assert findings.citation_validity.value == 1.0
    (shown,) = verdict("The tenant shall pay the rent of 900 euros [1].", LEASE).claims
    assert shown.quotation is not None and shown.quotation.quotation.startswith("The tenant shall pay the rent")


@pytest.mark.behaviour(
    "Evaluator",
    "Each claim of an answer is supported, to be checked, unsupported, contradicted or not checked by meaning, "
    "with a reason and, where one was found, the quotation.",
)
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("The tenant shall pay the rent of 950 euros on the first of each month [1].", ClaimStatus.CONTRADICTED),
        ("The tenant may pay the rent of 900 euros on the first of each month [1].", ClaimStatus.PARTLY_SUPPORTED),
        ("Sales rose to 48 million in 2019 [2].", ClaimStatus.CONTRADICTED),
        ("The landlord lives in Geneva with two dogs and collects antique clocks [1].", ClaimStatus.UNSUPPORTED),
        ("Sales rose to 48 million in 2020 [1].", ClaimStatus.UNSUPPORTED),
        ("Sales rose to 48 million in 2020 [7].", ClaimStatus.UNSUPPORTED),
    ],
)
def test_each_claim_gets_the_status_that_its_citation_earns(answer: str, status: ClaimStatus) -> None:
    assert statuses(answer, LEASE, REPORT) == [status]


def test_a_true_sentence_cited_to_the_wrong_page_names_the_right_one() -> None:
    findings = judge_answer("How many people?", "The company employs 310 people in Basel [1].", [LEASE, REPORT])
    assert "[2]" in findings.claims[0].reason and "[1]" in findings.claims[0].reason
    assert findings.citation_validity.value < 1.0


def test_a_sentence_quoted_word_for_word_is_supported_whatever_its_words() -> None:
    source = "A head\nNot one of the 17 Xylo-\nphone players may, or shall, rise above €5 or fall below 3 %. More text."
    answer = "Not one of the 17 Xylophone players may, or shall, rise above €5 or fall below 3 %. [1]"
    assert statuses(answer, source, LEASE) == [ClaimStatus.SUPPORTED]


def test_what_is_copied_is_not_doubted_however_long_it_is() -> None:
    rows = "\n".join(
        f"Model {number} + Step (ours)\t{number}.4% (0.{number}%)\t7{number}.9% (1.{number}%)" for number in range(9)
    )
    source = f"{LEASE}\n{rows}\nsolving this task?”. {REPORT}"
    whole, short = (AnswerPart(text, (1,), PartKind.VERBATIM) for text in (source, LEASE))
    sure = [judge_parts("What does it say?", [part], [source]).confidence for part in (whole, short)]
    assert sure[0] == sure[1] > 0.9
    prose = replace(whole, kind=PartKind.PROSE)
    assert judge_parts("What does it say?", [prose], [source]).confidence < sure[0]


def test_an_invented_citation_number_is_counted_and_caps_faithfulness() -> None:
    answer = "The tenant may keep one cat [1]. The rent is 900 euros [9]."
    findings = judge_answer("What may the tenant keep?", answer, [LEASE])
    assert findings.citation_validity.reason == "[9] points to nothing"
    assert findings.faithfulness.value <= CAP_INVALID_CITATION


@pytest.mark.behaviour(
    "Evaluator", "If the score for faithfulness or for citations is capped, the cap and its value are reported."
)
def test_cap_is_reported_with_the_original_score() -> None:
    assert at_most(0.5, Score(0.83, "2 checked")) == Score(0.5, "2 checked (at most 50% then; it was 83%)")
    assert at_most(0.5, Score(0.4, "2 checked"), "[9] points to nothing") == Score(0.4, "[9] points to nothing")


def test_a_contradiction_caps_faithfulness_however_much_else_is_right() -> None:
    answer = LEASE + " Sales rose to 48 million in 2020. Sales rose to 84 million in 2020."
    findings = judge_answer("What?", answer, [LEASE, REPORT])
    assert ClaimStatus.CONTRADICTED in [claim.status for claim in findings.claims]
    assert findings.faithfulness.value <= CAP_CONTRADICTION


def test_sentences_without_a_citation_cost_in_proportion() -> None:
    cited, uncited = "The tenant may keep one cat [1].", "The tenant may keep one cat."
    values = [
        judge_answer("", f"{first} {second}", [LEASE], citations_expected=True).faithfulness.value
        for first, second in ((cited, cited), (cited, uncited), (uncited, uncited))
    ]
    assert values[0] > values[1] > values[2]
    assert values[0] - values[1] == pytest.approx(values[1] - values[2])


def test_saying_that_the_documents_do_not_say_is_no_failure_of_faith() -> None:
    findings = judge_answer("Who is the landlord?", "The documents do not say who the landlord is.", [LEASE])
    assert findings.declined and findings.claims == ()
    assert findings.faithfulness.value == 1.0
    assert findings.completeness.value == 0.0


def test_a_part_of_the_question_left_open_is_named() -> None:
    question = "What is the monthly rent and who repairs the boiler?"
    findings = judge_answer(question, "The monthly rent is 900 euros [1].", [LEASE])
    assert findings.gaps == ("who repairs the boiler",)
    assert findings.completeness.value == 0.5


def test_a_faithful_answer_is_believed_more_than_an_invented_one() -> None:
    sources = [LEASE, REPORT]
    faithful = judge_answer("What about sales?", "Sales rose to 48 million in 2020.", sources)
    invented = judge_answer(
        "What about sales?",
        "Analysts praised the visionary chief Miller, whose African expansion doubled turnover to 96 million.",
        sources,
    )
    assert faithful.confidence > 0.65 > invented.confidence


FILLER = (
    " It is important to keep this in mind. There are many things to consider in such matters."
    " Overall, this shows how relevant the topic is. In general, each case is different."
)
ELSEWHERE = (
    "The orchid house of the botanical garden was rebuilt after the storm. It is open to the public from spring to "
    "autumn, and its staff offers tours of the collection in several languages. Tickets are sold at the gate."
)


@pytest.mark.parametrize(
    "answer",
    [
        "The tenant shall pay the rent of 900 euros on the first of each month.",
        "The landlord repairs the heating within a week of notice.",
        "Sales rose to 48 million in 2020, and the board praised the new chief for it.",
        "The tenant may keep one cat. The landlord must approve any other animal in writing.",
    ],
)
def test_neither_filler_nor_a_passage_on_something_else_raises_the_confidence(answer: str) -> None:
    plain = judge_answer("What are the terms?", answer, [LEASE, REPORT]).confidence
    filled = judge_answer("What are the terms?", answer + FILLER, [LEASE, REPORT]).confidence
    elsewhere = judge_answer("What are the terms?", answer, [LEASE, REPORT, ELSEWHERE]).confidence
    both = judge_answer("What are the terms?", answer + FILLER, [LEASE, REPORT, ELSEWHERE]).confidence
    assert max(filled, elsewhere, both) <= plain + 0.02


@pytest.mark.parametrize("answer", ["", "   ", "Hello!", "[1]", "| |\n|-|", "\u0000\ufffd", "¿?"])
def test_an_answer_without_claims_is_judged_without_an_error(answer: str) -> None:
    findings = judge_answer("", answer, [])
    assert findings.claims == () and 0.0 <= findings.confidence <= 1.0


def test_an_answer_without_any_source_is_unsupported() -> None:
    findings = judge_answer("Who won?", "Red Star Belgrade won the 1991 European Cup in Bari.", [])
    assert [claim.status for claim in findings.claims] == [ClaimStatus.UNSUPPORTED]
    assert findings.confidence < 0.5


@pytest.mark.parametrize(
    "source",
    ["It is not true that overdue amounts bear interest at 1.5 % per month.",
     "Never do overdue amounts bear interest at 1.5 % per month."],
)  # fmt: skip
def test_words_taken_from_a_sentence_that_negates_them_are_not_supported(source: str) -> None:
    assert statuses("overdue amounts bear interest at 1.5 % per month [1]", source) != [ClaimStatus.SUPPORTED]


def test_words_that_a_sentence_only_goes_on_from_stay_supported() -> None:
    source = "7.3 Late payment. Overdue amounts bear interest at 1.5 % per month from the due date."
    assert statuses("Overdue amounts bear interest at 1.5 % per month. [1]", source) == [ClaimStatus.SUPPORTED]


def test_prose_is_never_surer_than_that_its_evidence_answers() -> None:
    evidence = [Evidence(1, Passage("p", "d", 0, "1", LEASE, 0, len(LEASE)), "lease.pdf")]
    parts = read_marks("The tenant shall pay the rent of 900 euros on the first of each month [1].")[0]
    declines = read_marks("The documents do not say who the landlord is.")[0]

    def confidence(answer: Sequence[AnswerPart], answered: float | None, read: float | None = None) -> float:
        known: dict[str, Any] = {"answered": answered, "read": read}
        return verdict_of(
            "", answer, evidence, removed_markers=0, page_text=lambda *_: LEASE, threshold=0.65, **known
        ).confidence

    assert confidence(parts, 0.2) == 0.2 < confidence(parts, 0.99) <= confidence(parts, None)
    assert confidence(parts, 0.8, 0.2) == pytest.approx(0.4), "what code finds hard to read, a model does too"
    assert confidence(declines, 0.2, 0.1) == 0.8 and confidence(declines, None) == 0.5


def test_engine_probability_is_the_confidence_when_its_claims_are_supported() -> None:
    evidence = [Evidence(1, Passage("p", "d", 0, "1", LEASE, 0, len(LEASE)), "lease.pdf")]

    def confidence(text: str) -> float:
        part = AnswerPart(text, (1,), PartKind.HEADLINE, probability=0.97)
        return verdict_of(
            "", [part], evidence, removed_markers=0, page_text=lambda *_: LEASE, threshold=0.65
        ).confidence

    assert confidence("900 euros") == 0.97 > confidence("950 euros")


def test_decline_that_quotes_the_closest_text_stays_a_decline() -> None:
    evidence = [Evidence(1, Passage("p", "d", 0, "1", LEASE, 0, len(LEASE)), "lease.pdf")]
    parts = [
        AnswerPart("I found no answer.", kind=PartKind.DECLINE, probability=0.7),
        AnswerPart("The tenant may keep one cat.", (1,), PartKind.VERBATIM),
    ]
    judged = verdict_of("", parts, evidence, removed_markers=0, page_text=lambda *_: LEASE, threshold=0.65)
    assert judged.declined and judged.confidence == 0.7 and not judged.claims
