"""A follow-up that names another thing asks the last question about it; other follow-ups replace nothing."""

import pytest

from pincite.core.domain.turns import Exchange
from pincite.core.models.e5 import e5_is_here
from pincite.core.questions.replacements import with_replacement
from tests.questions.asking import plan_after

pytestmark = pytest.mark.skipif(not e5_is_here(), reason="multilingual E5 has no wheel for this machine")


@pytest.mark.behaviour(
    "Memory",
    "“And what about the landlord?” asks the last question about the landlord; German and French too.",
    but="Of follow-ups by writers that the model has not seen, .76 are replaced, .84 of these rightly; the others are"
    " followed by the last question in brackets.",
)
@pytest.mark.parametrize(
    ("before", "follow_up", "meant"),
    [
        ("What is the excess for storm damage?", "And what about the limit?", "What is the limit for storm damage?"),
        ("What is the deductible for water damage under the Harlow policy?", "And what about the limit?",
         "What is the limit for water damage under the Harlow policy?"),
        ("What was the revenue of Alder plc in 2022?", "How about Birch Lines?",
         "What was the revenue of Birch Lines in 2022?"),
        ("Who pays for the repair of the roof, the tenant?", "And of the windows?",
         "Who pays for the repair of the windows, the tenant?"),
        ("When must the supplier deliver the pumps?", "And the filters?",
         "When must the supplier deliver the filters?"),
        ("Wann muss der Mieter die Heizung warten?", "Und der Vermieter?",
         "Wann muss der Vermieter die Heizung warten?"),
        ("Quel est le délai de livraison ?", "Et le délai de paiement ?", "Quel est le délai de paiement ?"),
    ],
)  # fmt: skip
def test_the_thing_that_a_follow_up_names_takes_the_place_of_its_like(before: str, follow_up: str, meant: str) -> None:
    assert with_replacement(before, follow_up) == meant


def test_the_legal_form_is_replaced_with_its_name() -> None:
    history = (Exchange("", "What dividend did Ormsgill Holdings plc pay for the 2011 financial year?", ""),)
    plan = plan_after("And Lathbury Group Ltd?", history, replacing=with_replacement)
    assert plan.standalone_question == "What dividend did Lathbury Group Ltd pay for the 2011 financial year?"


@pytest.mark.parametrize("follow_up", ["Why?", "Since when?", "Who signed it?", "And if it rains?", "Warum?"])
def test_other_follow_ups_replace_nothing(follow_up: str) -> None:
    assert with_replacement("What is the excess for storm damage to the greenhouse?", follow_up) == ""


def test_the_other_reading_is_searched_too() -> None:
    history = (Exchange("", "When must the supplier deliver the pumps?", "By 3 May."),)
    plan = plan_after("And the filters?", history, replacing=with_replacement)
    assert plan.standalone_question == "When must the supplier deliver the filters?"
    assert [reading.text for reading in plan.readings] == [
        "And the filters? (When must the supplier deliver the pumps)"
    ]
