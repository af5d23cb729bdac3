"""OpenTelemetry: a span for the run, with a span for each call of a model and each scored program.

Spans go to ``OTEL_EXPORTER_OTLP_ENDPOINT`` if it is set, else as JSON into ``otel.jsonl`` of the run's folder. Calls
have the attributes of the conventions for generative models (https://opentelemetry.io/docs/specs/semconv/gen-ai/).
"""

import os
import time
from collections.abc import Mapping
from typing import Any

from oragent.report.tracking.run_tracker import RunTracker, TrackedRun
from oragent.search.events import EventKind, RunEvent

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
FILE = "otel.jsonl"
NANOSECONDS = 10**9


class OtelTracker(RunTracker):
    """Writes spans."""

    def __init__(self) -> None:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk import resources
        from opentelemetry.sdk.trace import TracerProvider, export

        self._trace: Any = trace
        self._export: Any = export
        self._make_exporter: Any = OTLPSpanExporter
        self._provider: Any = TracerProvider(resource=resources.Resource.create({"service.name": "oragent"}))
        self._tracer: Any = self._provider.get_tracer("oragent")
        self._span: Any = None
        self._file: Any = None

    def begin(self, run: TrackedRun) -> None:
        """Open the exporter, and begin the span of the run."""
        if any(os.environ.get(name) for name in ENDPOINTS):
            exporter = self._make_exporter()
        else:
            self._file = (run.folder / FILE).open("a", encoding="utf-8")
            exporter = self._export.ConsoleSpanExporter(
                out=self._file, formatter=lambda span: span.to_json(indent=None) + "\n"
            )
        self._provider.add_span_processor(self._export.BatchSpanProcessor(exporter))
        attributes = {"oragent.problem": run.problem, "oragent.folder": str(run.folder)}
        attributes |= {f"oragent.settings.{key}": value for key, value in run.settings.items()}
        self._span = self._tracer.start_span("oragent run", attributes=attributes)

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Keep the latest figures as attributes of the run."""
        for name, value in figures.items():
            self._span.set_attribute(f"oragent.{name}", value)

    def log_event(self, event: RunEvent) -> None:
        """Add a span for a scored program and for a call, which ends now, and events for what the search notices."""
        data = event.data
        attributes = {f"oragent.{key}": value for key, value in data.items() if isinstance(value, str | int | float)}
        if event.kind is EventKind.EVALUATED:
            self._add_span("evaluate program", {**attributes, "oragent.round": event.round}, 0.0)
        elif event.kind is EventKind.REPLIED:
            call = {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": data["model"],
                "gen_ai.usage.input_tokens": data["tokens_in"],
                "gen_ai.usage.output_tokens": data["tokens_out"],
            }
            more = {name: attributes[name] for name in ("oragent.role", "oragent.money") if name in attributes}
            self._add_span(f"chat {data['model']}", call | more, float(str(data["seconds"])))
        elif event.kind in (EventKind.BEST, EventKind.ACCEPTED, EventKind.STEERED):
            self._span.add_event(str(event.kind), attributes)

    def end(self, reason: str, *, complete: bool) -> None:
        """End the span of the run, and write all spans."""
        self._span.set_attribute("oragent.end", reason)
        self._span.set_attribute("oragent.complete", complete)
        self._span.end()
        self._provider.shutdown()
        if self._file is not None:
            self._file.close()

    def _add_span(self, name: str, attributes: Mapping[str, Any], seconds: float) -> None:
        now = time.time_ns()
        parent = self._trace.set_span_in_context(self._span)
        begun = now - int(seconds * NANOSECONDS)
        span = self._tracer.start_span(name, context=parent, start_time=begun, attributes=dict(attributes))
        span.end(now)
