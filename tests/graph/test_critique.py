"""A critic may name figures and words that can be kept; anything else is no critique."""

from pathlib import Path
from typing import Any

import pytest

from pincite.core.domain.answers import ClaimStatus
from pincite.core.domain.turns import TurnStatus
from pincite.core.judge.critique import read_critique
from tests.graph.world import ScriptedModel, World

NAN = float("nan")
INFINITY = float("inf")
CLAIMS = [{"number": 1, "status": "supported"}]


@pytest.mark.parametrize("points", [NAN, INFINITY, -INFINITY, 10**400, "ten", None, [10]])
@pytest.mark.parametrize("name", ["relevance", "completeness"])
def test_points_that_are_no_number_are_no_critique(name: str, points: object) -> None:
    assert read_critique({"claims": CLAIMS, "relevance": 9, "completeness": 9, name: points}, 1) is None


def test_points_beyond_the_scale_count_as_its_end() -> None:
    critique = read_critique({"claims": CLAIMS, "relevance": 95, "completeness": -3}, 1)
    assert critique is not None and (critique.relevance, critique.completeness) == (1.0, 0.0)


def test_remarks_that_are_no_words_are_left_out() -> None:
    claims = [{"number": 1, "status": "not there", "words": 10**400}, {"number": NAN, "status": "supported"}, NAN, None]
    reply = {"claims": claims, "relevance": 9, "completeness": 9, "missing": [10**400, ["x"], "the fee"]}
    critique = read_critique(reply, 1)
    assert critique is not None
    assert critique.claims == {0: (ClaimStatus.UNSUPPORTED, "")} and critique.missing == ("the fee",)


@pytest.mark.parametrize("points", [NAN, INFINITY, 10**400])
def test_session_reopens_after_any_critic_reply(tmp_path: Path, points: Any) -> None:
    model = ScriptedModel("Overdue amounts bear interest at 1.5 % per month. [1]")
    model.replies = [{"claims": CLAIMS, "relevance": points, "completeness": points}]
    world = World(tmp_path, model)
    asked = world.ask("What interest do overdue amounts bear?").turn
    world.close()
    reopened = World(tmp_path, model)
    (turn,) = reopened.turns.of_session(world.session.id)
    reopened.close()
    assert turn.status is TurnStatus.ANSWERED and turn.verdict == asked.verdict
