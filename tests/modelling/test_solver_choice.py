"""The chosen solver and its limits reach every operation that solves; a second solver confirms or contradicts."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent._base.terminal import Terminal
from oragent.modelling.command import SolveFileRequest, solve_file
from oragent.modelling.data.arrays import Arrays, Sparse, Vector
from oragent.modelling.data.features import FurtherObjective, ModelFeatures
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.model_files import write
from oragent.modelling.operations import ModelSession, SolveLimits
from oragent.modelling.operations.command import run_lines
from oragent.modelling.solving import array_solving
from oragent.modelling.solving.back_ends import SolverOptions, registry
from oragent.modelling.solving.back_ends.highs import HighsSolver
from oragent.modelling.solving.back_ends.protocol import Ability, SolverResult, SolverStatus
from oragent.modelling.solving.inverse_costs import inverse_costs
from tests.modelling import indexed_models as models


@dataclass
class RecordingSolver(HighsSolver):
    """HiGHS under another name; it records the options of each call and may lie."""

    name: str = "spy"
    calls: list[SolverOptions] = field(default_factory=list)
    # Whether it claims that every model is infeasible, or solves with the opposite objective.
    says_infeasible: bool = False
    is_reversed: bool = False

    def solve(self, arrays: Arrays, options: SolverOptions, start: Vector | None = None) -> SolverResult:
        """Solve by HiGHS."""
        self.calls.append(options)
        if self.is_reversed:
            result = super().solve(replace(arrays, cost=-arrays.cost), options, start)
            assert result.values is not None
            return replace(result, bound=arrays.objective_at(result.values), row_duals=None)
        result = super().solve(arrays, options, start)
        if self.says_infeasible:
            return replace(result, status=SolverStatus.INFEASIBLE, values=None, bound=None, row_duals=None)
        return result


@pytest.mark.parametrize(
    ("step_s", "given", "status", "values"),
    [
        (0.0, [9.0, 9.0, 9.0], SolveStatus.OPTIMAL, [4.0, 6.0, 2.0]),
        (3.0, [9.0, 6.0, 3.0], SolveStatus.OPTIMAL, [4.0, 6.0, 2.0]),
        # The last aim has no time, and the plan keeps the best values of the first two.
        (5.0, [9.0, 4.0], SolveStatus.FEASIBLE, [4.0, 6.0, None]),
    ],
)
def test_several_objectives_share_one_time_limit(
    monkeypatch: pytest.MonkeyPatch, step_s: float, given: list[float], status: SolveStatus, values: list[float | None]
) -> None:
    now = [100.0]

    @dataclass
    class SlowSolver(RecordingSolver):
        def solve(self, arrays: Arrays, options: SolverOptions, start: Vector | None = None) -> SolverResult:
            now[0] += step_s
            return super().solve(arrays, options, start)

    monkeypatch.setattr(array_solving.time, "perf_counter", lambda: now[0])
    columns = tuple(Variable(name, 0, 4 if name == "x" else 10) for name in ("x", "y", "z"))
    rows = (
        Row("room", {"x": 1, "y": 1}, Relation.AT_MOST, 10),
        Row("rest", {"z": 1, "x": 0.5}, Relation.AT_MOST, 4),
    )
    goals = (
        FurtherObjective("x first", {"x": 1.0}, Sense.MAXIMIZE, priority=2),
        FurtherObjective("y then", {"y": 1.0}, Sense.MAXIMIZE, priority=1),
    )
    milp = IndexedModel.from_records(
        columns, rows, Objective({"z": 1.0}), Sense.MAXIMIZE, features=ModelFeatures(goals=goals)
    )
    solver = SlowSolver()
    solution = array_solving.solve_arrays(milp.to_staged_arrays(), SolverOptions(seconds=9.0), solver)
    assert [options.seconds for options in solver.calls] == given
    assert solution.status is status
    assert solution.values is not None
    for value, expected in zip(solution.values.tolist(), values, strict=True):
        assert expected is None or value == pytest.approx(expected)


@pytest.fixture(name="spy")
def register_spy(monkeypatch: pytest.MonkeyPatch) -> RecordingSolver:
    spy = RecordingSolver()
    monkeypatch.setattr(registry, "_known_solvers", lambda: {"highs": HighsSolver(), "spy": spy})
    return spy


LINES = {
    "solve": [],
    "whatif rent[*] *= 1.01": [],
    "price once[c1]": [],
    "range open": [],
    "why serve[Nantes, c1]": [],
    "sweep rent[Nantes] = 1, 2": [],
    "most sum open": [],
    "alternatives 1": [],
    "conflict": ["row few: sum open <= 0"],
    "repair": ["row few: sum open <= 0"],
}


@pytest.mark.parametrize("line", LINES)
def test_each_operation_uses_the_solver_its_limits_and_its_seed(line: str, spy: RecordingSolver) -> None:
    limits = SolveLimits(solver="spy", seconds=33.0, threads=2, seed=7)
    session = ModelSession(models.sites(), limits)
    for change in LINES[line]:
        session.ask(change)
    session.study.solve(session.study.present)
    spy.calls.clear()
    if line == "range open":
        session = ModelSession(models.sites(), limits)
    session.ask(line)
    if line != "solve":
        assert spy.calls
    for options in spy.calls:
        assert (options.threads, options.seed) == (2, 7)
        assert options.seconds is not None
        assert options.seconds <= 33.0


def test_inverse_and_explanations_of_a_file_use_them_too(spy: RecordingSolver, tmp_path: Path) -> None:
    model = models.sites()
    milp = model
    write(milp, tmp_path / "sites.json")
    session = ModelSession(model)
    point = session.study.point(session.study.present)
    (tmp_path / "point.json").write_text(json.dumps(dict(zip(model.column_names, point.tolist(), strict=True))))
    limits = SolveLimits(solver="spy", seconds=44.0, threads=2, seed=5)
    request = SolveFileRequest(tmp_path / "sites.json", explain=True, point=tmp_path / "point.json", limits=limits)
    solve_file(request, Terminal())
    assert len(spy.calls) >= 2
    assert {(call.threads, call.seed) for call in spy.calls} == {(2, 5)}


def test_a_second_solver_confirms(spy: RecordingSolver) -> None:
    session = ModelSession(models.sites(), SolveLimits(confirm="spy"))
    for line in ("solve", "whatif rent[*] *= 1.01", "whatif row few: sum open <= 0"):
        result = session.ask(line)
        assert result.confirmed
        assert "undecided" not in result.confirmed
    assert len(spy.calls) >= 3


@pytest.mark.parametrize("lie", ["says_infeasible", "is_reversed"])
def test_a_contradiction_is_an_error(spy: RecordingSolver, lie: str) -> None:
    setattr(spy, lie, True)
    session = ModelSession(models.sites(), SolveLimits(confirm="spy"))
    with pytest.raises(ModellingError, match="disagree"):
        session.ask("solve")


def test_an_unknown_second_solver_is_refused_before_anything_is_solved(tmp_path: Path) -> None:
    write(models.sites(), tmp_path / "sites.json")
    with pytest.raises(ModellingError, match="unknown"):
        run_lines(tmp_path / "sites.json", ["solve"], SolveLimits(confirm="no such"), Terminal())


def test_a_solver_without_integers_is_refused_with_those_that_have_them() -> None:
    with pytest.raises(ModellingError, match="highs"):
        ModelSession(models.sites(), SolveLimits(solver="glop")).ask("solve")


def test_a_solver_is_able_of_all_that_it_has_and_of_nothing_else() -> None:
    for listing in registry.list_solvers():
        assert listing.name in registry.solvers_able(listing.abilities)
        for ability in frozenset(Ability) - listing.abilities:
            assert listing.name not in registry.solvers_able(listing.abilities | {ability})
    assert registry.solvers_able(frozenset()) == tuple(listing.name for listing in registry.list_solvers())


@pytest.mark.parametrize(("seconds", "longest"), [(None, 50.0), (7.0, 7.0), (90.0, 50.0)])
def test_each_search_for_a_better_point_has_the_time_that_is_left(
    spy: RecordingSolver, seconds: float | None, longest: float
) -> None:
    arrays = Arrays(
        Sense.MINIMIZE, np.array([1.0, -2.0]), 3.0, np.zeros(2), np.full(2, 2.0), np.full(2, True),
        Sparse.from_dense(np.array([[1.0, 1.0]])), np.array([1.0]), np.array([3.0]),
    )  # fmt: skip
    options = SolverOptions(seconds, gap=0.5, seed=3, threads=2)
    costs = inverse_costs(arrays, np.array([1.0, 0.0]), 50.0, "spy", options)
    # No point that is better than (1, 0) stays: (0, 1) and (0, 2) cost at least as much.
    assert costs.tolist() == pytest.approx([1.0, 1.0]) or np.abs(costs - [1, -2]).sum() == pytest.approx(3.0)
    assert len(spy.calls) > 1
    for call in spy.calls:
        assert (call.gap, call.seed, call.threads) == (0.0, 3, 2)
        assert 0.5 * longest < call.seconds <= longest
