"""Sizes and values of instances in prompts for strong models."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from oragent.harness import figures
from oragent._base.budget import Budget, Spent
from oragent._base.direction import Direction
from oragent._base.racing import displayed_metrics
from oragent.evaluation.named_sets import InstanceSet
from oragent.evaluation.noise import ProblemNoise, SizeNoise, write_noise
from oragent.evaluation.problem import LimitSettings, Problem, load_problem
from oragent.search.archive import Archive
from oragent.search.candidate import Elite
from oragent.search.journal import Moment
from oragent.search.prompting.instance_values import (
    SHOWN,
    describe_instances,
    describe_noise,
    describe_parts,
    describe_references,
    describe_sizes,
)
from oragent.search.prompting.prompt_templates import describe_test_limits
from oragent.search.prompting.search_summary import budget_left
from oragent.search.round_context import RoundContext
from tests.sources import ROOT

PROBLEM = load_problem(ROOT / "problems/tsp_aco")
SIZES: dict[str, tuple[int, ...]] = {"val": (20, 50), "test": (20, 100), "fresh": (200,)}


def context(elites: list[Elite], size: int | None = None) -> RoundContext:
    """What the functions read of a round."""
    archive = SimpleNamespace(elites=lambda: elites, fitness=Direction.MINIMIZE.fitness)
    run = SimpleNamespace(
        context=SimpleNamespace(store=SimpleNamespace(meta=lambda key: None)),
        archive=cast(Archive, archive),
        solutions=[],
        moment=SimpleNamespace(findings=[]),
        settings=SimpleNamespace(problem_size=size, limits=LimitSettings()),
        problem=replace(PROBLEM, about=replace(PROBLEM.about, sizes=SIZES, timeout_s=30, heuristic_s=4)),
    )
    return cast(RoundContext, run)


def elite(name: str, score: float, values: Any) -> Elite:
    return Elite(id=name, source=name, score=score, features=None, metrics={"by_instance": values})


def test_instances_of_best_and_parent_are_listed_side_by_side() -> None:
    many = [float(value) for value in range(SHOWN + 3)]
    best, parent = (
        elite("best", 1.0, {"20": [1.0, 2.5], "50": many}),
        elite("parent", 2.0, {"20": [2.0, 2.5], "50": many}),
    )
    text = describe_instances(context([parent, best]), parent)
    assert "- size 20, program to change: 2, 2.5\n- size 20, best: 1, 2.5\n" in text
    assert text.count("and 3 more") == 2
    assert "program to change" not in describe_instances(context([best]), best)
    assert describe_instances(context([elite("x", 1.0, None)]), None) == ""
    assert describe_instances(context([]), None) == ""


@pytest.mark.parametrize(
    ("bounds", "numbers"),
    [
        (Budget(evaluations=10, seconds=1800), ["3", "20"]),
        (Budget(evaluations=8), ["1"]),
        (Budget(seconds=300), ["0"]),
        (Budget(tokens=5), []),
    ],
)
def test_what_is_left_of_the_budget_is_told(bounds: Budget, numbers: list[str]) -> None:
    spent = Spent(evaluations=7)
    run = SimpleNamespace(
        settings=SimpleNamespace(budget=bounds),
        case=SimpleNamespace(allowance=bounds.remaining(spent)),
        used=Spent(),
        history=[SimpleNamespace(elapsed_s=200.0), SimpleNamespace(elapsed_s=600.0)],
    )
    text = budget_left(cast(RoundContext, run), cast(Moment, SimpleNamespace(spent=spent)))
    assert re.findall(r"\d+", text) == numbers


def test_sizes_of_the_test_set_are_named_unless_one_size_is_searched() -> None:
    text = describe_sizes(context([]))
    assert "20, 50;" in text
    assert "100, 200" in text
    assert describe_sizes(context([], size=20)) == ""


def test_time_limits_of_the_test_set_are_its_own_where_the_problem_states_some() -> None:
    run = context([])
    assert re.findall(r"\d+", describe_sizes(run).partition("On test")[2]) == ["300", "40"]
    about = replace(run.problem.about, sets={"test": InstanceSet(timeout_s=60, heuristic_s=21)})
    own = replace(run.problem, about=about)
    assert re.findall(r"\d+", describe_test_limits(own, LimitSettings())) == ["60", "21"]
    assert re.findall(r"\d+", describe_test_limits(own, LimitSettings(heuristic_s=None))) == ["60"]


def test_references_of_the_score_are_named_beside_it() -> None:
    def described(metrics: dict[str, Any]) -> str:
        best = Elite(id="best", source="best", score=181.2, features=None, metrics=metrics)
        return describe_references(context([best]))

    metrics, _ = figures(
        "cost", {20: [180.0, 182.4]}, references={"best known": {20: [169.0, 171.0]}, "relaxation": {20: [155, 155]}}
    )
    text = described(metrics)
    assert re.findall(r"[\d.]*\d", text) == ["181.2", "170", "155"]
    # The means of the table of references, which a read of the file confirms.
    table = yaml.safe_load((ROOT / "problems/tsp_aco/references.yaml").read_text())["sets"]["val"]
    known = described({"gap_percent_20": 1.0, "gap_percent_50": -1.0}).partition("The mean of these")[2]
    named = [float(number) for number in re.findall(r"\d+\.\d+", known)]
    assert named == pytest.approx([table[20]["mean"], table[50]["mean"]], rel=1e-5)
    assert described({"gap_percent_7": 1.0})
    for damaged in ({"cost_20": 1.0}, {"references": 3}, {"references": {"bound": "x", "other": float("nan")}}):
        assert described(damaged) == ""
    assert describe_references(context([])) == ""


def test_measured_noise_of_a_problem_is_told_and_a_problem_without_it_says_nothing(tmp_path: Path) -> None:
    problem = cast(Problem, SimpleNamespace(folder=tmp_path))
    assert describe_noise(problem) == ""
    noise = ProblemNoise([1.0, 2.0], 0.625, {"20": SizeNoise(4, 1.5, 0.25)}, 0.01, 0.03125)
    write_noise(tmp_path, noise)
    assert re.findall(r"\d[\d.]*", describe_noise(problem)) == ["0.62", "3.1"]
    write_noise(tmp_path, replace(noise, paired_spread=None, shown=None))
    assert re.findall(r"\d[\d.]*\d", describe_noise(problem)) == ["0.62"]
    (tmp_path / "noise.yaml").write_text("scores: 3")
    assert describe_noise(problem) == ""


def test_parts_of_the_score_are_listed_by_size_and_instance() -> None:
    late, setups = {20: [4.0, 6.0], 50: [1.0]}, {20: [1.0, 1.5], 50: [0.25]}
    total = {size: [a + b for a, b in zip(late[size], setups[size], strict=True)] for size in late}
    metrics, score = figures("cost", total, parts={"late": late, "setups": setups})
    assert score == (6.25 + 1.25) / 2
    best = Elite(id="best", source="best", score=score, features=None, metrics=metrics)
    lines = describe_parts(context([best])).split("\n")[1:]
    assert lines == [
        "- size 20, late: mean 5: 4, 6",
        "- size 20, setups: mean 1.25: 1, 1.5",
        "- size 50, late: mean 1: 1",
        "- size 50, setups: mean 0.25: 0.25",
    ]
    assert "parts" not in " ".join(displayed_metrics(metrics))
    for damaged in ({}, {"parts_by_instance": {"late": {"20": ["x"]}}}, {"parts_by_instance": [1]}):
        assert describe_parts(context([elite("best", 1.0, {"20": [1.0]}), replace(best, metrics=damaged)])) == ""
