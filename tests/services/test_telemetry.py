"""Metrics and traces tell how long turns took, and no word of what was asked; without a variable there are none."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from pincite.core.services.bootstrap import Pincite
from pincite.core.services.telemetry import Telemetry, trace
from tests.graph.world import ScriptedModel, World

QUESTION = "What interest do overdue amounts bear?"


def test_a_turn_is_counted_with_its_seconds(app: Pincite, monkeypatch: pytest.MonkeyPatch) -> None:
    assert app.telemetry.page() is None, "nothing is measured that nobody asked for"
    monkeypatch.setenv("PINCITE_METRICS", "1")
    measured = Telemetry(cast(Any, app.health)._stores.numbers)
    session = app.sessions.create()
    turn = app.runner.wait(app.runner.ask(session.id, "What is the penalty for late payment?"), 300).turn
    measured.ended(turn)
    page = (measured.page() or b"").decode()
    assert 'pincite_turn_seconds_count{status="answered"} 1.0' in page
    assert 'pincite_documents{status="ready"} 1.0' in page and 'pincite_turns{status="answered"} 1.0' in page
    assert "penalty" not in page


def test_each_node_of_a_turn_is_a_span_within_it(tmp_path: Path) -> None:
    world = World(tmp_path, ScriptedModel("Overdue amounts bear 1.5 % [1]."), max_retries=0)
    turn = world.ask(QUESTION).turn
    world.close()
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace(turn, provider.get_tracer("test"))
    *nodes, whole = kept.get_finished_spans()
    assert whole.name == "turn" and [node.name for node in nodes] == list(turn.path)
    for node in nodes:
        assert node.parent is not None and node.parent.span_id == whole.context.span_id
        assert (whole.start_time or 0) <= (node.start_time or 0) <= (node.end_time or 0)
        assert node.status.status_code is StatusCode.UNSET
    assert "interest" not in "".join(span.to_json() for span in kept.get_finished_spans())


def test_a_broken_step_is_marked_without_its_message() -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    step = SimpleNamespace(node="judge", attempt=0, started_at="", seconds=1.0, error="ValueError: the secret")
    turn = SimpleNamespace(id="t", status="failed", engine="", started_at="", finished_at="", trace=(step,))
    trace(cast(Any, turn), provider.get_tracer("test"))
    assert kept.get_finished_spans()[0].status.description == "ValueError"
