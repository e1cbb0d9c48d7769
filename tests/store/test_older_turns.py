"""What older versions stored still opens: their markers are read once, and claims find their place without them."""

import json
from dataclasses import replace
from pathlib import Path

from pincite.core.domain.answers import ClaimStatus
from pincite.core.domain.turns import ReviewDecision, TurnStatus
from pincite.core.store.turns import SHARED
from pincite.core.text.marks import plain_text
from tests.graph.world import ScriptedModel, World
from tests.store.older import as_format
from tests.support.rows import sqlite_of

RIGHT = "Overdue amounts bear interest at 1.5 % per month [1]. They bear it from the due date [1]."


def test_a_turn_without_parts_gets_them_and_its_claims_their_place(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel(RIGHT), max_retries=0)
    turn = world.ask("What interest do overdue amounts bear?").turn
    body = json.loads(sqlite_of(world).connection.execute("SELECT body FROM turns").fetchone()["body"])
    for attempt in body["attempts"]:  # once all of it was written with each attempt
        attempt |= {name: value for name, value in json.loads(json.dumps(body)).items() if name in SHARED}
    del body["parts"], body["asked"]
    for holder in (body, *body["attempts"]):
        holder.pop("parts", None)
        place = 0
        for claim, text in zip(holder["verdict"]["claims"], RIGHT.split(". "), strict=True):
            stated = f"{text.rstrip('.')}."
            claim |= {
                "text": stated,
                "start": RIGHT.index(stated, place),
                "end": RIGHT.index(stated, place) + len(stated),
            }
            place = claim["end"]
    with sqlite_of(world).transaction() as connection:
        connection.execute("UPDATE turns SET body = ?", (json.dumps(body),))
        connection.execute(
            "INSERT INTO reviews (turn_id, decision, final_answer, reviewer, decided_at, citations) "
            "VALUES (?, ?, ?, 'Ada', '2026-01-01T00:00:00+00:00', ?)",
            (turn.id, ReviewDecision.EDITED, RIGHT, json.dumps(body["citations"])),
        )
    world.close()

    world = World(tmp_path)
    old = world.turns.get(turn.id)
    assert (old.parts, old.answer) == (turn.parts, turn.answer) and old.attempts[0].parts == turn.parts
    assert old.verdict is not None and turn.verdict is not None
    for claim in old.verdict.claims:
        assert plain_text(old.parts)[claim.start : claim.end] == claim.text
    assert old.review is not None and old.review.parts == turn.parts
    world.close()


def test_what_an_attempt_and_its_turn_have_in_common_is_stored_once(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel(RIGHT), max_retries=0)
    turn = world.ask("What interest do overdue amounts bear?").turn
    body = json.loads(sqlite_of(world).connection.execute("SELECT body FROM turns").fetchone()["body"])
    assert body["evidence"] and turn.attempts[0].evidence == turn.evidence
    assert not body["attempts"][0].keys() & {"evidence", "citations", "verdict"}
    assert world.turns.get(turn.id).attempts == turn.attempts
    world.close()


def test_turn_with_states_stored_as_words_reads_unchanged(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel(RIGHT), max_retries=0)
    turn = world.ask("What interest do overdue amounts bear?").turn
    assert turn.verdict is not None
    claims = [replace(claim, status=ClaimStatus.PARTLY_SUPPORTED) for claim in turn.verdict.claims]
    flagged = replace(turn, status=TurnStatus.FLAGGED, verdict=replace(turn.verdict, claims=tuple(claims)))
    world.turns.save(flagged)
    with sqlite_of(world).transaction() as connection:
        words = (
            "replace(replace(body, 'partly_supported', 'partly supported'), 'flagged_for_review', 'flagged for review')"
        )
        connection.execute(f"UPDATE turns SET status = 'flagged for review', body = {words}")
    world.close()
    as_format(14, world.settings.database_path)

    world = World(tmp_path)
    old = world.turns.get(turn.id)
    assert (old.status, old.verdict) == (TurnStatus.FLAGGED, flagged.verdict) and world.turns.count_flagged() == 1
    world.close()
