"""Trackers: what they wrote without a network is read back with the libraries, and agrees with the run."""

import hashlib
import json
import struct
import sys
import warnings
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import oragent
from oragent._base.errors import ConfigError
from oragent.cli.app import app
from oragent.report.run import load_run
from oragent.report.tracking import event_adapter
from oragent.report.tracking.event_adapter import TRACKERS, EventAdapter
from oragent.report.tracking.run_tracker import TrackedRun
from oragent.search.config import Config
from oragent.search.events import EventKind, RunEvent

BLOCK = 32768
# Packages by tracker, all of the extra "tracking".
NEEDS = {
    "jsonl": (),
    "tensorboard": ("tensorboardX",),
    "mlflow": ("mlflow", "alembic", "sqlalchemy"),
    "wandb": ("wandb",),
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
}
BUDGET = {"evaluations": 3, "model_calls": 2, "tokens": 150, "money": 0.25, "seconds": 3.5}
REPLIED = {"role": "code", "model": "m", "tokens_in": 100, "tokens_out": 50, "money": 0.25, "seconds": 1.0}


def play(names: list[str], folder: Path, warn=warnings.warn) -> None:
    """The events of a short run: a seed, a better program, a failure."""
    adapter = EventAdapter(names, Config(), warn)
    events = [
        (EventKind.BEGUN, {"folder": str(folder), "problem": "toy", "rounds": 0}),
        (EventKind.EVALUATED, {"status": "ok", "score": 10.0, "origin": "seed"}),
        (EventKind.BEST, {"id": "0.0", "score": 10.0, "origin": "seed"}),
        (EventKind.REPLIED, REPLIED),
        (EventKind.EVALUATED, {"status": "ok", "score": 8.0, "origin": "code"}),
        (EventKind.BEST, {"id": "1.0", "score": 8.0, "origin": "code"}),
        (EventKind.EVALUATED, {"status": "error", "score": None, "origin": "code"}),
        (EventKind.BUDGET, BUDGET),
        (EventKind.ENDED, {"reason": "the budget of 3 evaluations is used up", "complete": True}),
    ]
    for number, (kind, data) in enumerate(events):
        adapter(RunEvent(kind, number, float(number), data))


def test_a_file_of_events_agrees_with_the_run(toy: Path, tmp_path: Path) -> None:
    run = oragent.run("toy", root=tmp_path, evaluations=5, seed=3, workers=1, track=["jsonl"])
    lines = [json.loads(line) for line in (run.folder / "events.jsonl").read_text().splitlines()]
    assert [lines[0]["event"], lines[-1]["event"]] == ["begun", "ended"]
    scores = [line["score"] for line in lines if line["event"] == "evaluated"]
    assert sorted(filter(None, scores)) == sorted(filter(None, (one.score for one in load_run(run.folder).records)))
    assert [line for line in lines if line["event"] == "best"][-1]["score"] == run.best.score
    assert [line for line in lines if line["event"] == "budget"][-1]["evaluations"] == run.spent.evaluations
    assert all({"event", "round", "at_s"} <= set(line) for line in lines)
    oragent.resume(run.folder, evaluations=7, track=["jsonl"])
    assert len((run.folder / "events.jsonl").read_text().splitlines()) > len(lines)


def test_tensorboard_reads_the_scalars(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    play(["tensorboard"], tmp_path)
    read = accumulators.EventAccumulator(str(tmp_path / "tensorboard"))
    read.Reload()
    assert [(event.step, event.value) for event in read.Scalars("best")] == [(1, 10.0), (2, 8.0)]
    assert [(event.step, event.value) for event in read.Scalars("failed")] == [(1, 0.0), (2, 0.0), (3, 1.0)]
    assert read.Scalars("money")[0].value == pytest.approx(0.25)


def test_mlflow_reads_metrics_and_settings_and_continues_a_run(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    from mlflow.tracking import MlflowClient

    for _ in range(2):
        play(["mlflow"], tmp_path)
    client = MlflowClient()
    experiment = client.get_experiment_by_name("toy")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.data.metrics["best"] == 8.0
    assert run.data.metrics["tokens"] == 150
    assert run.data.params["budget.evaluations"] == "200"
    assert run.info.status == "FINISHED"
    assert [(metric.step, metric.value) for metric in client.get_metric_history(run.info.run_id, "best")][:2] == [
        (1, 10.0), (2, 8.0),
    ]  # fmt: skip


def read_log(data: bytes) -> Iterator[bytes]:
    """Records of a log in the format of LevelDB, after a head of seven bytes."""
    place, parts = 7, b""
    while place + 7 <= len(data):
        left = BLOCK - place % BLOCK
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + 7])
        parts += data[place + 7 : place + 7 + length]
        place += 7 + length
        # a whole record, or the last part of one
        if kind in (1, 4):
            yield parts
            parts = b""


def test_wandb_writes_a_history_offline(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    play(["wandb"], tmp_path)
    import wandb
    from wandb.proto import wandb_internal_pb2

    # The library's process writes the file after a run ends: wait until it has ended too.
    wandb.teardown()
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    history, summary = [], {}
    for data in read_log(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        items = {(item.key or ".".join(item.nested_key)): json.loads(item.value_json) for item in record.history.item}
        history += [items] if items else []
        summary |= {
            (item.key or ".".join(item.nested_key)): json.loads(item.value_json) for item in record.summary.update
        }
    assert [row["best"] for row in history if "best" in row] == [10.0, 8.0]
    assert [row["programs"] for row in history if "score" in row] == [1, 2]
    assert summary["end"] == "the budget of 3 evaluations is used up"


def test_opentelemetry_writes_spans(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("opentelemetry.sdk")
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    play(["otel"], tmp_path)
    spans = [json.loads(line) for line in (tmp_path / "otel.jsonl").read_text().splitlines()]
    named = {span["name"]: span for span in spans}
    assert {"oragent run", "chat m", "evaluate program"} == set(named)
    run = named["oragent run"]
    expected = {
        "oragent.best": 8.0, "oragent.problem": "toy", "oragent.folder": str(tmp_path), "oragent.money": 0.25,
        "oragent.settings.budget.evaluations": "200", "oragent.failed": 1.0, "oragent.complete": True,
        "oragent.end": "the budget of 3 evaluations is used up",
    }  # fmt: skip
    assert expected.items() <= run["attributes"].items()
    assert run["resource"]["attributes"]["service.name"] == "oragent"
    assert [(event["name"], event["attributes"]["oragent.score"]) for event in run["events"]] == [
        ("best", 10.0),
        ("best", 8.0),
    ]
    assert named["chat m"]["attributes"] == {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 50, "oragent.role": "code", "oragent.money": 0.25,
    }  # fmt: skip
    assert all(span["parent_id"] == run["context"]["span_id"] for span in spans if span is not run)
    # A call ends when its reply comes, and took a second; a program is a point in time.
    lengths = {
        name: (datetime.fromisoformat(span["end_time"]) - datetime.fromisoformat(span["start_time"])).total_seconds()
        for name, span in named.items()
    }
    assert (lengths["chat m"], lengths["evaluate program"]) == (1.0, 0.0)
    assert [span["attributes"]["oragent.round"] for span in spans if span["name"] == "evaluate program"] == [1, 4, 6]


class Library:
    """Weights & Biases in place of the package: what it was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.summary: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **named: self.calls.append((name, given, named)) or self


@pytest.mark.parametrize("project", [None, "mine"])
@pytest.mark.parametrize("complete", [True, False])
def test_wandb_gets_a_run_that_can_be_continued(
    project: str | None, complete: bool, tmp_path: Path, monkeypatch
) -> None:
    library = Library()
    monkeypatch.setitem(sys.modules, "wandb", library)
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    if project:
        monkeypatch.setenv("WANDB_PROJECT", project)
    tracker = event_adapter.open_tracker("wandb")
    tracker.begin(TrackedRun(tmp_path, "toy", {"seed": "3"}))
    tracker.log({"best": 2.0}, 7)
    tracker.end("why", complete=complete)
    settings, init, metric, log, finish = library.calls
    assert init[2] == {
        "project": project or "oragent", "name": f"toy/{tmp_path.name}", "resume": "allow", "dir": str(tmp_path),
        "id": hashlib.sha256(str(tmp_path).encode()).hexdigest()[:16], "config": {"seed": "3"}, "settings": library,
    }  # fmt: skip
    assert settings[2] == {"silent": True, "console": "off", "disable_git": True, "save_code": False}
    assert (metric[1], metric[2]) == (("*",), {"step_metric": "programs"})
    assert log[1] == ({"best": 2.0, "programs": 7},)
    assert (library.summary, finish[2]) == ({"end": "why"}, {"exit_code": 0 if complete else 1})


def test_times_have_milliseconds_and_figures_are_finite(tmp_path: Path) -> None:
    notes: list[str] = []
    adapter = EventAdapter(["jsonl"], Config(), notes.append)
    adapter(RunEvent(EventKind.BEGUN, 0, 1.23456, {"folder": str(tmp_path), "problem": "toy"}))
    adapter(RunEvent(EventKind.BEST, 0, 2.0, {"score": float("nan")}))
    (line,) = (tmp_path / "events.jsonl").read_text().splitlines()
    assert json.loads(line)["at_s"] == 1.235
    # A figure that JSON does not have ends the file, not the run.
    assert len(notes) == 1


def test_a_link_is_no_file_of_events(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").symlink_to(tmp_path / "other")
    notes: list[str] = []
    play(["jsonl"], tmp_path, notes.append)
    assert len(notes) == 1
    assert not (tmp_path / "other").exists()


def test_a_tracker_that_fails_is_left_out_and_the_run_goes_on(toy: Path, tmp_path: Path, monkeypatch) -> None:
    def fail(*arguments) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("oragent.report.tracking.jsonl_tracker.JsonlTracker.log_event", fail)
    with pytest.warns(UserWarning, match="OSError"):
        run = oragent.run("toy", root=tmp_path, evaluations=3, workers=1, track=["jsonl"])
    assert run.complete


def test_a_tracker_that_cannot_be_opened_is_left_out(toy: Path, tmp_path: Path, monkeypatch) -> None:
    def fail(*arguments) -> None:
        raise RuntimeError("the store\nis not supported")

    monkeypatch.setattr("oragent.report.tracking.jsonl_tracker.JsonlTracker.__init__", fail)
    notes: list[str] = []
    play(["jsonl", "jsonl"], tmp_path, notes.append)
    assert [note.splitlines() for note in notes] == [[notes[0]]]
    assert "jsonl" in notes[0]
    assert "RuntimeError" in notes[0]
    result = CliRunner().invoke(
        app, ["run", "toy", "--root", str(tmp_path), "--evaluations", "3", "--workers", "1", "--track", "jsonl"]
    )
    assert result.exit_code == 0, result.output
    assert len([line for line in result.output.splitlines() if "jsonl" in line]) == 1


# The libraries of MLflow deprecate parts of each other.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", TRACKERS)
def test_each_tracker_logs_a_run_with_the_settings_of_its_library(name: str, tmp_path: Path, monkeypatch) -> None:
    for package in NEEDS[name]:
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    # Weights & Biases needs an account otherwise.
    monkeypatch.setenv("WANDB_MODE", "offline")
    for variable in ("MLFLOW_TRACKING_URI", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(variable, raising=False)
    notes: list[str] = []
    play([name], tmp_path, notes.append)
    assert notes == []
    assert list(tmp_path.iterdir())


def test_unknown_trackers_and_missing_packages_are_one_line(toy: Path, tmp_path: Path, monkeypatch) -> None:
    with pytest.raises(ConfigError):
        oragent.run("toy", root=tmp_path, track=["paper"])
    assert not (tmp_path / "outputs").exists()
    for name, package in {
        "tensorboard": "tensorboardX",
        "mlflow": "mlflow.tracking",
        "wandb": "wandb",
        "otel": "opentelemetry",
    }.items():
        assert name in TRACKERS
        monkeypatch.setitem(__import__("sys").modules, package, None)
        with pytest.raises(ConfigError):
            event_adapter.open_tracker(name)
