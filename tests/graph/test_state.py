"""Each node returns the fields that it owns, and no others."""

from dataclasses import replace
from typing import Any

import pytest

from pincite.core.graph.state import TurnState, owns

NO_RUNTIME: Any = None


def test_a_node_returns_what_it_changed_of_its_fields() -> None:
    node = owns("hint", "give_up")(lambda state, runtime: replace(state, give_up="Time is up."))
    assert node(TurnState("Who pays?"), NO_RUNTIME) == {"give_up": "Time is up."}


def test_a_node_cannot_change_the_fields_of_another() -> None:
    def router(state: TurnState, runtime: Any) -> TurnState:
        return replace(state, flagged=True)

    with pytest.raises(ValueError, match="router does not own flagged"):
        owns("intent")(router)(TurnState("Who pays?"), NO_RUNTIME)
