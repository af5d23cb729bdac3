"""``oragent probe`` and ``oragent sweep`` on a problem that ships: tables of 80 columns, JSON, one line for an error."""

import json
import re
import shutil
from pathlib import Path

import pytest

import oragent
from oragent._base.errors import ProblemError
from oragent._base.protocol import Status
from oragent.cli import app
from oragent.evaluation import Evaluation, EvaluationRunner, Job
from oragent.evaluation.problem import find_problem
from oragent.search.experiments import Subset

PROGRAM = """import numpy as np

WEIGHT = 0.0  # param: WEIGHT = 0.0, 0..1
NEAR = 2  # param: NEAR = 2, 1..9

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    nodes = np.array(sorted(unvisited_nodes))
    if WEIGHT > 5:
        print("far")
    near = np.sort(distance_matrix[nodes], axis=1)[:, :NEAR].mean(axis=1)
    return int(nodes[np.argmin(distance_matrix[current_node][nodes] - WEIGHT * near)])
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "heuristic.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("COLUMNS", "80")

    def call(*words: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["oragent", *words])
        with pytest.raises(SystemExit) as end:
            app.main()
        told = capsys.readouterr()
        return int(end.value.code or 0), told.out + told.err

    return call


@pytest.mark.slow
def test_a_probe_prints_a_table_and_json(command, program: Path) -> None:
    code, text = command("probe", "tsp_constructive", str(program), "--instances", "2:4")
    assert code == 0
    assert "size" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    code, text = command("probe", "tsp_constructive", str(program), "--instances", "2:4", "--json")
    tree = json.loads(text)["result"]
    (size,) = tree["sizes"]
    assert (code, size["size"], size["instances"], size["calls"]) == (0, 50, 2, 98)
    assert tree["score"] == size["score"]
    assert 0 < size["seconds"] < size["cpu_s"] < 60


@pytest.mark.slow
def test_a_sweep_ranks_settings_and_writes_the_best(command, program: Path, tmp_path: Path) -> None:
    best = tmp_path / "best.py"
    words = ["WEIGHT=0,0.4,0.8", "--instances", "4", "--write", str(best)]
    code, text = command("sweep", "tsp_constructive", str(program), *words)
    assert code == 0
    assert all(len(line) <= 80 for line in text.splitlines() if "wrote" not in line)
    rows = [line.split() for line in text.splitlines()[2:5]]
    assert [float(row[1]) for row in rows] == sorted(float(row[1]) for row in rows)
    result = oragent.probe("tsp_constructive", best, instances=4)
    assert f"{result.score:.6g}" == rows[0][1]
    assert f"WEIGHT = {float(rows[0][0])}  # param: WEIGHT = {float(rows[0][0])}, 0..1" in best.read_text()
    python = oragent.sweep("tsp_constructive", program, {"WEIGHT": [0, 0.4, 0.8]}, instances=4)
    assert python.best is not None
    assert python.best.score == result.score
    assert python.subset == Subset((50,), "4")


def test_settings_on_practice_instances_have_their_paired_difference_to_the_present_values(
    command, program: Path
) -> None:
    words = [
        "sweep",
        "tsp_constructive",
        str(program),
        "WEIGHT=0,0.8",
        "--practice",
        "--instances",
        "6",
        "--size",
        "20",
    ]
    code, text = command(*words, "--json")
    present, *others = json.loads(text)["result"]["rows"]
    assert code == 0
    assert present["difference"] is None
    for row in others:
        values, base = row["by_instance"]["20"], present["by_instance"]["20"]
        difference = sum(value - other for value, other in zip(values, base, strict=True)) / 6
        assert row["difference"]["mean"] == pytest.approx(difference)
        low, high = row["difference"]["interval"]
        assert low <= difference <= high
        assert f"{difference:+.4g}" in command(*words)[1]


@pytest.mark.slow
def test_declared_ranges_are_searched_without_a_word(command, program: Path) -> None:
    words = ["--instances", "2", "--settings", "6", "--json"]
    code, text = command("sweep", "tsp_constructive", str(program), *words)
    rows = json.loads(text)["result"]["rows"]
    assert code == 0
    assert {*rows[0]["values"]} == {"WEIGHT", "NEAR"}
    assert 5 <= len(rows) <= 7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["probe", "tsp_constructive", "PROGRAM", "--size", "20"], "train has no size 20; expected one of 50"),
        (["probe", "tsp_constructive", "PROGRAM", "--instances", "x"], "instances must be a number N or a range A:B"),
        (["sweep", "tsp_constructive", "PROGRAM", "HEIGHT=1,2"], "HEIGHT is no constant at the top of the program"),
        (["sweep", "tsp_constructive", "PROGRAM", "WEIGHT=2..1"], "smaller one"),
        (["sweep", "tsp_constructive", "PROGRAM", "WEIGHT=1,2", "--write", "missing/best.py"], "--write"),
        (["probe", "tsp_constructive", "missing.py"], "cannot read missing.py"),
    ],
)
def test_a_mistake_is_one_line(command, program: Path, words: list[str], message: str) -> None:
    code, text = command(*(str(program) if word == "PROGRAM" else word for word in words))
    assert code == 1
    assert message in text
    assert text.count("\n") == 1


@pytest.mark.slow
def test_a_timeout_says_how_far_it_came(command, tmp_path: Path) -> None:
    path = tmp_path / "slow.py"
    path.write_text(
        PROGRAM.replace("    nodes =", "    if len(unvisited_nodes) == 40:\n        sum(range(30000000))\n    nodes =")
    )
    code, text = command("probe", "tsp_constructive", str(path), "--seconds", "2", "--json")
    (size,) = json.loads(text)["result"]["sizes"]
    assert (code, size["status"], size["score"]) == (1, "timeout", None)
    # All 64 instances advance in step, and each takes its time at its tenth city: nine steps were answered.
    assert size["instances"] == 0
    assert "0 of 64 instances were done, and 576 of 3136 decisions of the next 64" in size["message"]


HEAVY = """import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    np.linalg.norm(distance_matrix)
    return min(unvisited_nodes)
"""


@pytest.mark.parametrize(("mode", "limits"), [("val", ("0.001", "0.25")), ("test", ("0.01", "2.5"))])
def test_an_evaluation_on_other_instances_has_the_limits_of_a_report(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str, limits: tuple[str, str]
) -> None:
    folder = tmp_path / "problems" / "tight"
    shutil.copytree(find_problem("tsp_constructive", Path()).folder, folder)
    description = folder / "problem.yaml"
    text = description.read_text().replace("timeout_s: 60", "timeout_s: 0.25")
    description.write_text(text.replace("heuristic_s: 10", "heuristic_s: 0.001"))
    jobs: list[Job] = []

    def run(runner: EvaluationRunner, job: Job) -> Evaluation:
        jobs.append(job)
        return Evaluation(Status.ERROR, output="--heuristic_s X --audit N")

    monkeypatch.setattr(EvaluationRunner, "__call__", run)
    oragent.evaluate(folder, HEAVY, mode=mode, root=tmp_path)
    monkeypatch.setattr("sys.argv", ["oragent", "eval", str(folder), "--mode", mode, "--root", str(tmp_path)])
    with pytest.raises(SystemExit):
        app.main()
    requested = [job for job in jobs if job.mode == mode]
    assert [(f"--heuristic_s={limits[0]}" in job.arguments, f"{job.limits.cpu_s:g}") for job in requested] == [
        (True, limits[1])
    ] * 2


@pytest.mark.slow
def test_a_probe_on_practice_instances_has_the_sizes_of_val(command, program: Path) -> None:
    code, text = command("probe", "tsp_constructive", str(program), "--practice", "--instances", "2")
    assert code == 0
    assert "seconds: size 20 " in text
    assert re.search(r"score \d+\.\d+ on practice, lower is better", text)
    code, text = command("sweep", "tsp_constructive", str(program), "NEAR=1,3", "--practice", "--instances", "1")
    assert (code, "3 settings on practice" in text) == (0, True)
    assert oragent.probe("tsp_constructive", program, practice=True, instances=1).sizes[0].instances == 3
    code, text = command("probe", "tsp_constructive", str(program), "--practice", "--size", "200")
    assert (code, text) == (1, "oragent: practice has no size 200; expected one of 20, 50, 100\n")


def test_a_problem_without_practice_instances_says_so(toy: Path) -> None:
    with pytest.raises(ProblemError):
        oragent.probe(toy, practice=True)
