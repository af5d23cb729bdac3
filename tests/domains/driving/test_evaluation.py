"""The evaluator from its command line: statuses of bad candidates, what is missing, and what it leaves behind."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oragent._base.errors import ProblemError
from oragent._base.protocol import Result, parse
from oragent.authoring.bench import Level, ScoringBench, Seed
from oragent.authoring.seed_checks import check_function
from oragent.discovered import load
from oragent.domains.driving import evaluation, network
from oragent.domains.driving.evaluation import DrivingBaseline
from oragent.domains.driving.network import Road
from oragent.domains.driving.scenario import LONG, WEAVING, Course, Scenario
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.problem import load_problem
from oragent.report.solution_pictures import is_plain_svg
from oragent.search.genetics.variation import child_of_seed
from tests.extras import need

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "problems" / "driving"
IDLE = '{"veh_id": vehicle["veh_id"], "acceleration": 0.0, "lane_changing": 0}'
CANDIDATE = """
import time


def driving_actions(edge_info, vehicles_info):
    actions = [{idle} for vehicle in vehicles_info]
    {body}
    return actions
"""
THIRD = "light, demand seed 1, second "


def evaluated(candidate: Path, *arguments: str, cwd: Path, **extra: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, the error's fields (empty where there is none), standard output."""
    command = [sys.executable, FOLDER / "eval.py", f"--root_dir={ROOT}", f"--candidate={candidate}", *arguments]
    paths = os.pathsep.join(filter(None, (extra.pop("PYTHONPATH", ""), str(ROOT))))
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": paths, **extra}
    )
    lines = done.stdout.splitlines()
    fields = json.loads(lines[lines.index("__SANDBOX_ERROR__") + 1]) if "__SANDBOX_ERROR__" in lines else {}
    return done.returncode, fields, done.stdout + done.stderr


def failed(tmp_path: Path, body: str) -> tuple[str, str]:
    """Status and message of a candidate that does ``body`` in mode train."""
    need("libsumo")
    candidate = tmp_path / "candidate.py"
    candidate.write_text(CANDIDATE.format(idle=IDLE, body=body))
    code, fields, output = evaluated(candidate, "--mode=train", "--problem_size=2", cwd=tmp_path)
    assert code == 1, output
    assert [path.name for path in tmp_path.iterdir()] == ["candidate.py"]
    return fields["status"], fields["message"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ('actions[0]["acceleration"] = float("nan")', "invalid", "acceleration nan for vehicle v"),
        ('actions[0]["veh_id"] = "v9999"', "invalid", "an action for vehicle 'v9999', which is not on the road"),
        ("raise ValueError(actions[0]['veh_id'])", "error", "ValueError: v"),
        *(
            pytest.param(*fault, marks=pytest.mark.slow)
            for fault in [
                ("actions = actions[1:]", "invalid", "no action for vehicle v"),
                ("actions = actions * 5000", "invalid", "actions for 1 vehicles"),
                ('actions[0]["lane_changing"] = 3', "invalid", "lane_changing 3 for vehicle v"),
                ("time.sleep(60)", "timeout", "took too long for one call"),
                ("edge_info.clear()\n    vehicles_info.clear()\n    actions = 7", "invalid", "returned a int"),
            ]
        ),
    ],
)
def test_a_bad_candidate_gets_a_status_with_second_and_vehicle(
    tmp_path: Path, body: str, status: str, said: str
) -> None:
    found, message = failed(tmp_path, body)
    assert found == status
    assert said in message
    assert f"({THIRD}" in message


REMEMBERING = """

alone, SECONDS = driving_actions, [0]


def driving_actions(edge_info, vehicles_info):
    SECONDS[0] += 1
    return [action | {"acceleration": action["acceleration"] - SECONDS[0] / 1000}
            for action in alone(edge_info, vehicles_info)]
"""


@pytest.mark.parametrize(("more", "status"), [pytest.param("", "", marks=pytest.mark.slow), (REMEMBERING, "rejected")])
def test_a_controller_that_remembers_is_found_by_the_check(tmp_path: Path, more: str, status: str) -> None:
    need("libsumo")
    candidate = tmp_path / "candidate.py"
    candidate.write_text((FOLDER / "heuristic.py").read_text() + more)
    arguments = ("--mode=train", "--problem_size=2", "--check")
    code, fields, output = evaluated(candidate, *arguments, cwd=tmp_path)
    assert fields.get("status", "") == status, output
    if more:
        assert "without a memory of other calls" in fields["message"]
        assert re.search(r"light, demand seed \d+, second \d+", fields["message"])
    else:
        assert (code, "'checked': 20" in output) == (0, True)
        assert "'accidents': 0.0" in output  # where searches start, nobody collides


@pytest.mark.slow
def test_a_controller_that_remembers_is_found_by_check() -> None:
    need("libsumo")
    problem = load_problem(FOLDER)
    remembering = replace(problem, seed=problem.seed + REMEMBERING)
    with EvaluationRunner() as run:
        bench = ScoringBench(remembering, ROOT, problem.about.timeout_s, child_of_seed, run)
        train = bench.run(mode="train")
        finding = check_function(bench, Seed(train, train))
    assert finding.level is Level.FAILURE
    assert "it remembers: calls in another order get other answers" in finding.detail


@pytest.mark.slow
def test_without_sumo_the_evaluator_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "libsumo.py").write_text("raise ImportError('No module named libsumo')")
    code, fields, _ = evaluated(FOLDER / "heuristic.py", "--mode=train", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert code == 1
    assert fields["status"] == "crashed"
    assert "SUMO is not installed" in fields["message"]
    assert f"pip install -e '{ROOT}[driving]'" in fields["message"]
    assert fields["traceback"] == ""


@pytest.mark.parametrize("name", ["libsumo", "traci", "sumo"])
def test_each_missing_part_of_sumo_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)  # importing it fails, as if it were not there
    with pytest.raises(ProblemError, match="driving"):
        network.binary("netconvert") if name == "sumo" else network.load(name)


def test_the_kept_throughputs_are_those_of_this_sumo_or_are_simulated(road: Road, tmp_path: Path) -> None:
    kept = DrivingBaseline(FOLDER / "sumo_throughput.json", lambda rules: road, tmp_path)
    none = DrivingBaseline(tmp_path / "missing.json", lambda rules: road, tmp_path)
    scenario = Scenario(2, 1, horizon=300)
    assert kept.throughput(scenario) == none.throughput(scenario) > 0


@pytest.mark.parametrize(
    ("course", "count"), [(WEAVING, 2 * (2 + 16 + 30 + 20 + 4 * 4)), (LONG, 1 + 3 * (2 + 4) + 4 * 2)]
)
def test_every_scenario_of_a_problem_has_a_kept_throughput(course: Course, count: int) -> None:
    need("sumo", "libsumo")
    figures = json.loads((ROOT / course.baseline).read_text())["figures"]
    wanted = {
        scenario.digest
        for mode, sizes in course.sizes.items()
        if mode != "fresh"  # which is timed when it is drawn
        for of_case in course.demands(mode, sizes).values()
        for scenario in of_case
    }
    assert {one["digest"] for one in figures} == wanted
    assert len(wanted) == count


@pytest.mark.parametrize("course", [WEAVING, LONG], ids=["weaving", "long"])
def test_no_mode_sees_the_demands_of_another(course: Course) -> None:
    seeds = [set(of_mode) for of_mode in course.seeds.values()]
    assert sum(map(len, seeds)) == len(set().union(*seeds))
    assert set(WEAVING.protocol["val"]).isdisjoint(WEAVING.protocol["test"])


def test_an_evaluation_tells_score_losses_and_the_published_protocol(tmp_path: Path) -> None:
    need("libsumo")
    seen: dict[str, Any] = {}
    data = tmp_path / "data"
    data.mkdir()
    for name in ("light", "heavy"):
        (data / f"{name}.txt").write_text("0 1 p,3 2 t,5 2 b")
    setup = evaluation.Setup(WEAVING, "train", (2,), ROOT, prefix=f"{tmp_path}/", data=data)
    found = evaluation.evaluate(
        setup, lambda name: load("driving", root=ROOT), paint=lambda ended, road: seen.update(ended)
    )
    assert list(found.scores) == [2]
    assert len(found.scores[2]) == 2
    assert 0 < found.metrics["true_score"] <= 100
    assert "paper_protocol" not in found.metrics
    assert found.metrics["paper_files"]["score"] <= 100
    assert set(found.metrics["paper_files"]) == {"score", "light", "heavy"}
    assert seen["candidate"].scenario.name == found.metrics["worst"]["demand"]
    assert any(second.places for second in seen["candidate"].seconds)
    assert list(tmp_path.iterdir()) == [data]


@pytest.mark.slow
def test_pictures_and_the_published_demands_are_options(tmp_path: Path) -> None:
    need("libsumo")
    for name in ("light", "heavy"):
        (tmp_path / f"{name}.txt").write_text("0 1 p,3 2 t,5 2 b")
    code, _, output = evaluated(
        FOLDER / "naive.py", "--mode=train", "--problem_size=2", "--beside", f"--data={tmp_path}", cwd=tmp_path
    )
    assert code == 0, output
    assert "'paper_files': {'score':" in output
    assert {path.name for path in tmp_path.iterdir()} == {
        "light.txt", "heavy.txt", "driving_worst.gif", "driving_worst_time_space.png",
    }  # fmt: skip
    code, fields, _ = evaluated(FOLDER / "naive.py", "--mode=train", "--data=/nowhere", cwd=tmp_path)
    assert (code, fields["status"]) == (1, "crashed")
    assert fields["message"].startswith("the folder /nowhere does not exist")


def test_a_figure_of_another_sumo_is_not_taken(road: Road, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario(2, 1, horizon=60)
    monkeypatch.setattr(evaluation, "throughput", lambda scenario, road, folder: 7)
    file = tmp_path / "kept.json"
    evaluation.write_baseline(file, [scenario], lambda rules: road, tmp_path)
    monkeypatch.setattr(evaluation, "throughput", lambda scenario, road, folder: 8)
    assert DrivingBaseline(file, lambda rules: road, tmp_path).throughput(scenario) == 7
    monkeypatch.setattr(network, "versions", lambda: "9.9 9.9")
    assert DrivingBaseline(file, lambda rules: road, tmp_path).throughput(Scenario(2, 1, horizon=60)) == 8


def test_a_broken_file_of_figures_is_named(road: Road, tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text("{}")
    with pytest.raises(ProblemError, match="kept"):
        DrivingBaseline(tmp_path / "kept.json", lambda rules: road, tmp_path)


@pytest.mark.slow
def test_ten_evaluations_in_a_row_leave_nothing_behind(tmp_path: Path) -> None:
    need("libsumo")
    sandbox = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    outputs = set()
    for count in range(10):
        flag = ("--traci",) if count % 2 else ()
        code, _, output = evaluated(
            FOLDER / "heuristic.py", "--mode=train", "--problem_size=2", *flag, cwd=tmp_path, **sandbox
        )
        assert code == 0, output
        outputs.add(output[output.index("__SCORE_START__") :])
        assert list(tmp_path.iterdir()) == []
    assert len(outputs) == 1  # under both backends
    assert "sumo" not in {path.read_text().strip() for path in Path("/proc").glob("[0-9]*/comm") if is_ours(path)}


def is_ours(comm: Path) -> bool:
    try:
        return str(ROOT) in (comm.parent / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return False


def test_the_road_is_not_built_where_an_evaluation_finds_it(road: Road) -> None:
    assert road.file.parent == network.CACHE


@pytest.mark.slow
def test_the_first_drives_of_each_size_are_drawn_with_their_scores(tmp_path: Path) -> None:
    need("libsumo")
    code, _, output = evaluated(
        FOLDER / "heuristic.py", "--mode=train", "--draw_solutions", "--file_output_prefix=p_", cwd=tmp_path
    )
    assert code == 0, output
    result = parse(output)
    assert isinstance(result, Result)
    names = [f"size_{size}_instance_{index}" for size in (2, 3) for index in range(2)]
    assert list(result.metrics["drawn"]) == names
    for size in (2, 3):
        values = [result.metrics["drawn"][f"size_{size}_instance_{index}"] for index in range(2)]
        assert sum(values) / 2 == pytest.approx(result.metrics[f"score_{size}"])
    for name in names:
        picture = (tmp_path / f"p_{name}.svg").read_bytes()
        assert is_plain_svg(picture)
        assert picture.count(b"<path") > 3
        assert len(picture) < 100_000
