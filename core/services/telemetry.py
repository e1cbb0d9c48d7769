"""What is measured of turns, for a server's monitoring: Prometheus counts, and OpenTelemetry traces of each node.

Both are off unless configured, and hold no word of a question, an answer or a document.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from pincite.core.domain.settings import VARIABLES
from pincite.core.domain.turns import Turn

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

SECONDS = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 180, 300)
"""Upper bounds of the classes into which the durations of answers are sorted."""
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_NANO = 1_000_000_000


class Telemetry:
    """``counts`` returns what is stored now: by name of a metric, numbers by the value of its one label."""

    def __init__(self, counts: Callable[[], Mapping[str, Mapping[str, int]]]) -> None:
        self._counts = counts
        self._metrics = _Metrics() if os.environ.get(f"{VARIABLES}METRICS") else None
        self._tracer = _tracer() if any(map(os.environ.get, _ENDPOINTS)) else None

    def ended(self, turn: Turn) -> None:
        """Note a turn that has ended."""
        if self._metrics:
            self._metrics.ended(turn)
        if self._tracer:
            trace(turn, self._tracer)

    def page(self) -> bytes | None:
        """Return the metrics in Prometheus's text format; None where they are off."""
        return self._metrics.page(self._counts()) if self._metrics else None


class _Metrics:
    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Histogram

        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "pincite_turn_seconds", "Seconds that answers took in this process.", ("status",),
            registry=self._registry, buckets=SECONDS,
        )  # fmt: skip

    def ended(self, turn: Turn) -> None:
        self._seconds.labels(turn.status).observe(max(0.0, _moment(turn.finished_at) - _moment(turn.started_at)))

    def page(self, counts: Mapping[str, Mapping[str, int]]) -> bytes:
        from prometheus_client import CollectorRegistry, Gauge, generate_latest

        stored = CollectorRegistry()
        for name, numbers in counts.items():
            gauge = Gauge(f"pincite_{name}", f"{name.capitalize()} in the library.", ("status",), registry=stored)
            for status, number in numbers.items():
                gauge.labels(status).set(number)
        return generate_latest(self._registry) + generate_latest(stored)


def trace(turn: Turn, tracer: "Tracer") -> None:
    """Send a span of the turn, and one of each visit to a node within it."""
    from opentelemetry.trace import Status, StatusCode, set_span_in_context

    whole = tracer.start_span("turn", start_time=_nanoseconds(_moment(turn.started_at)))
    whole.set_attributes({"pincite.turn": turn.id, "pincite.status": turn.status, "pincite.engine": turn.engine})
    for step in turn.trace:
        began = _moment(step.started_at)
        span = tracer.start_span(step.node, set_span_in_context(whole), start_time=_nanoseconds(began))
        span.set_attribute("pincite.attempt", step.attempt)
        if step.error:
            span.set_status(Status(StatusCode.ERROR, step.error.partition(":")[0]))
        span.end(_nanoseconds(began + step.seconds))
    whole.end(_nanoseconds(_moment(turn.finished_at)))


def _tracer() -> "Tracer":
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": "pincite"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider.get_tracer("pincite")


def _moment(text: str) -> float:
    """Return seconds since 1970; 0 where none was stored."""
    with suppress(ValueError):
        return datetime.fromisoformat(text).timestamp()
    return 0.0


def _nanoseconds(seconds: float) -> int:
    return int(seconds * _NANO)
