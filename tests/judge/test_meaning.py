"""The trained checker decides what a claim in other words means, and without it nothing is called supported."""

from collections.abc import Sequence

import pytest

from pincite.core.domain.answers import AnswerPart, Claim, ClaimStatus, Verdict
from pincite.core.domain.documents import Passage
from pincite.core.domain.search import Evidence
from pincite.core.judge import features
from pincite.core.judge.citations import cite, read_typed
from pincite.core.judge.claims import extract_claims
from pincite.core.judge.features import LIKELY
from pincite.core.judge.judge import judge_answer
from pincite.core.judge.sources import MAX_STRETCHES, STRETCH_WORDS, Sources
from pincite.core.judge.verdict import verdict_of
from pincite.core.text.checker import Meaning, installed_checker
from pincite.core.text.marks import read_marks
from pincite.core.text.terms import content_terms

REFUND = "The contract provides for a refund within 30 days of the purchase."
SUSPENSION = "The Provider may suspend the Services after giving the Customer five business days' notice in writing."
DEPOSIT = "The Landlord shall pay the Tenant interest of 2 % a year on the deposit."
FEE = "The annual fee is £40. It is payable in advance on 1 January of each year."
BOILER = "The boiler is inspected every autumn by the technician of the house."


def judged(claim: str, passage: str) -> Verdict:
    """The verdict on a draft of one claim that cites its passage."""
    evidence = [Evidence(1, Passage("p", "d", 0, "1", passage, 0, len(passage)), "contract.pdf")]
    parts, removed = read_typed(f"{claim} [1].", evidence)
    cited = cite(parts, evidence, lambda *_: passage)
    return verdict_of("", cited.parts, evidence, removed_markers=removed, page_text=lambda *_: passage, threshold=0.65)


def claims(verdict: Verdict) -> Sequence[Claim]:
    assert verdict.claims
    return verdict.claims


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The contract does not provide for a refund", REFUND),
        ("Smoking is allowed in the flat", "Smoking is not allowed in the flat or in the common parts."),
        ("The Provider may suspend the Services at once without any notice", SUSPENSION),
        ("The Tenant shall pay the Landlord interest of 2 % a year on the deposit", DEPOSIT),
        ("The fee is waived for the first year", FEE),
        ("The boiler is inspected by an outside insurer", BOILER),
        ("The tenant shall insure the premises", "The tenant may insure the premises."),
        ("The tenant may sublet the premises", "The tenant may not sublet the premises."),
        ("Operating costs increased sharply", "Operating costs decreased sharply."),
        ("The document does not include a warranty", "The seller gives a warranty of two years on all parts."),
        ("The length is 5 million", "The length is 5 mm."),
        ("Notice is 30 business days", "Notice is 30 days."),
        ("The fee is $500", "The fee is A$500."),
    ],
)
def test_a_false_claim_in_other_words_is_not_shown_as_supported(claim: str, passage: str) -> None:
    verdict = judged(claim, passage)
    assert ClaimStatus.SUPPORTED not in [one.status for one in claims(verdict)]


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("User names have 4–30 characters", "User names must have 4 – 30 characters."),
        ("The team has an 8-4 record", "The team finished the season 8–4."),
        ("Avoid putting the device in water", "Do not put the device in water."),
        (
            "The serial number doesn't match the label",
            "The name on the box matches the form. The serial number does not match the label.",
        ),
        ("Choose a location near the window", "Select the location near the window."),
        ("The notice period is 60 days", "The notice period is sixty (60) days."),
        ("The contract provides for a refund", REFUND),
    ],
)
def test_a_true_claim_in_other_words_is_not_called_contradicted(claim: str, passage: str) -> None:
    assert ClaimStatus.CONTRADICTED not in [one.status for one in claims(judged(claim, passage))]


def test_a_contradicted_claim_carries_the_words_that_contradict_it() -> None:
    (claim,) = claims(judged("The contract does not provide for a refund", f"{FEE} {REFUND}"))
    assert claim.status is ClaimStatus.CONTRADICTED
    assert claim.quotation is not None and "provides for a refund" in claim.quotation.quotation


def test_statement_that_something_is_absent_is_a_separate_claim() -> None:
    verdict = judged("The fee is £40 a year, but the document does not say who owns the building", FEE)
    fee, owner = claims(verdict)
    assert fee.citations and fee.quotation is not None
    assert owner.status is ClaimStatus.SEARCHED and owner.quotation is None


def test_without_a_checker_prose_is_found_but_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "installed_checker", lambda: None)
    (claim,) = claims(judged("On 1 January of each year the annual fee is payable in advance", FEE))
    assert claim.status is ClaimStatus.NOT_CHECKED
    _, absent = claims(judged("The annual fee is £40, but the document does not say who owns the building", FEE))
    assert absent.status is ClaimStatus.NOT_CHECKED
    (copied,) = claims(judged("The annual fee is £40", FEE))
    assert copied.status is ClaimStatus.SUPPORTED


def test_every_part_in_a_long_claim_must_be_supported() -> None:
    checker = installed_checker()
    assert checker is not None
    long = f"{BOILER} {FEE} {SUSPENSION} {REFUND} {DEPOSIT}"
    invented = (
        "Nobody may enter the cellar at night. The garden belongs to the neighbour, who keeps eleven hens there. " * 4
    )
    assert checker.check(f"{long} {invented}", [long]).supported < LIKELY < checker.check(long, [long]).supported
    assert checker.check("Anything", []) == Meaning(0.0, 0.0)


def test_checker_reads_the_stretches_closest_to_a_claim() -> None:
    filler = [
        f"Paragraph {number} of the house rules concerns bicycles and prams in hall {number}." for number in range(80)
    ]
    sources = Sources.of([" ".join([*filler[:40], REFUND, *filler[40:]]), FEE])
    stretches = sources.stretches(frozenset(content_terms("a refund for the purchase")))
    assert REFUND in stretches[0]
    assert len(stretches) <= MAX_STRETCHES + 1
    assert all(len(one.split()) <= 2 * STRETCH_WORDS for one in stretches)
    assert any(REFUND in one and "£40" in one for one in stretches), "two sources are also read together"


def test_table_row_is_read_with_its_headers() -> None:
    rows = "\n".join(f"Item {number} {number}.5 {number}.7" for number in range(1, 31))
    table = f"Results in million euros 2023 2022\n{rows}\nNet income 180 175"
    (stretch, *_) = Sources.of([table]).stretches(frozenset(content_terms("net income")))
    assert stretch.startswith("Results in million euros 2023 2022") and stretch.endswith("Net income 180 175")


@pytest.mark.parametrize(
    "decline", ["{}", "{}, but the garden has a wooden fence", "The garden has a wooden fence, but {}"]
)
def test_allegedly_absent_content_is_searched_in_every_passage(decline: str) -> None:
    answer = decline.format("the documents do not say who pays the deposit")
    sources = ["The garden has a wooden fence.", "The tenant pays the deposit of 900 euros when the lease is signed."]
    parts = read_marks(f"{answer[0].upper()}{answer[1:]} [1].")[0]
    findings = judge_answer("", parts, sources)
    assert not findings.declined
    assert ClaimStatus.CONTRADICTED in [one.status for one in findings.claims if one.claim.absent]


def test_negation_copied_from_the_evidence_is_an_ordinary_claim() -> None:
    source = "The tenant is not required to provide information to the landlord."
    findings = judge_answer("", (AnswerPart(source, (1,)),), [source])
    assert not findings.declined and [one.status for one in findings.claims] == [ClaimStatus.SUPPORTED]


def test_a_long_claim_is_read_in_even_parts() -> None:
    checker = installed_checker()
    assert checker is not None
    sentences = f"{BOILER} {FEE} {SUSPENSION} {REFUND} {DEPOSIT}".split(". ")
    for count in range(1, len(sentences) + 1):
        claim = ". ".join(sentences[:count])
        assert checker.check(claim, [f"{BOILER} {FEE} {SUSPENSION} {REFUND} {DEPOSIT}"]).contradicted < LIKELY


def test_a_claim_in_another_language_than_its_page_is_quoted_by_its_meaning() -> None:
    page = "Die Wohnung liegt im zweiten Stock. Die Kündigungsfrist beträgt drei Monate. Der Keller ist trocken."
    (claim,) = claims(judged("The notice period is three months", page))
    assert claim.quotation is not None and "Kündigungsfrist" in claim.quotation.quotation


def test_an_answer_that_only_declines_is_no_claim_unless_its_passage_contradicts_it() -> None:
    decline = (AnswerPart("The document does not say who owns the building."),)
    assert judge_answer("Who owns the building?", decline, [FEE]).declined


JOINED = "The tenant pays the rent by the fifth day of each month, and the landlord pays for all repairs of the roof"
CLAUSES = "The tenant pays the rent by the fifth day of each month. The tenant bears the cost of repairs of the roof."


def test_wrong_half_in_a_half_wrong_sentence_is_not_supported() -> None:
    first, second = claims(judged(JOINED, CLAUSES))
    assert first.status is ClaimStatus.SUPPORTED and second.status is not ClaimStatus.SUPPORTED
    assert "rent" in first.text and "roof" in second.text and first.citations == second.citations == (1,)


@pytest.mark.parametrize(
    ("sentence", "clauses"),
    [
        ("The seller delivers within ten days; the buyer pays on receipt of the goods.", 2),
        ("The seller delivers the goods within ten days, but the buyer may refuse late delivery.", 2),
        ("The lease names two exceptions: the tenant may keep one small dog and may paint the walls.", 2),
        ("The seller delivers the goods within ten days — the buyer pays on receipt of them.", 2),
        ("The cover includes fire damage to the building, theft of tools on site, and harm to third parties.", 1),
        ("Rent: 900 euros.", 1),
        ("The term is five years, and more.", 1),
        ("The planned takeover of Borealis has not yet been approved by the competition authority.", 1),
        ("The tenant pays monthly rent instead of annual rent in advance of the year.", 1),
        ("The buyer must pay the whole invoice even though the goods arrived late.", 1),
        ("The warranty does not cover damage from misuse, and accidents caused by third parties.", 1),
    ],
)
def test_every_clause_is_a_claim_but_a_list_item_is_not(sentence: str, clauses: int) -> None:
    assert len(extract_claims((AnswerPart(sentence),))) == clauses


def test_a_sentence_that_its_page_nearly_repeats_is_compared_whole() -> None:
    page = "The seller delivers the goods within ten days, but the buyer may refuse late delivery."
    assert len(extract_claims((AnswerPart(page.replace("ten", "twenty")),), Sources.of([page]))) == 1


@pytest.mark.parametrize("neutral", [" Indeed.", " That is all.", " As stated above, this is so."])
@pytest.mark.parametrize(
    "answer",
    ["The tenant pays the rent.", JOINED, "The landlord may end the lease at once.", "The roof costs 5 euros."],
)
def test_what_is_appended_changes_the_verdict_on_no_other_claim(answer: str, neutral: str) -> None:
    def statuses(text: str) -> list[tuple[str, ClaimStatus]]:
        return [(one.claim.bare, one.status) for one in judge_answer("", text, [CLAUSES]).claims]

    expected = statuses(f"{answer.rstrip('.')}.")
    assert statuses(f"{answer.rstrip('.')}.{neutral}")[: len(expected)] == expected
