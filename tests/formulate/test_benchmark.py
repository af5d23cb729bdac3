"""A benchmark comes to the same however it is run, goes on where it was left, and counts what F7 counts."""

import io
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from oragent._base import distribution
from oragent._base.errors import ConfigError, ModelError, OragentError
from oragent.cli.app import app
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.result import execute_plan
from oragent_benchmarks.formulate.benchmark import (
    ABLATIONS,
    PUBLISHED,
    TERMS,
    FormulateBenchmark,
    can_read_labels,
    list_contestants,
    verdict_rates,
)
from oragent_benchmarks.formulate.command import published_table, run_bench
from oragent_benchmarks.formulate.mock_models import GoldModel
from oragent_benchmarks.requests import FormulateBenchRequest
from tests.formulate.data import DATA, with_data

ROOT = Path(__file__).parents[2]
VERIFIED = f"nl4opt={DATA}/nl4opt/nl4opt_verified.json"


def bench(
    folder: Path, model: str, names: tuple[str, ...] = ("ormind",), workers: int = 2, spec: str = "families", **own: Any
) -> tuple[FormulateBenchmark, list[BenchCell]]:
    plan = BenchPlan(
        TERMS, {"set": spec}, list_contestants(names, [model], ablations=not names), (0,), {"limit": 4, **own}
    )
    runner = FormulateBenchmark(plan, workers)
    for done in execute_plan(plan, runner, folder):
        assert not done.end.reason
    return runner, list(plan.cells)


def told(runner: FormulateBenchmark, cells: list[BenchCell], folder: Path) -> str:
    """All that is not a time."""
    return json.dumps([
        [one.name, {**one.result, "seconds": 0, "solve_s": 0, "reference_s": 0}, one.spent.tokens]
        for cell in cells for one in runner.finished_cases(cell, folder)
    ])  # fmt: skip


@pytest.mark.slow
def test_results_are_the_same_at_any_number_of_workers(tmp_path: Path) -> None:
    found = [told(*bench(tmp_path / str(n), "scripted", workers=n), tmp_path / str(n)) for n in (1, 3)]
    assert found[0] == found[1]


def test_the_ablations_are_the_nine_published_rows() -> None:
    names = list(list_contestants((), ["m"], ablations=True))
    assert len(names) == len(ABLATIONS) == 9
    assert set(names) <= set(PUBLISHED["nl4opt"])


def test_a_method_is_named_with_what_it_leaves_out() -> None:
    texts = ["ormind without compiler", "ormind without supervisor with reviewer", "standard"]
    chosen = list_contestants(texts, ["m"])
    assert list(chosen) == texts
    assert chosen[texts[1]]["without"] == ["supervisor"]
    for wrong in (["ormind without compilr"], ["ormind without compiler without supervisor"], ["orminds"]):
        with pytest.raises(ConfigError):
            list_contestants(wrong, ["m"])


def test_what_was_published_of_a_set_is_one_table() -> None:
    table = published_table("nl4opt-test")
    assert table is not None
    assert ("coe", "58.9", "3.8", "7.7", "64.2", "2003 ± 456") in table.rows
    assert len(table.rows) == 20
    assert published_table("families") is None


@pytest.mark.slow
def test_every_ablation_runs_and_the_rates_sum_to_one(tmp_path: Path) -> None:
    runner, cells = bench(tmp_path, "scripted", (), limit=2)
    assert len(cells) == 9
    for cell in cells:
        assert sum(verdict_rates(runner.finished_cases(cell, tmp_path)).values()) == pytest.approx(1.0)
        assert (
            runner.read(cell, tmp_path).scores["SR"].value == verdict_rates(runner.finished_cases(cell, tmp_path))["SR"]
        )


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.formulate.test_benchmark import bench
from oragent_benchmarks.formulate import mock_models as scripted
calls = 0
said = scripted.GoldModel._write_reply
def counted(self, *args):
    global calls
    calls += 1
    if calls > 12:
        os.kill(os.getpid(), signal.SIGKILL)
    return said(self, *args)
scripted.GoldModel._write_reply = counted
bench(Path(sys.argv[1]), "scripted")
"""


@pytest.mark.slow
def test_killed_halfway_and_resumed_it_comes_to_the_same_and_asks_nothing_twice(tmp_path: Path, monkeypatch) -> None:
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(broken)], cwd=ROOT, env=os.environ, capture_output=True)
    assert ended.returncode == -signal.SIGKILL
    expected = told(*bench(whole, "scripted"), whole)
    asked: list[str] = []
    said = GoldModel._write_reply

    def kept(self, request, *rest):
        asked.append(request.key)
        return said(self, request, *rest)

    monkeypatch.setattr(GoldModel, "_write_reply", kept)
    assert told(*bench(broken, "scripted"), broken) == expected
    runner, cells = bench(whole, "scripted")
    calls = sum(one.spent.model_calls for cell in cells for one in runner.finished_cases(cell, whole))
    assert len(asked) == len(set(asked)) == calls - 12


@pytest.mark.slow
def test_a_server_that_dies_leaves_a_benchmark_that_does_the_missing_ones(tmp_path, monkeypatch, capsys) -> None:
    said, down = GoldModel._write_reply, True

    def fails(self, request, *rest):
        if down and self.calls > 7:
            raise ModelError("the server is down")
        return said(self, request, *rest)

    monkeypatch.setattr(GoldModel, "_write_reply", fails)
    request = FormulateBenchRequest(
        tmp_path / "b", ["families"], ["ormind"], ["oracle"], settings={"limit": 3}, workers=1
    )
    first, second = (Console(file=io.StringIO(), width=200) for _ in range(2))
    assert run_bench(request, first) == 3
    assert "unfinished: the server is down" in capsys.readouterr().out
    assert "1 of 3" in first.file.getvalue()
    down = False
    assert run_bench(FormulateBenchRequest(tmp_path / "b", workers=1), second) == 0
    assert "SR 100.0 % of 3" in capsys.readouterr().out


@pytest.mark.slow
def test_the_command_prints_tables_and_writes_a_page(tmp_path: Path) -> None:
    request = FormulateBenchRequest(tmp_path / "b", ["families"], ["ormind", "standard"], ["scripted"], [0.0, 1.0],
                           settings={"limit": 3}, workers=2)  # fmt: skip
    console = Console(file=io.StringIO(), width=200)
    assert run_bench(request, console) == 0
    page = (tmp_path / "b" / "report.html").read_text()
    assert "standard, temperature 1" in console.file.getvalue()
    assert "Asked: scripted (scripted: a stand-in that knows the right models" in page
    assert "<svg" in page
    assert "SR" in page
    assert "<script" not in page
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "b")])
    assert shown.exit_code == 0
    assert "standard, temperature 1" in shown.output
    (tmp_path / "b" / "report.html").unlink()
    assert CliRunner().invoke(app, ["report", str(tmp_path / "b")]).exit_code == 0
    assert (tmp_path / "b" / "report.html").read_text() == page
    assert CliRunner().invoke(app, ["resume", str(tmp_path / "b")]).exit_code == 0
    again = Console(file=io.StringIO(), width=200)
    assert run_bench(FormulateBenchRequest(tmp_path / "b"), again) == 0  # goes on by its folder alone: nothing to do
    assert "100.0" in again.file.getvalue()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"models": []}, "--model NAME"),
        ({"methods": ["ormid"]}, "did you mean 'ormind'"),
        ({"sets": ["x"]}, "not a set of problems"),
        ({"settings": {"preset": "papers"}}, "did you mean 'paper'"),
        ({"settings": {"tolerance": "stric"}}, "did you mean 'strict'"),
    ],
)
def test_wrong_plans_are_refused_in_one_line(tmp_path: Path, changes, told: str) -> None:
    given = {"sets": ["families"], "models": ["oracle"], **changes}
    with pytest.raises(ConfigError, match=told):
        run_bench(FormulateBenchRequest(tmp_path / "b", **given), Console(file=io.StringIO()))


def test_a_pulp_that_oragent_does_not_support_is_refused_before_a_folder_is_made(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(distribution, "_describe_mismatch", lambda requirement: "pulp 4.2.0 is installed")
    request = FormulateBenchRequest(tmp_path / "b", ["families"], models=["oracle"], settings={"limit": 1})
    with pytest.raises(ConfigError, match=r"^pulp 4\.2\.0 is installed$"):
        run_bench(request, Console(file=io.StringIO()))
    assert not (tmp_path / "b").exists()


def test_a_model_without_a_key_leaves_no_folder(tmp_path: Path, monkeypatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    request = FormulateBenchRequest(tmp_path / "b", ["families"], models=["oracl"], settings={"limit": 1})
    with pytest.raises(OragentError):
        run_bench(request, Console(file=io.StringIO()))
    assert not (tmp_path / "b").exists()


@pytest.mark.slow
def test_where_labels_could_be_read_a_benchmark_refuses(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("question,answer\nWhat?,1\n")
    assert not can_read_labels(path)  # a program that tries is turned away
    monkeypatch.setattr("oragent_benchmarks.formulate.benchmark.can_read_labels", lambda path: True)
    with pytest.raises(OragentError):
        run_bench(FormulateBenchRequest(tmp_path / "b", [str(path)], ["standard"], ["m"]), Console(file=io.StringIO()))


@pytest.mark.slow
def test_misread_figures_are_planted_in_a_known_share_and_caught(tmp_path: Path) -> None:
    """Encoder and program share a figure that stands elsewhere in the text; the checker takes it from the text."""
    request = FormulateBenchRequest(tmp_path, ["families"], ["ormind"], ["misread"], settings={"limit": 12}, workers=2)
    out = io.StringIO()
    assert run_bench(request, Console(file=out, width=100)) == 0
    (row,) = [text.split() for text in out.getvalue().split("misread figures")[1].splitlines() if "ormind" in text]
    misread, caught, right, missed, harmless, alarms = map(int, row[1:])
    assert 3 <= misread <= 9
    assert (caught + harmless, right, missed, alarms) == (misread, caught, 0, 0)
    assert caught >= 2
    assert "Misread figures" in (tmp_path / "report.html").read_text()


@pytest.mark.slow
def test_a_stand_in_refuses_a_set_without_gold_formulations(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("question,answer\nWhat?,1\n")
    with pytest.raises(OragentError):
        run_bench(
            FormulateBenchRequest(tmp_path / "b", [str(path)], ["standard"], ["oracle"]), Console(file=io.StringIO())
        )


@pytest.mark.slow
@with_data
def test_the_oracle_solves_all_of_the_verified_set(tmp_path: Path) -> None:
    runner, (cell,) = bench(tmp_path, "oracle", spec=VERIFIED, limit=None)
    assert verdict_rates(runner.finished_cases(cell, tmp_path))["SR"] == 1.0
    assert len(runner.finished_cases(cell, tmp_path)) == 222


@pytest.mark.slow
@with_data
def test_of_all_planted_errors_none_is_left_by_the_checks(tmp_path: Path) -> None:
    """1,496 programs with one error each: counted without a check by Wang et al.'s grader and by ours alike."""
    runner, (cell,) = bench(tmp_path / "bare", "planted:all", ("standard",), spec=VERIFIED, limit=None)
    ends = Counter(
        (one.result["verdict"], one.result["status"]) for one in runner.finished_cases(cell, tmp_path / "bare")
    )
    assert ends == {
        ("accept", "optimal"): 448, ("wrong_answer", "optimal"): 865, ("model_failure", "unbounded"): 74,
        ("model_failure", "infeasible"): 109,
    }  # fmt: skip
    runner, (cell,) = bench(tmp_path / "all", "planted:all", spec=VERIFIED, limit=None)
    assert Counter(one.result["verdict"] for one in runner.finished_cases(cell, tmp_path / "all")) == {"accept": 1496}
    runner, (cell,) = bench(tmp_path / "rows", "planted:all", spec=VERIFIED, limit=None, solve_checks=False)
    ends = Counter(
        (one.result["verdict"], one.result["status"]) for one in runner.finished_cases(cell, tmp_path / "rows")
    )
    assert ends[("wrong_answer", "optimal")] == 97  # a check of feasibility alone misses them, and the 183
    assert ends[("model_failure", "unbounded")] + ends[("model_failure", "infeasible")] == 183
