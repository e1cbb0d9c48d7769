"""What is changed of a sentence that is repeated otherwise is never let through, whatever was changed."""

import pytest

from pincite.core.domain.answers import AnswerPart, ClaimStatus
from pincite.core.judge.judge import judge_answer
from pincite.core.judge.restated import changes, restates_reading, without_other_words

AROUND = " The parties met in Lisbon. Notices are sent by registered mail to the address above."


def is_supported(claim: str, sentence: str) -> bool:
    findings = judge_answer("", (AnswerPart(claim, (1,)),), [sentence + AROUND], citations_expected=True)
    assert findings.claims
    return all(one.status is ClaimStatus.SUPPORTED for one in findings.claims)


@pytest.mark.parametrize(
    ("sentence", "old", "new"),
    [
        ("Two thirds of the members voted in favour.", "thirds", "fifths"),
        ("The third amendment was signed in the second quarter of 2021.", "third", "fourth"),
        ("The third amendment was signed in the second quarter of 2021.", "second", "first"),
        ("The concentration was 3.2 mol/L at equilibrium.", "mol", "mmol"),
        ("The learning rate was set to 1e-4 for all experiments.", "1e-4", "1e-5"),
        ("The tank holds 3½ gallons of fuel.", "½", "¼"),
        ("The tank holds 3½ gallons of fuel.", "gallons", "litres"),
        ("The tablet contains 500 mg of paracetamol.", "mg", "µg"),
        ("The tablet contains 500 mg of paracetamol.", "paracetamol", "ibuprofen"),
        ("The lease expires on 31 March 2025.", "on", "before"),
        ("Neither party may assign this agreement.", "Neither", "Either"),
        ("The offer is valid, unless Harlow objects to the terms of it.", "unless", "if"),
        ("Employees are never required to work on Sundays.", "Sundays", "Mondays"),
        ("Up to 15 users can share one license.", "Up to", "At least"),
        ("Half of the respondents agreed to it.", "Half", "A third"),
        ("The output doubled within a decade.", "doubled", "halved"),
        ("The output doubled within a decade.", "decade", "century"),
        ("Payment is due in ten (10) business days.", "business", "calendar"),
        ("Payment is due in ten (10) business days.", "days", "weeks"),
        ("Ihre Kündigungsfrist beträgt drei Monate.", "drei", "vier"),
        ("Le contrat est conclu pour une durée de 24 mois.", "mois", "ans"),
        ("Le contrat est conclu pour une durée de 24 mois.", "est conclu", "n'est pas conclu"),
        ("All invoices are payable in euros.", "euros", "dollars"),
        ("All invoices are payable in euros.", "All", "Some"),
        ("The licence is non-exclusive and transferable.", "non-exclusive", "exclusive"),
        ("The compound is soluble in water.", "soluble", "insoluble"),
        ("The rate is 4 cents per minute.", "minute", "second"),
        ("Model A scored 87.3 while Model B scored 85.1 on it.", "87.3 while Model B scored 85.1",
         "85.1 while Model B scored 87.3"),
    ],
)  # fmt: skip
def test_one_word_in_the_place_of_another_is_noticed(sentence: str, old: str, new: str) -> None:
    assert old in sentence
    assert is_supported(sentence, sentence)
    assert not is_supported(sentence.replace(old, new, 1), sentence)


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("The fee is 5 % of the price.", "The fee is five per cent of the price."),
        ("The track is 5 kilometres long.", "The track is 5 km long."),
        ("The file is 2 gigabytes.", "The file is 2 GB."),
        ("Payment is due thirty days after receipt.", "Payment is due 30 days after receipt."),
        ("In 2021, net income was $12 million.", "Net income was $12 million in 2021."),
        ("The notice period is 60 days.", "The notice period is sixty (60) days."),
    ],
)
def test_the_same_in_another_spelling_or_order_is_no_change(claim: str, sentence: str) -> None:
    assert is_supported(claim, sentence)


@pytest.mark.parametrize(
    ("claim", "reading", "question", "states"),
    [("Revenue in 2022 was EUR 512 million.", "Revenue, 2022: €512 million", "What was the revenue in 2022?", True),
     ("€512m", "Revenue, 2022: €512 million", "What was the revenue in 2022?", True),
     ("Revenue in 2022 was 512.", "Revenue, 2022: €512 million", "What was the revenue in 2022?", False),
     ("The margin is 5.", "Margin: 5 %", "What is the margin?", False),
     ("Sales in Germany were 512.", "Sales, UK: 512", "What were sales in the UK and in Germany?", False),
     ("Sales in 2022 were 512, 480 in 2023.", "Sales: 512 in 2023, 480 in 2022", "What were sales in 2022?", False),
     ("Sales were more than 512.", "Sales: 512", "Were sales more or fewer than 512?", False),
     ("Revenue fell to 512.", "Revenue: 512", "What was revenue?", False)],
)  # fmt: skip
def test_a_claim_restates_a_reading_in_its_own_words_alone(
    claim: str, reading: str, question: str, states: bool
) -> None:
    assert restates_reading(claim, reading, question) is states


def test_words_that_are_not_known_are_left_out_and_figures_stay() -> None:
    known = frozenset({"revenu"})
    assert without_other_words("Revenue in 2022 was not EUR 512 million.", known) == "Revenue 2022 EUR 512 million."


def test_what_is_left_out_is_told_in_the_words_of_the_page() -> None:
    page = "The rent is 1,150 pounds a month and is paid on the fifth day of the month."
    [change] = changes("The rent is 1,150 pounds a month.", page) or ()
    assert change.theirs == "and is paid on the fifth day of the month"
    [price] = changes("The rent is 1,150 pounds a week.", "The rent is 1,150 pounds a month.") or ()
    assert (price.mine, price.theirs) == ("week", "month")
