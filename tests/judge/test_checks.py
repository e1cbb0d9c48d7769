"""The typical mistakes of the field are found without a model, and right claims are left alone."""

import pytest

from pincite.core.judge.checks import FindingKind, check_claim
from pincite.core.judge.sources import Sources

TABLE = "Consolidated results 2023 2022\nRevenue 1,234 1,100\nOperating income 250 240\nNet income 180 175"


def kinds(claim: str, *sources: str, question: str = "") -> set[FindingKind]:
    return {finding.kind for finding in check_claim(claim, Sources.of(sources, question))}


@pytest.mark.parametrize(
    ("claim", "source", "kind"),
    [
        ("The dividend yield was 5 %.", "The dividend yield was 1.5 %.", FindingKind.FIGURE_DIFFERS),
        ("There are 3 chapters in it.", "It tells of each. Chapter 3 gives the figures.", FindingKind.FIGURE_MISSING),
        ("Revenue was $5 billion.", "Revenue was $5 million.", FindingKind.FIGURE_DIFFERS),
        ("The contract ends on 4 May 2024.", "The contract ends on 5 May 2024.", FindingKind.FIGURE_DIFFERS),
        ("Revenue in 2022 was 1,234.", TABLE, FindingKind.OTHER_CELL),
        ("Revenue was 250 in 2023.", TABLE, FindingKind.OTHER_CELL),
        ("The result was 2,722.", "Result (2,722) 1,100", FindingKind.SIGN),
        ("In 2021 sales reached 48 million.", "Sales reached 48 million in 2020.", FindingKind.CONTRADICTED),
        (
            "The client may end a work order for convenience on 90 days' notice.",
            "Either party may end this agreement on 90 days' notice. The client may end a work order for convenience "
            "on 60 days' notice.",
            FindingKind.CONTRADICTED,
        ),
        ("The tenant shall insure the premises.", "The tenant may insure the premises.", FindingKind.REWORDED),
        ("The tenant may repair the roof.", "The tenant shall repair the roof.", FindingKind.REWORDED),
        ("The tenant may sublet the premises.", "The tenant may not sublet the premises.", FindingKind.REWORDED),
        ("Operating costs increased sharply.", "Operating costs decreased sharply.", FindingKind.REWORDED),
        ("The auditor was Ernst from Zurich.", "The auditor was Ernst from Basel.", FindingKind.NAME_MISSING),
        ('The clause says "sole discretion".', "The clause says reasonable discretion.", FindingKind.NAME_MISSING),
    ],
)
def test_typical_mistakes_are_found(claim: str, source: str, kind: FindingKind) -> None:
    assert kind in kinds(claim, source)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Revenue in 2023 was 1,234.", TABLE),
        ("Net income in 2022 was 175.", TABLE),
        ("The company lost 2,722.", "Result of the company (2,722) 1,100"),
        ("Sales reached 48 million in 2020.", "In 2020, sales reached 48,000,000."),
        ("The tenant must not sublet.", "The tenant shall not sublet the premises."),
        ("Costs fell by 10 %.", "Costs fell by 10 percent to 90."),
        ("The clause says “sole discretion”.", "at its sole dis-\ncretion; the clause says so"),
        ("Angela Merkel lived in Berlin.", "Berlin was the home of Angela Merkel."),
        ("The park is free on April 18-26.", "It is free from April 18 through April 26."),
        ("A teacher, 34, met him at 3pm.", "passage 1:3pm: a married 34-year-old teacher met him."),
        ("It has a 2-kilometer run.", "The track features a two-kilometer run."),
        ("A traditional 401(k) is taxed later.", "In a traditional 401k you are taxed later."),
        ("The Mexican agency lists the United States.", "The agency of Mexico lists the US."),
        ('He played in "The Newsroom".', 'He is the "Newsroom" actor.'),
        ("No. The river is the longest.", "The river is the longest."),
        ("They record songs in Los Angeles.", "They record songs in Los Angeles and could not be further away."),
        ("User names have 4 to 30 characters.", "User names must have 4 – 30 characters."),
    ],
)
def test_right_claims_are_left_alone(claim: str, source: str) -> None:
    """Words are for the checker to weigh."""
    assert kinds(claim, source) <= {FindingKind.REWORDED, FindingKind.CUT_OFF, FindingKind.SIGN}


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Interest of 5 % is due within a week.", "Interest is due within five Business Days of a week."),
        ("The fee of the audit is €900.", "The fee of the audit is $900."),
        ("The lease of the hall runs 12 months.", "The lease of the hall runs 12 years. The loan runs 12 months."),
        ("The chair Marlow opened the hall in Porto.", "The chair Marlow opened the hall in Lisbon. Porto followed."),
        ("The hall closed on 4 May 2021.", "The hall closed on 9 May 2021. It opened on 4 May 2021 in part."),
        ("The share of the tenants is 15.25 %.", "The share of the tenants is 6.1 %, of 40 rooms."),
        ("The fine is 9 % a day.", "The fine of the ship at berth 9 is due after a day."),
        ("Interest runs at 2 % per week.", "Interest runs at 1.5 % per month."),
        ("Four panels of Span 4 were replaced.", "Four panels of Span 2 were replaced."),
        ("Of 40 samples 40 were lost.", "Of 151 samples 40 were lost."),
        ("The length is 5 million.", "The length is 5 mm."),
        ("The notice is 30 business days.", "The notice is 30 days."),
        ("The fee is $500.", "The fee is A$500."),
    ],
)
def test_figure_is_supported_only_by_text_about_the_same_thing(claim: str, source: str) -> None:
    assert kinds(claim, source)
