"""Promise: of what is shown no more than the promised share is wrong, for every sample, as often as is said."""

import random
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from core.domain.answers import AnswerPart, PartKind
from core.domain.documents import Passage
from core.domain.search import Evidence
from core.domain.settings import Settings
from core.domain.turns import ReviewDecision, TurnStatus
from core.judge.promise import CERTAINTY, GRID, area_under, promise, risk_coverage, upper_bound
from core.judge.verdict import verdict_of
from core.models.selection import measured
from core.services.bootstrap import open_pincite

FEE = "The fee is 40 euro."
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
    chance, kept, rounds, risk = random.Random(1), 0, 300, 0.15

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


def test_what_ships_says_of_which_answers_it_was_measured() -> None:
    told = measured()
    assert len(told["rows"]) == told["all"]["questions"]


def test_a_promise_decides_what_is_shown(contract_library: Path, tmp_path: Path) -> None:
    shutil.copytree(contract_library, tmp_path / "data")
    with closing(open_pincite(Settings(data_dir=tmp_path / "data", engine="quoting", max_retries=0))) as pincite:
        session, question = pincite.sessions.create().id, "What is the penalty for late payment?"
        shown = pincite.runner.wait(pincite.runner.ask(session, question), 60).turn
        assert shown.status is TurnStatus.ANSWERED
        pincite.settings.change(promised_risk=0.01)
        assert pincite.confidence.promise(0.01).threshold is None
        strict = pincite.runner.wait(pincite.runner.ask(session, question, fresh=True), 60).turn
        assert strict.status is TurnStatus.FLAGGED and strict.verdict and not strict.verdict.accepted
        assert strict.verdict.confidence == shown.verdict.confidence if shown.verdict else False
        pincite.settings.change(promised_risk=0.5)
        assert (pincite.confidence.promise(0.5).threshold or 1) < strict.verdict.confidence
        loose = pincite.runner.wait(pincite.runner.ask(session, question, fresh=True), 60).turn
        assert loose.status is TurnStatus.ANSWERED


def test_own_reviews_are_what_is_promised_by_once_there_are_enough(contract_library: Path, tmp_path: Path) -> None:
    shutil.copytree(contract_library, tmp_path / "data")
    with closing(open_pincite(Settings(data_dir=tmp_path / "data", engine="quoting"))) as pincite:
        session, question = pincite.sessions.create().id, "What is the penalty for late payment?"
        assert pincite.confidence.labelled()[1] is False
        for _ in range(50):
            turn = pincite.runner.wait(pincite.runner.ask(session, question, fresh=True), 60).turn
            pincite.reviews.decide(turn.id, ReviewDecision.APPROVED)
        rows, are_own = pincite.confidence.labelled()
        assert are_own and len(rows) == 50 and all(right for _, right in rows)


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


def test_nothing_is_promised_of_prose() -> None:
    told = [AnswerPart(FEE, (1,))]
    quoted = [AnswerPart(FEE, (1,), PartKind.VERBATIM, probability=0.9)]
    for parts, accepted in ((told, False), (quoted, True)):
        verdict = verdict_of("What is the fee?", parts, EVIDENCE, removed_markers=0,
                             page_text=lambda *_: FEE, threshold=0.1, promised=True)  # fmt: skip
        assert verdict.accepted is accepted, verdict.reasons
