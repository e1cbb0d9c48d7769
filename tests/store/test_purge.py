"""What a model received of a document's answers is deleted with them: no word of it is left in a later turn."""

from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.core.domain.turns import TurnStatus
from pincite.core.store.purge import DELETED, purge, quoting
from tests.graph.world import REPORT, ScriptedModel, Shelf, WordSearch, World
from tests.support.rows import sqlite_of

WORD = "zyxquorvimble"
LEASE = (f"The tenant delivers the {WORD} certificate within 14 days.", "The rent is 900 euros a month.")
STATED = f"The tenant delivers the {WORD} certificate within 14 days. [1]"
LEAKS = (
    f"<think>Before, the {WORD} certificate was asked for.</think>Dr. Ada Moreno led the measurements in Lisbon. [1]",
    f"The {WORD} certificate is due within 14 days. [1]",
    "Dr. Ada Moreno led the measurements in Lisbon. [1]",
    f"Dr. Ada Moreno led the measurements in Lisbon. [1] The {WORD} certificate is due. [1]",
)


QUESTIONS = (
    "Who led the measurements in Lisbon?",
    "And in Lisbon?",
    "Who led them?",
    "Is the trial supported by judges?",
)


def opened(folder: Path, *drafts: str) -> World:
    shelf = Shelf({"lease.pdf": LEASE, "report.pdf": REPORT})
    return World(folder, ScriptedModel(*drafts), shelf=shelf, search=WordSearch(shelf, floor=0.5, retry_floor=0.5))


def holds_the_word(world: World) -> list[str]:
    database = sqlite_of(world).connection
    tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [t for t in tables for row in database.execute(f"SELECT * FROM {t}") if WORD in repr(tuple(row)).casefold()]


@pytest.mark.behaviour(
    "Memory",
    "What a model received of a document's answers is deleted with them: no word of it is left in a plan, "
    "draft or trace of a later turn.",
)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(LEAKS), min_size=3, max_size=3), st.sampled_from(QUESTIONS))
def test_no_word_from_a_purged_document_is_left_in_later_turns(
    tmp_path_factory: pytest.TempPathFactory, drafts: list[str], question: str
) -> None:
    folder: Path = tmp_path_factory.mktemp("data")
    with closing(opened(folder, STATED, *drafts)) as world:
        first = world.ask(f"Within how many days is the {WORD} certificate due?").turn
        assert first.status is TurnStatus.ANSWERED and holds_the_word(world)
        later = world.ask(question, document_ids=("id-report.pdf",)).turn
        found = quoting(world.database, "id-lease.pdf")
        assert first.id in found.turn_ids
        purge(world.database, found)
        assert holds_the_word(world) == []
        if later.id not in found.turn_ids:
            kept = world.turns.get(later.id)
            assert kept.status is later.status and kept.answer == later.answer and len(kept.trace) == len(later.trace)
            assert [step.node for step in kept.trace] == [step.node for step in later.trace]


@pytest.mark.behaviour(
    "Memory",
    "The trace shows which earlier questions a model received in full, cut or in one line. The text of "
    "answers is not in it, so that it is deleted with their documents.",
)
def test_later_answer_is_kept_and_its_trace_shows_what_was_deleted(tmp_path: Path) -> None:
    with closing(opened(tmp_path, STATED, *LEAKS[1:3])) as world:
        world.ask(f"Within how many days is the {WORD} certificate due?")
        later = world.ask("Who led the measurements in Lisbon?", document_ids=("id-report.pdf",)).turn
        conversation = next(step for step in later.trace if step.node == "generator").read["conversation"]
        assert conversation == {"in full": [f"Within how many days is the {WORD} certificate due?"]}
        purge(world.database, quoting(world.database, "id-lease.pdf"))
        kept = world.turns.get(later.id)
        assert kept.answer == later.answer and kept.citations == later.citations
        assert kept.plan and kept.plan.question == later.question
        (generator, *_) = [step for step in kept.trace if step.node == "generator"]
        assert generator.read["conversation"] == DELETED and generator.read["engine"] == "scripted"
