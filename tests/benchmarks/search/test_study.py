"""The study by one command: its layouts, its table, and a run of it that is killed halfway."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from oragent._base.errors import ConfigError, ProblemError
from oragent.evals.bench.result import execute_plan
from oragent.evals.compare.command import write_report
from oragent.evals.compare.plan import MANIFEST, cell_config
from oragent.evals.compare.runner import load_comparison
from oragent.evaluation.pool import JobPool
from oragent.llm.model import Reply, Request
from oragent.search.config import Config
from oragent.search.engine import Engine
from oragent.search.events import SearchResult
from oragent.search.genetics.variation import breed_child
from oragent.search.store import Store
from oragent.search.strategies import STRATEGIES
from oragent.search.strategies.scripted import make_player
from oragent_benchmarks.search.study import (
    LAYOUTS,
    METHODS,
    PART_ONE,
    PART_TWO,
    PRINTED,
    TWELVE,
    StudyRequest,
    StudyRunner,
    average_shares,
    join_tables,
    list_contestants,
    make_study_plan,
    make_tables,
    normalise_scores,
    write_markdown,
)
from tests.cli.test_cli import oragent
from tests.conftest import DESCRIPTION, EVALUATOR
from tests.search.test_engine import scored

ROOT = Path(__file__).parents[3]
# Raw scores of the study's table: FunSearch, AEL, EoH, ReEvo, OR-Agent; 1 where more is better.
RAW = {
    "tsp_constructive": (-1, (6.298, 6.249, 6.254, 6.242, 6.245)),
    "tsp_aco": (-1, (6.005, 6.013, 6.001, 6.005, 5.981)),
    "tsp_pomo": (-1, (20.556, 20.335, 20.330, 20.382, 20.356)),
    "cvrp_aco": (-1, (7.197, 7.099, 6.953, 7.082, 7.031)),
    "cvrp_pomo": (-1, (67.544, 44.944, 58.105, 52.157, 45.264)),
    "cvrp_lehd": (-1, (29.409, 29.389, 29.348, 29.407, 29.338)),
    "bpp_online": (-1, (2017.0, 2011.0, 2029.8, 2080.0, 2014.6)),
    "bpp_offline_aco": (-1, (127.094, 127.109, 127.320, 127.094, 126.539)),
    "dpp_ga": (1, (13.283, 13.248, 13.367, 13.271, 13.342)),
    "mkp_aco": (1, (35.793, 35.557, 35.737, 35.827, 35.841)),
    "op_aco": (1, (23.142, 23.265, 22.835, 23.305, 23.229)),
}


@pytest.mark.parametrize("problem", RAW)
def test_normalised_scores_are_those_that_the_study_printed(problem: str) -> None:
    sign, raw = RAW[problem]
    found = normalise_scores(dict(zip(METHODS, raw, strict=True)), sign)
    assert found is not None
    for name, printed in zip(METHODS, PRINTED[problem], strict=True):
        assert found[name] == pytest.approx(printed, abs=0.03)  # raw scores are printed with three decimals


def test_equal_scores_have_no_scale() -> None:
    assert normalise_scores({"a": 2.0, "b": 2.0}, 1) is None
    assert normalise_scores({"a": 2.0, "b": 4.0, "c": 3.0}, -1) == {"a": 1.0, "b": 0.0, "c": 0.5}


@pytest.mark.parametrize("name", ["table1", "reflection", "driving"])
def test_every_layout_is_a_plan_of_real_problems_and_settings(name: str, tmp_path: Path) -> None:
    asked = StudyRequest(name, 1.0, 1, (), ["model.name=scripted"], tmp_path)
    layout, plan = make_study_plan(asked, ROOT)
    assert tuple(plan.subjects) == layout.problems
    found = {cell.contestant: cell_config(plan, cell) for cell in plan.cells}
    assert list(found) == (list(layout.variants) or list(METHODS))
    for one in found.values():
        budget = one.budget
        assert (budget.evaluations, budget.model_calls, budget.until) == (500, 500, "both")
        assert (one.protocol, one.strategy.blocks, one.limits.heuristic_s) == ("oragent", "none", None)


def test_what_is_varied_is_what_the_layout_says() -> None:
    def varied(name: str, key: str) -> list[object]:
        return [
            one["settings"]["or_agent"][key]
            for one in list_contestants(LAYOUTS[name], name, 1.0)
            if "or_agent" in one["settings"]
        ]

    assert varied("fig7", "depth") == [1, 3, 5]
    assert varied("fig8", "memory_words") == [100, 200, 400, None]
    assert varied("elitist", "elitist_period") == [2, 4, 8, 16, 32]
    assert varied("reflection", "memory_in_crossover") == [False, True]
    assert varied("ideas", "ideas") == ["coordinated", "independent"]
    assert varied("driving", "depth") == [5]
    assert all(len(list_contestants(layout, name, 1.0)) >= 2 for name, layout in LAYOUTS.items())
    assert sorted((*PART_ONE, *PART_TWO)) == sorted(TWELVE) == sorted(PRINTED)


def test_first_populations_go_with_the_scale(tmp_path: Path) -> None:
    _, plan = make_study_plan(StudyRequest("table1", 0.5, 1, ("op_aco",), ["model.name=scripted"], tmp_path), ROOT)
    found = {cell.contestant: cell_config(plan, cell) for cell in plan.cells}
    assert found["or_agent"].or_agent.initial_ideas == 10
    assert [found[name].strategy.options[key] for name, key in (("eoh", "first"), ("reevo", "initial"))] == [10, 10]
    assert found["eoh"].budget.evaluations == 250


def test_nonsense_is_one_line(tmp_path: Path) -> None:
    for name, scale, problems, said in (
        ("table2", 1.0, (), "the study has no 'table2'"),
        ("fig7", 1.0, ("tsp_aco",), "fig7 has no problem 'tsp_aco'"),
        ("table1", 0.0, (), "--scale must be above 0"),
    ):
        with pytest.raises(ConfigError, match=said):
            make_study_plan(StudyRequest(name, scale, 1, problems, ["model.name=scripted"], tmp_path), ROOT)
    with pytest.raises(ConfigError):
        make_study_plan(StudyRequest("table1", 1.0, 1, ("op_aco",), [], tmp_path), ROOT)


def toys(root: Path, *names: str) -> None:
    """A project whose problems are toys under the names of the study's."""
    for place, name in enumerate(names):
        folder = root / "problems" / name
        folder.mkdir(parents=True)
        described = DESCRIPTION if place % 2 else DESCRIPTION.replace("minimize", "maximize")
        (folder / "problem.yaml").write_text(described)
        (folder / "eval.py").write_text(EVALUATOR)
        (folder / "heuristic.py").write_text("def guess(x):\n    return x * 2.0\n")


class Launched:
    """Sees searches through in this process, and counts what is asked; may be killed after so many calls."""

    def __init__(self, most: int = 10**9) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()
        self.left = most

    def __call__(self, settings: Config, root: Path, problem, opening: Callable, observer: Callable) -> SearchResult:
        folder, script = opening(), make_player(settings.seed, breed_child)

        async def model(request: Request) -> Reply:
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            reply = await script(request)
            self.asked[str(folder.path), request.key] += 1  # who is killed while a reply is under way asks again
            return reply

        pool = JobPool(1, scored)
        with Store(folder.database) as store:
            try:
                engine = Engine(folder, store, pool, STRATEGIES[settings.strategy_name], model, observer)
                return asyncio.run(engine.run())
            finally:
                pool.close()


def filled(asked: StudyRequest, root: Path, launched: Launched):
    _, plan = make_study_plan(asked, root)
    MANIFEST.write_plan(plan, asked.outputs)
    runner = StudyRunner(plan, launching=launched)
    for done in execute_plan(plan, runner, asked.outputs):
        if done.end.stopped:
            return None
    return load_comparison(plan, runner, asked.outputs)


@pytest.mark.slow
def test_a_table_that_is_killed_halfway_goes_on_and_asks_nothing_twice(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(
        "oragent.evals.compare.runner.write_report", lambda path: path
    )  # pages of single runs take seconds
    toys(tmp_path, "op_aco")
    asked = StudyRequest(
        "table1", 0.01, 1, ("op_aco",), ["model.name=scripted", "strategy.patience=60"], tmp_path / "study"
    )
    first, second = Launched(25), Launched()
    assert filled(asked, tmp_path, first) is None
    found = filled(asked, tmp_path, second)
    assert not found.unfinished
    assert first.asked.keys().isdisjoint(second.asked.keys())
    assert max((first.asked | second.asked).values()) == 1
    small = make_tables(found.summary)
    table = join_tables(small)
    assert table.heads[: 1 + len(METHODS)] == ("problem", *METHODS)
    finals = {row.contestant: row.means["val"].mean for row in found.summary.subjects[0].rows}
    shares = normalise_scores(finals, 1)
    assert shares == average_shares(found.summary)
    assert [cell.split("(")[1].rstrip(")") for cell in table.rows[0][1:6]] == [
        f"{shares[name]:.3f}" for name in METHODS
    ]
    assert write_markdown(table).count("\n") == 4
    assert [one.heads for one in small.values()] == [("problem", *METHODS)] * 3
    assert small["scores"].rows[0][1] == table.rows[0][1].split()[0]
    assert [row[0] for row in small["from the worst (0) to the best (1)"].rows] == ["op_aco", "average"]
    assert [row[5] for row in small["the same, as the study printed it"].rows] == ["0.839", "0.839"]
    assert "op_aco" in write_report(found).read_text()  # nothing was scored on the held-out set
    spent = [result.spent for result in found.summary.results]
    assert all(one.work >= 5 and one.calls >= 5 for one in spent)


@pytest.mark.slow
def test_a_problem_that_cannot_be_scored_here_is_left_out_and_the_others_go_on(tmp_path: Path, monkeypatch) -> None:
    """The study's instances of some problems are files that each has to fetch."""
    monkeypatch.setattr("oragent.evals.compare.runner.write_report", lambda path: path)
    toys(tmp_path, "tsp_lehd", "op_aco")
    tried: list[str] = []

    def launched(settings: Config, root: Path, problem, *others) -> SearchResult:
        tried.append(problem.name)
        if problem.name == "tsp_lehd":
            raise ProblemError("its instances are not here")
        return Launched()(settings, root, problem, *others)

    asked = StudyRequest("table1", 0.01, 1, ("tsp_lehd", "op_aco"), ["model.name=scripted"], tmp_path / "study")
    found = filled(asked, tmp_path, launched)
    assert tried == ["tsp_lehd", *["op_aco"] * len(METHODS)]
    assert [row[0] for row in join_tables(make_tables(found.summary)).rows] == ["op_aco", "average"]
    assert {cell.subject for cell in found.unfinished} == {"tsp_lehd"}
    assert write_report(found).is_file()


@pytest.mark.slow
def test_a_table_that_was_killed_is_the_table_that_was_not(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("oragent.evals.compare.runner.write_report", lambda path: path)
    toys(tmp_path, "op_aco", "tsp_aco")
    words = ("table1", 0.02, 1, ("op_aco", "tsp_aco"), ["model.name=scripted", "strategy.patience=60"])
    broken, whole = (StudyRequest(*words, tmp_path / name) for name in ("broken", "whole"))
    for calls in (30, 90, 50):
        assert filled(broken, tmp_path, Launched(calls)) is None
    found = [filled(one, tmp_path, Launched()) for one in (broken, whole)]
    assert make_tables(found[0].summary) == make_tables(found[1].summary)


@pytest.mark.slow
def test_the_command_fills_table_one_and_the_same_command_goes_on(tmp_path: Path) -> None:
    toys(tmp_path, *TWELVE)
    words = ("bench", "study", "table1", "--scale", 0.02, "--model", "scripted", "--outputs", "s")
    done = oragent(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "s" / "study.md").read_text()
    assert all(f"| {name} |" in text for name in TWELVE)
    assert (tmp_path / "s" / "report.html").is_file()
    again = oragent(*words, cwd=tmp_path)
    assert again.stdout.count("complete before") == 60
    assert (tmp_path / "s" / "study.md").read_text() == text
    tree = yaml.safe_load((tmp_path / "s" / "comparison.yaml").read_text())
    assert len(tree["strategies"]) == 5
