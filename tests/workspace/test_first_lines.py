"""Status, figure, verdict and exit code of ``workspace run``, ``whatif`` and ``verify``, against SciPy."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from oragent.modelling.data.links import LinkedVector
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.objectives import IndexedObjective
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.operations.results import Figure
from oragent.modelling.operations.stages import StageOutcome
from oragent.workspace.model_commands import VerbCommands, print_verb_result
from oragent.workspace.model_results import RunResult
from oragent.workspace.model_tasks import _is_preserved
from oragent.workspace.settings import NO_OPTIONS, EffortOptions
from tests.workspace.release import put
from tests.workspace.teams import begin

FIGURES = {"flour": 100.0, "oven": 40.0, "order": 10.0, "rye": 4.0, "wheat": 3.0, "rent": 12.5, "sense": -1.0}
PROGRAM = """import csv, pathlib
import pulp

with open(pathlib.Path(__file__).resolve().parents[1] / "data" / "figures.csv", newline="") as file:
    p = {row["name"]: float(row["value"]) for row in csv.DictReader(file)}
problem = pulp.LpProblem("bakery", pulp.LpMaximize if p["sense"] < 0 else pulp.LpMinimize)
rye, wheat = pulp.LpVariable("rye", 0), pulp.LpVariable("wheat", 0)
problem += p["rye"] * rye + p["wheat"] * wheat - p["rent"]
if p["flour"] < 1000:
    problem += rye + wheat <= p["flour"], "flour"
problem += rye <= p["oven"], "oven"
problem += rye >= p["order"], "order"
# more
problem.solve()
print(pulp.value(problem.objective))
"""
# What a situation changes in the figures.
SITUATIONS = {
    "optimal": {},
    "least": {"sense": 1.0, "rye": 2.0, "wheat": 5.0},
    "negative": {"rye": -4.0, "wheat": -1.0},
    "infeasible": {"order": 41.0},
    "unbounded": {"flour": 1000.0},
}  # fmt: skip


def truth(changes: dict[str, float], most_rye: float = np.inf) -> tuple[str, float | None]:
    """Return the status and the optimum by SciPy."""
    p = FIGURES | changes
    flour = [[1.0, 1.0]] if p["flour"] < 1000 else []
    bounds = [(p["order"], min(p["oven"], most_rye)), (0, None)]
    cost = p["sense"] * np.array([p["rye"], p["wheat"]])
    if bounds[0][0] > bounds[0][1]:
        return "infeasible", None
    found = linprog(cost, A_ub=flour or None, b_ub=[p["flour"]] if flour else None, bounds=bounds)
    status = {0: "optimal", 2: "infeasible", 3: "unbounded"}[found.status]
    return status, p["sense"] * found.fun - p["rent"] if found.status == 0 else None


def make_folder(folder: Path, changes: dict[str, float], program: str = PROGRAM, **more: float) -> Path:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("name", "value"), *(FIGURES | changes | more).items()])
    put(folder, {"src/bakery.py": program, "data/figures.csv": out.getvalue(), "docs/a.md": "# Bakery\n"})
    return folder


def run_verb(folder: Path, name: str, *words: Any, effort: EffortOptions = NO_OPTIONS) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the result."""
    console = Console(file=io.StringIO(), width=200)
    code = getattr(VerbCommands(folder, console, effort, as_json=True), name)(*words)
    return code, json.loads(console.file.getvalue())


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_run_has_the_status_and_the_optimum_of_its_model(tmp_path: Path, situation: str) -> None:
    status, optimum = truth(SITUATIONS[situation])
    code, result = run_verb(make_folder(tmp_path, SITUATIONS[situation]), "run")
    console = Console(file=io.StringIO(), width=200)
    print_verb_result(RunResult.model_validate(result), console)
    text = console.file.getvalue()
    assert (code, result["ok"]) == ((0, True) if optimum is not None else (3, False))
    assert result["status"] == status
    assert result["objective"]["value"] == (None if optimum is None else pytest.approx(optimum))
    assert result["sense"] == ("minimize" if situation == "least" else "maximize")
    assert (result["variables"], result["rows"]) == (2, 3 - (situation == "unbounded"))
    assert status in text
    assert optimum is None or f"{optimum:g}" in text


@pytest.mark.parametrize("situation", ["negative", "infeasible", "unbounded"])
def test_a_whatif_has_both_optima_and_their_difference(tmp_path: Path, situation: str) -> None:
    changes = SITUATIONS[situation]
    (_, before), (status, after) = truth({}), truth(changes)
    lines = [f"data/figures.csv[{name}, value] = {value:g}" for name, value in changes.items()]
    code, result = run_verb(make_folder(tmp_path, {}), "try_changes", lines)
    assert (code, result["ok"], result["status"]) == (0 if after is not None else 3, after is not None, status)
    assert result["objective"]["before"]["value"] == pytest.approx(before)
    assert result["objective"]["after"]["value"] == (None if after is None else pytest.approx(after))
    assert [cell[1:] for cell in result["cells"]] == [
        [f"{FIGURES[name]}", f"{value:g}"] for name, value in changes.items()
    ]
    # Nothing was written.
    assert f"flour,{FIGURES['flour']}" in (tmp_path / "data/figures.csv").read_text()


REVISIONS = {
    # A rule with a figure of its own, which is neutral at 1000; a rule without one; another price; a rule of no effect.
    "neutral": ('problem += rye <= p["most_rye"], "most_rye"', {"most_rye": 20.0}, 20.0, ["data/figures.csv[most_rye, value] = 1000"], True),
    "not neutral": ('problem += rye <= p["most_rye"], "most_rye"', {"most_rye": 20.0}, 20.0, ["data/figures.csv[most_rye, value] = 30"], False),
    "a figure of the program": ('problem += rye <= 20, "most_rye"', {}, 20.0, [], False),
    "no effect": ('problem += rye <= 99, "most_rye"', {}, np.inf, [], True),
    "infeasible": ('problem += rye <= p["most_rye"], "most_rye"', {"most_rye": 5.0}, 5.0, ["data/figures.csv[most_rye, value] = 1000"], True),
}  # fmt: skip


SLOW = ("no effect", "a figure of the program")


@pytest.mark.parametrize(
    "revision", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in REVISIONS]
)
def test_a_verified_revision_keeps_the_former_optimum_at_neutral_values(tmp_path: Path, revision: str) -> None:
    row, more, most_rye, neutral, holds = REVISIONS[revision]
    begin(make_folder(tmp_path, {}))
    make_folder(tmp_path, {}, PROGRAM.replace("# more", row), **more)
    (_, before), (status, after) = truth({}), truth({}, most_rye)
    code, result = run_verb(tmp_path, "verify", "HEAD", ".", neutral)
    assert result["status"] == status
    assert result["objective"]["before"]["value"] == pytest.approx(before)
    assert result["objective"]["after"]["value"] == (None if after is None else pytest.approx(after))
    # A revision without a solution is refused, whatever holds at neutral values.
    is_right = holds and after is not None
    assert (code, result["ok"], result["preservation"]["holds"]) == (0 if is_right else 1, is_right, holds)
    assert result["preservation"]["former"]["value"] == pytest.approx(before)
    assert {edit["row"] for edit in result["edits"]} == set(more)


BAG = """import csv, pathlib
import pulp

with open(pathlib.Path(__file__).resolve().parents[1] / "data" / "figures.csv", newline="") as file:
    p = {row["name"]: float(row["value"]) for row in csv.DictReader(file)}
take = [pulp.LpVariable(f"take_{i}", cat="Binary") for i in range(40)]
problem = pulp.LpProblem("bag", pulp.LpMaximize)
value = pulp.lpSum((17 * i % 23 + 5) * take[i] for i in range(40))
for k in range(3):
    problem += pulp.lpSum((13 * i * (k + 2) % 29 + 4) * take[i] for i in range(40)) <= p["room"], f"room_{k}"
# aims
problem.setObjective(value)
problem.solve()
"""
# Before the value, the smallest number of the first ten things that leaves at least ten things in the bag.
AIMS = """problem += pulp.lpSum(take) >= 10, "least"
problem.sense = pulp.LpMinimize
problem.setObjective(pulp.lpSum(take[:10]))
problem.solve()
problem += pulp.lpSum(take[:10]) <= round(pulp.value(problem.objective)), "aim"
problem.sense = pulp.LpMaximize
"""


def fill_bag(room: float, *, has_aims: bool = False, most: float = np.inf) -> list[float]:
    """Return the optimum of each aim by SciPy; ``most`` limits the number of the last ten things."""
    values = np.array([17 * i % 23 + 5 for i in range(40)])
    weights = np.array([[13 * i * (k + 2) % 29 + 4 for i in range(40)] for k in range(3)])
    rules, optima = (
        [LinearConstraint(weights, ub=room), LinearConstraint((np.arange(40) >= 30).astype(float), ub=most)],
        [],
    )
    first = (np.arange(40) < 10).astype(float)
    if has_aims:
        rules.append(LinearConstraint(np.ones(40), lb=10))
    for cost in (first, -values) if has_aims else (-values,):
        found = milp(cost, constraints=rules, integrality=np.ones(40), bounds=Bounds(0, 1))
        assert found.success
        rules.append(LinearConstraint(cost, ub=round(found.fun)))
        optima.append(float(abs(round(found.fun))))
    return optima


def make_bag(folder: Path, room: float, aims: str = "") -> Path:
    put(folder, {"src/bag.py": BAG.replace("# aims", aims), "data/figures.csv": f"name,value\nroom,{room}\n",
                 "docs/a.md": "# Bag\n"})  # fmt: skip
    return folder


def test_within_a_gap_every_figure_is_an_interval_that_contains_the_truth(tmp_path: Path) -> None:
    effort, truths = EffortOptions(gap=0.9), (*fill_bag(150), *fill_bag(120))
    code, result = run_verb(make_bag(tmp_path, 150), "run", effort=effort)
    figures = [(result["objective"], truths[0])]
    assert (code, result["ok"], result["status"]) == (0, True, "feasible")
    code, result = run_verb(tmp_path, "try_changes", ["data/figures.csv[room, value] = 120"], effort=effort)
    assert (code, result["ok"], result["status"]) == (0, True, "feasible")
    objective = result["objective"]
    figures += [(objective["before"], truths[0]), (objective["after"], truths[1])]
    figures.append((objective["difference"], truths[1] - truths[0]))
    for figure, truth in figures:
        assert figure["low"] < figure["high"]
        assert figure["low"] - 1e-6 <= truth <= figure["high"] + 1e-6


def test_within_a_gap_a_revision_is_neither_right_nor_wrong_unless_the_intervals_part(tmp_path: Path) -> None:
    begin(make_bag(tmp_path, 150))
    effort = EffortOptions(gap=0.9)
    make_bag(tmp_path, 150, 'problem += take[3] + take[4] <= 2, "pair"')
    code, result = run_verb(tmp_path, "verify", "HEAD", ".", [], effort=effort)
    assert (code, result["ok"], result["preservation"]["holds"]) == (1, False, None)
    make_bag(tmp_path, 150, 'problem += pulp.lpSum(take) <= 1, "one"')
    code, result = run_verb(tmp_path, "verify", "HEAD", ".", [], effort=effort)
    assert (code, result["ok"], result["preservation"]["holds"]) == (1, False, False)


def test_of_several_aims_each_has_its_optimum_under_those_before_it(tmp_path: Path) -> None:
    """With room for 100, ten things need two of the first ten, and with room for 150 none."""
    make_bag(tmp_path, 150, AIMS)
    before, after = (fill_bag(room, has_aims=True) for room in (150, 100))
    assert before[0] < after[0]
    assert before[1] < fill_bag(150)[0]
    code, result = run_verb(tmp_path, "run")
    assert (code, result["status"], result["objective"]["value"], result["sense"]) == (
        0,
        "optimal",
        before[0],
        "minimize",
    )
    assert [(stage["optimum"]["value"], stage["sense"]) for stage in result["stages"]] == [
        (before[0], "minimize"), (before[1], "maximize")
    ]  # fmt: skip
    code, result = run_verb(tmp_path, "try_changes", ["data/figures.csv[room, value] = 100"])
    assert (code, result["status"], result["objective"]["difference"]["value"]) == (0, "optimal", after[0] - before[0])
    stages = [tuple(stage[side]["value"] for side in ("before", "after", "difference")) for stage in result["stages"]]
    assert stages == [(old, new, new - old) for old, new in zip(before, after, strict=True)]
    # The same change of the model: what was held for the former room does not hold for the new one.
    code, result = run_verb(tmp_path, "try_changes", ["room = 100"])
    (result,) = result["results"]
    assert (code, result["status"]) == (0, "optimal")
    assert [stage["after"]["value"] for stage in result["stages"]] == after


@pytest.mark.parametrize(
    ("old", "new", "holds"),
    [
        (AIMS, f'problem += take[3] + take[4] <= 2, "pair"\n{AIMS}', True),
        # The first aim stays at its optimum, and the last one does not.
        pytest.param(AIMS, f'problem += pulp.lpSum(take[30:]) <= 1, "most"\n{AIMS}', False, marks=pytest.mark.slow),
        (AIMS, 'problem += pulp.lpSum(take) >= 10, "least"\n', False),
    ],
)
def test_a_revision_keeps_the_optimum_of_each_aim(tmp_path: Path, old: str, new: str, holds: bool) -> None:
    begin(make_bag(tmp_path, 130, old))
    make_bag(tmp_path, 130, new)
    code, result = run_verb(tmp_path, "verify", "HEAD", ".", [])
    truth = fill_bag(130, has_aims=True)
    assert fill_bag(130, has_aims=True, most=1)[0] == truth[0]
    assert fill_bag(130, has_aims=True, most=1)[1] < truth[1]
    assert (code, result["ok"], result["preservation"]["holds"]) == (0 if holds else 1, holds, holds)
    assert result["preservation"]["former"]["value"] == truth[0]


def stage(optimum: Figure, status: SolveStatus = SolveStatus.OPTIMAL) -> StageOutcome:
    goal = IndexedObjective("aim", Sense.MINIMIZE, LinkedVector.of_numbers(np.zeros(1)))
    return StageOutcome(goal, status, optimum, None)


ENDS = st.one_of(st.none(), st.integers(-3, 3))


@given(st.lists(st.tuples(st.tuples(ENDS, ENDS), st.tuples(ENDS, ENDS)), min_size=1, max_size=2))
def test_optima_are_preserved_if_they_are_equal_and_not_if_they_cannot_be(pairs: list) -> None:
    """The truth by all values that lie in both intervals, of which a missing end excludes none."""
    sides: tuple[list[Figure], list[Figure]] = ([], [])
    is_possible = is_proven = True
    for intervals in pairs:
        values = []
        for ends, figures in zip(intervals, sides, strict=True):
            low, high = ends if None in ends else sorted(ends)
            figures.append(Figure(value=float(high if low is None else low) if ends != (None, None) else 0.0,
                                  low=low, high=high))  # fmt: skip
            values.append(
                {value for value in range(-9, 10) if (low is None or value >= low) and (high is None or value <= high)}
            )
        is_possible &= bool(values[0] & values[1])
        is_proven &= len(values[0]) == len(values[1]) == 1
    holds, _ = _is_preserved(*([stage(figure, SolveStatus.FEASIBLE) for figure in side] for side in sides))
    assert holds is (False if not is_possible else True if is_proven else None)


@pytest.mark.parametrize(
    ("former", "now", "holds"),
    [
        ([1e6], [1e6 + 0.5], True), ([1e6], [1e6 + 2.0], False), ([-1e6], [-1e6 - 0.5], True), ([-1e6], [-1e6 - 2.0], False),
        ([0.5], [0.5 + 0.9e-6], True), ([0.5], [0.5 - 1.5e-6], False), ([1.0, 2.0], [1.0], False), ([1.0], [1.0, 2.0], True),
        ([1.0, 2.0], [1.0, 2.0], True), ([1.0, 2.0], [1.0, 3.0], False),
    ],
)  # fmt: skip
def test_optima_are_equal_within_a_millionth_for_each_former_aim(
    former: list[float], now: list[float], holds: bool
) -> None:
    sides = [[stage(Figure.exact(value)) for value in values] for values in (former, now)]
    assert _is_preserved(*sides)[0] is holds


@pytest.mark.parametrize(
    ("status", "new_status", "holds"),
    [
        (SolveStatus.INFEASIBLE, SolveStatus.INFEASIBLE, True), (SolveStatus.UNBOUNDED, SolveStatus.UNBOUNDED, True),
        (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED, False), (SolveStatus.OPTIMAL, SolveStatus.INFEASIBLE, False),
        (SolveStatus.UNKNOWN, SolveStatus.UNKNOWN, None), (SolveStatus.OPTIMAL, SolveStatus.UNKNOWN, None), (SolveStatus.UNKNOWN, SolveStatus.INFEASIBLE, None),
    ],
)  # fmt: skip
def test_models_without_an_optimum_are_alike_if_both_are_proven(
    status: SolveStatus, new_status: SolveStatus, holds: bool | None
) -> None:
    sides = [
        [stage(Figure.exact(1.0) if each is SolveStatus.OPTIMAL else Figure(), each)] for each in (status, new_status)
    ]
    assert _is_preserved(*sides)[0] is holds
    # A later aim without an optimum is compared as the first one is, and named.
    first = stage(Figure.exact(2.0))
    later_holds, later_reason = _is_preserved(*([first, *side] for side in sides))
    assert later_holds is holds
    assert ("the model" in _is_preserved(*sides)[1], "the model" in later_reason) == (True, False)
    # Nothing is proven after a first aim that differs.
    assert _is_preserved([first, *sides[0]], [stage(Figure.exact(3.0)), *sides[1]])[0] is False


@pytest.mark.slow
def test_a_model_that_is_out_of_time_has_no_figure_beyond_its_bound(tmp_path: Path) -> None:
    """Equations of 50 drawn integers have no solution that a solver finds in seconds, and no proof that there is none."""
    figures = np.random.default_rng(3).integers(1, 100, (6, 50))
    rows = "".join(
        f"problem += pulp.lpSum(a * x for a, x in zip({row.tolist()}, x)) == {int(row.sum()) // 2}, 'r{at}'\n"
        for at, row in enumerate(figures)
    )
    head = "import csv\nimport pathlib\nimport pulp\nlimit = float(next(csv.reader((pathlib.Path(__file__).parents[1] / 'data/limit.csv').open()))[1])\n"
    program = (
        f"{head}problem = pulp.LpProblem('split')\nx = [pulp.LpVariable(f'x_{{i}}', cat='Binary') for i in range(50)]\n"
    )
    text = f"{program}problem += pulp.lpSum(x)\n{rows}problem += pulp.lpSum(x) <= limit, 'few'\nproblem.solve()\n"
    effort = EffortOptions(time=3.0)
    put(tmp_path, {"src/split.py": text, "data/limit.csv": "limit,45\n", "docs/a.md": "# S\n"})
    code, result = run_verb(tmp_path, "run", effort=effort)
    assert (code, result["ok"], result["status"]) == (3, False, "unknown")
    assert result["objective"]["value"] is None
    code, result = run_verb(tmp_path, "try_changes", ["few = 44"], effort=effort)
    (result,) = result["results"]
    assert (code, result["status"], result["decided"]) == (3, "unknown", False)
    assert [result["objective"][side]["value"] for side in ("before", "after", "difference")] == [None] * 3
    begin(tmp_path)
    put(tmp_path, {"src/split.py": text.replace("'few'", "'fewer'")})
    code, result = run_verb(tmp_path, "verify", "HEAD", ".", [], effort=effort)
    assert (code, result["ok"], result["status"], result["preservation"]["holds"]) == (1, False, "unknown", None)
    assert [result["preservation"][side]["value"] for side in ("former", "objective")] == [None, None]
