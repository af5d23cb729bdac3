"""Programs that ship with problems: each has evidence, gets its score again, and no evaluation sees it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from oragent._base.errors import ProblemError
from oragent.cli.app import app
from oragent.discovered import load
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.capabilities import evaluator_arguments, find_options
from oragent.evaluation.discovered import find_discovered, list_discovered
from oragent.evaluation.job import DISCOVERED
from oragent.evaluation.problem import LimitSettings, Problem, evaluation_root, find_problem, list_problems
from oragent.evaluation.required_packages import describe_missing_package

ROOT = Path(__file__).parents[2]
SHIPPED = [(problem.name, title) for problem in list_problems(ROOT) for title in list_discovered(problem)]
EVIDENCE = """
best:
  why: it adds
  origin: written
  strategy: none
  seed: 0
  evaluations: 0
  calls: 0
  tokens: 0
  seconds: 0.1
  limit_s: null
  val: {seed: 2.0, best: 1.0}
  test: {seed: 2.0, best: 1.0, interval: [0.5, 1.5]}
  fresh: null
  harden: all pass
  date: '2026-11-27'
  duel: won in two rounds
  sets: {lattice: {seed: 4.25, best: 3.75, interval: [0.125, 0.875]}}
"""


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    folder = tmp_path / "problems" / "adding"
    (folder / DISCOVERED).mkdir(parents=True)
    (folder / "problem.yaml").write_text("title: t\ndescription: d\nfunction: f\n")
    (folder / "heuristic.py").write_text("def f(x):\n    return x\n")
    (folder / "eval.py").write_text("")
    (folder / DISCOVERED / "best.py").write_text("def f(x):\n    return x + 1\n")
    (folder / DISCOVERED / "evidence.yaml").write_text(EVIDENCE)
    return find_problem("adding", tmp_path)


def test_a_program_is_listed_found_and_loaded(problem: Problem, tmp_path: Path) -> None:
    assert list_discovered(problem)["best"].test.interval == (0.5, 1.5)
    assert find_discovered(problem, "best").name == "best.py"
    assert load("adding", root=tmp_path)(2) == 3
    with pytest.raises(ProblemError):
        load("adding", "other", root=tmp_path)
    shown = CliRunner().invoke(app, ["discovered", "adding", "--root", str(tmp_path)])
    assert shown.exit_code == 0
    assert list_discovered(problem)["best"].duel in shown.output
    row = next(line for line in shown.output.splitlines() if "lattice" in line)
    assert row.split()[:3] == ["lattice", "4.25", "3.75"]


def test_evaluations_do_not_depend_on_programs_and_do_not_see_them(problem: Problem) -> None:
    before = problem.companions.digest
    (problem.folder / DISCOVERED / "more.py").write_text("x = 1\n")
    assert problem.companions.digest == before
    job = problem.make_job(problem.seed, problem.folder, problem.make_limits(LimitSettings()))
    assert DISCOVERED in job.companion_folder.brought


@pytest.mark.parametrize("text", ["best: 3", "best: {why: x}", "[1", "other: {}"])
def test_broken_evidence_is_one_line(problem: Problem, text: str) -> None:
    (problem.folder / DISCOVERED / "evidence.yaml").write_text(text)
    with pytest.raises(ProblemError) as caught:
        list_discovered(problem)
    assert "\n" not in str(caught.value)


def test_a_program_that_is_missing_is_an_error_and_no_empty_list(problem: Problem, tmp_path: Path) -> None:
    (problem.folder / DISCOVERED / "best.py").unlink()
    for act in (list_discovered, lambda problem: find_discovered(problem, "best")):
        with pytest.raises(ProblemError):
            act(problem)
    with pytest.raises(ProblemError):
        load("adding", root=tmp_path)
    shown = CliRunner().invoke(app, ["discovered", "adding", "--root", str(tmp_path)])
    assert isinstance(shown.exception, ProblemError)


def test_a_problem_without_programs_has_none_to_load(problem: Problem, tmp_path: Path) -> None:
    (problem.folder / DISCOVERED / "evidence.yaml").unlink()
    assert list_discovered(problem) == {}
    with pytest.raises(ProblemError):
        load("adding", root=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "title"), SHIPPED)
def test_a_shipped_program_gets_its_score_again_at_the_smallest_size(name: str, title: str) -> None:
    problem = find_problem(name, ROOT)
    for requirement in problem.about.requires:
        if missing := describe_missing_package(requirement):
            pytest.skip(missing)
    evidence = list_discovered(problem)[title]
    size = min(evidence.val.sizes, key=int)
    with EvaluationRunner() as run:
        offers = find_options(problem, ROOT, run)
        settings = LimitSettings()
        arguments = evaluator_arguments(problem, settings, offers, patience=5.0)
        source = find_discovered(problem, title).read_text(encoding="utf-8")
        limits = problem.make_limits(settings, 5.0)
        result = run(problem.make_job(source, evaluation_root(problem, None), limits, "val", int(size), arguments))
    assert result.score == pytest.approx(evidence.val.sizes[size], rel=2e-3), result.message
