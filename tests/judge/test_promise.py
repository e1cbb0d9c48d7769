"""Promise: of what is shown no more than the promised share is wrong, for every sample, as often as is said."""

import random
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from core.domain.answers import AnswerKind, AnswerPart, PartKind
from core.domain.documents import Passage
from core.domain.search import Evidence
from core.domain.settings import Settings
from core.domain.turns import ReviewDecision, TurnStatus
from core.judge.promise import (
    CERTAINTY,
    GRID,
    Promise,
    area_under,
    kind_of_answer,
    promise,
    risk_coverage,
    shipped_labels,
    upper_bound,
)
from core.judge.verdict import UNPROMISED, verdict_of
from core.services.bootstrap import open_pincite
from core.text.questions import NOT_FOUND

FEE = "The fee is 40 euro."
GERMAN = "Die Gebühr ist nach dem Vertrag und der Anlage fällig."
ENGLISH_KINDS = {AnswerKind.QUOTED, AnswerKind.NOT_FOUND, AnswerKind.FIGURE, AnswerKind.COMPUTED}
EVIDENCE = [Evidence(1, Passage("p", "d", 0, "1", FEE, 0, len(FEE)), "lease.pdf")]
LABELLED = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=300)


@given(st.integers(1, 2000), st.floats(0, 1), st.floats(1e-6, 0.2))
def test_the_bound_is_clopper_and_pearsons(shown: int, share: float, doubt: float) -> None:
    wrong = int(share * shown)
    exact = 1.0 if wrong == shown else float(beta.ppf(1 - doubt, wrong + 1, shown - wrong))
    assert upper_bound(wrong, shown, doubt) == pytest.approx(exact, abs=1e-6)


@given(LABELLED, st.floats(0, 1))
def test_what_is_promised_holds_of_the_answers_themselves(labelled: list[tuple[float, bool]], risk: float) -> None:
    kept = promise(labelled, risk)
    if kept.threshold is None:
        assert (kept.coverage, kept.bound) == (0.0, 1.0)
        return
    shown = [right for confidence, right in labelled if confidence >= kept.threshold]
    assert kept.threshold in GRID and 1 - sum(shown) / len(shown) <= kept.bound <= risk


@given(LABELLED, st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_smaller_risk_never_shows_more(labelled: list[tuple[float, bool]], one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert promise(labelled, low).coverage <= promise(labelled, high).coverage


def test_it_is_kept_on_other_answers_as_often_as_is_said() -> None:
    chance, kept, rounds, risk = random.Random(1), 0, 100, 0.15

    def answer() -> tuple[float, bool]:
        confidence = chance.random()
        return confidence, chance.random() < confidence  # as sure as it says

    for _ in range(rounds):
        threshold = promise([answer() for _ in range(800)], risk).threshold
        true_risk = 0.0 if threshold is None else (1 - threshold) / 2
        kept += true_risk <= risk
    assert kept / rounds >= CERTAINTY


def test_the_curve_begins_with_the_surest_answer_and_ends_with_all() -> None:
    curve = risk_coverage([(0.2, False), (0.9, True), (0.5, True), (0.7, False)])
    assert curve == [(0.25, 0.0), (0.5, 0.5), (0.75, pytest.approx(1 / 3)), (1.0, 0.5)]
    assert area_under(curve) == pytest.approx((0 + 0.5 + 1 / 3 + 0.5) / 4) and area_under([]) == 0.0


def test_the_doubt_that_is_not_used_up_is_handed_on() -> None:
    """Each threshold shows the same here, so that the loosest is tried with all the doubt."""
    loose = promise([(0.99, True)] * 120, 0.05)
    assert loose.threshold == GRID[-1] and loose.bound < upper_bound(0, 120, (1 - CERTAINTY) / len(GRID))


def test_without_answers_nothing_is_promised() -> None:
    assert promise([], 0.5) == Promise(None, 0.0, 1.0, 0)


def test_what_ships_has_answers_of_each_kind_that_can_be_promised() -> None:
    for large, kinds in ((True, set(AnswerKind) - {AnswerKind.OTHER}), (False, ENGLISH_KINDS)):
        labels = shipped_labels(large=large)
        assert set(labels) == kinds
        for rows in labels.values():
            assert all(0 <= said <= 1 for said, _ in rows)
            assert len(rows) >= 30 and {right for _, right in rows} == {False, True}


@pytest.mark.parametrize(
    ("question", "part", "page", "kind"),
    [
        ("What is the fee?", AnswerPart(FEE, (1,), PartKind.VERBATIM, probability=0.9), FEE, AnswerKind.QUOTED),
        ("What is the fee?", AnswerPart("40", (1,), PartKind.HEADLINE, probability=0.9), FEE, AnswerKind.QUOTED),
        ("What is the fee?", AnswerPart(FEE, (1,), PartKind.VERBATIM, probability=0.9), GERMAN, AnswerKind.QUOTED_ELSE),
        ("Was kostet es nach dem Vertrag?", AnswerPart(FEE, (1,), PartKind.VERBATIM, probability=0.9), FEE,
         AnswerKind.QUOTED_ELSE),
        ("What is the fee?", AnswerPart(NOT_FOUND, (), PartKind.DECLINE, probability=0.9), FEE,
         AnswerKind.NOT_FOUND),
        ("Was kostet es nach dem Vertrag?",
         AnswerPart(NOT_FOUND, (), PartKind.DECLINE, probability=0.9), GERMAN,
         AnswerKind.NOT_FOUND_ELSE),
        ("How many fees?", AnswerPart("I found no fees on 3 pages.", (), PartKind.DECLINE, probability=0.9), FEE,
         AnswerKind.OTHER),
        ("What is the fee?", AnswerPart("Fee: 40", (1,), PartKind.FIGURE, probability=0.9), FEE, AnswerKind.FIGURE),
        ("Is there a fee?", AnswerPart("Yes", (1,), PartKind.YES_NO, probability=0.9), FEE, AnswerKind.OTHER),
        ("What is the fee?", AnswerPart(FEE, (1,)), FEE, AnswerKind.OTHER),
    ],
)  # fmt: skip
def test_answers_are_told_apart_by_what_weighed_them(
    question: str, part: AnswerPart, page: str, kind: AnswerKind
) -> None:
    evidence = [Evidence(1, Passage("p", "d", 0, "1", page, 0, len(page)), "lease.pdf")]
    assert kind_of_answer(question, (part,), evidence) is kind


def test_a_promise_decides_what_is_shown(contract_library: Path, tmp_path: Path) -> None:
    shutil.copytree(contract_library, tmp_path / "data")
    with closing(open_pincite(Settings(data_dir=tmp_path / "data", engine="quoting", max_retries=0))) as pincite:
        session, question = pincite.sessions.create().id, "What is the penalty for late payment?"
        shown = pincite.runner.wait(pincite.runner.ask(session, question), 300).turn
        assert shown.status is TurnStatus.ANSWERED
        pincite.settings.change(promised_risk=0.01)
        assert pincite.confidence.thresholds() == {}
        strict = pincite.runner.wait(pincite.runner.ask(session, question, fresh=True), 300).turn
        assert strict.status is TurnStatus.FLAGGED and strict.verdict and not strict.verdict.accepted
        assert strict.verdict.confidence == shown.verdict.confidence if shown.verdict else False
        pincite.settings.change(promised_risk=0.5)
        assert pincite.confidence.threshold_of(strict) < strict.verdict.confidence
        loose = pincite.runner.wait(pincite.runner.ask(session, question, fresh=True), 300).turn
        assert loose.status is TurnStatus.ANSWERED


def test_own_reviews_are_what_is_promised_by_once_there_are_enough(contract_library: Path, tmp_path: Path) -> None:
    shutil.copytree(contract_library, tmp_path / "data")
    with closing(open_pincite(Settings(data_dir=tmp_path / "data", engine="quoting"))) as pincite:
        session = pincite.sessions.create().id
        shipped, are_own = pincite.confidence.labelled()[AnswerKind.QUOTED]
        assert not are_own
        for position, number in enumerate([*range(50), 49]):
            question = f"What is the penalty for late payment of invoice {number}?"
            turn = pincite.runner.wait(pincite.runner.ask(session, question, fresh=True), 300).turn
            if number < 49:
                assert pincite.confidence.labelled()[AnswerKind.QUOTED] == (shipped, False)
            again = position == 50
            pincite.reviews.decide(turn.id, ReviewDecision.REJECTED if again else ReviewDecision.APPROVED)
        labelled = pincite.confidence.labelled()
        rows, are_own = labelled[AnswerKind.QUOTED]
        assert are_own and len(rows) == 50 and sum(right for _, right in rows) == 49
        assert not labelled[AnswerKind.FIGURE][1]


@pytest.mark.parametrize(
    ("question", "text", "calibrated"),
    [
        ("What is the fee?", FEE, True),
        ("", FEE, False),
        ("Was kostet es?", "Die Gebühr ist nach dem Vertrag und der Anlage fällig.", False),
        ("What is the fee?", f"{FEE} " * 30, False),
    ],
)
def test_prose_unlike_what_was_labelled_is_not_called_calibrated(question: str, text: str, calibrated: bool) -> None:
    parts = (AnswerPart(text, (1,)),)
    verdict = verdict_of(question, parts, EVIDENCE, removed_markers=0,
                         page_text=lambda *_: FEE, threshold=0.5)  # fmt: skip
    assert verdict.calibrated is calibrated


PROMISED = {AnswerKind.QUOTED: 0.5}


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (AnswerPart(FEE, (1,), PartKind.VERBATIM, probability=0.9), None),
        (AnswerPart(FEE, (1,), PartKind.VERBATIM, probability=0.4), "only 40% sure"),
        (AnswerPart(FEE, (1,)), UNPROMISED[0]),
        (AnswerPart("The documents do not say.", ()), UNPROMISED[0]),
        (AnswerPart(NOT_FOUND, (), PartKind.DECLINE, probability=0.9), UNPROMISED[1]),
    ],
)
def test_each_kind_of_answer_has_a_promise_of_its_own(part: AnswerPart, reason: str | None) -> None:
    verdict = verdict_of("What is the fee?", (part,), EVIDENCE, removed_markers=0,
                         page_text=lambda *_: FEE, threshold=0.1, promised=PROMISED)  # fmt: skip
    assert verdict.accepted is (reason is None) and (reason or "") in " ".join(verdict.reasons)
