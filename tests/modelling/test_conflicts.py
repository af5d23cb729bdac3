"""A conflict is infeasible, and each of its proper subsets is not."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Vector
from oragent.modelling.data.features import (
    Absolute,
    BinaryProduct,
    Extreme,
    FurtherObjective,
    Indicator,
    ModelFeatures,
    OrderedSet,
    PiecewiseLinear,
    QuadraticTerm,
    SemiContinuous,
    SoftRow,
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.operations import ModelSession
from oragent.modelling.operations.explanation import explain
from oragent.modelling.solving import infeasibility
from oragent.modelling.solving.back_ends.highs import HighsSolver
from oragent.modelling.solving.back_ends.protocol import SolverOptions, SolverResult, SolverStatus
from oragent.modelling.solving.highs import infeasibility_ray
from oragent.modelling.solving.infeasibility import (
    Side,
    feature_text,
    find_certificate,
    find_conflict,
    find_nearest,
    linear_conflict,
    linear_relaxation,
    list_features,
    part_names,
    without_goals,
)
from oragent.modelling.solving.model_solving import solve
from tests.modelling.models import models, pharmacy, steel

ROW, LOW, HIGH, FEATURE = Side


@dataclass(frozen=True)
class ModelPart:
    side: Side
    name: str


@dataclass(frozen=True)
class NamedConflict:
    parts: tuple[ModelPart, ...]
    irreducible: bool

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts if part.side is ROW)


@dataclass(frozen=True)
class Nearest:
    status: SolveStatus
    total: float | None
    needed: Mapping[str, float]


def conflict(milp: IndexedModel, limit_s: float = 60.0) -> NamedConflict:
    arrays = milp.to_staged_arrays()
    found = find_conflict(arrays, limit_s)
    names = part_names(arrays, found.parts, milp.flat_row_names, milp.flat_variable_names)
    parts = tuple(ModelPart(part.side, name) for part, name in zip(found.parts, names, strict=True))
    return NamedConflict(parts, found.irreducible)


def nearest(milp: IndexedModel, rows: list[str] | None = None) -> Nearest:
    places = None if rows is None else [milp.flat_row_names.index(name) for name in rows]
    found = find_nearest(milp.to_staged_arrays(), places)
    return Nearest(found.status, found.total, {milp.row_records[row].name: rhs for row, rhs in found.needed.items()})


def everything(milp: IndexedModel) -> set[ModelPart]:
    bounds = {ModelPart(LOW, one.name) for one in milp.variable_records if one.low > -float("inf")}
    bounds |= {ModelPart(HIGH, one.name) for one in milp.variable_records if one.high < float("inf")}
    return bounds | {ModelPart(ROW, row.name) for row in milp.row_records}


def infeasible(milp: IndexedModel) -> bool:
    return solve(milp.with_records(objective=Objective()), limit_s=5).status is SolveStatus.INFEASIBLE


def without_parts(milp: IndexedModel, gone: set[ModelPart]) -> IndexedModel:
    variables = tuple(
        replace(
            one,
            low=-float("inf") if ModelPart(LOW, one.name) in gone else one.low,
            high=float("inf") if ModelPart(HIGH, one.name) in gone else one.high,
        )
        for one in milp.variable_records
    )
    return milp.with_records(
        variables=variables, rows=[row for row in milp.row_records if ModelPart(ROW, row.name) not in gone]
    )


@settings(max_examples=40)
@given(models())
def test_a_conflict_is_infeasible_and_every_proper_subset_feasible(milp: IndexedModel) -> None:
    assume(infeasible(milp))
    found = conflict(milp)
    rest = everything(milp) - set(found.parts)
    alone = solve(without_parts(milp, rest).with_records(objective=Objective()), limit_s=2).status
    # Without bounds the search for whole numbers may have no end, though presolve showed that there are none.
    assert alone is SolveStatus.INFEASIBLE or (milp.has_integers and alone is SolveStatus.UNKNOWN)
    if not found.irreducible:
        assert milp.has_integers
        return
    for part in found.parts:  # a smaller subset is feasible where a larger one is
        smaller = without_parts(milp, rest | {part}).with_records(objective=Objective())
        assert solve(smaller).status is SolveStatus.OPTIMAL


def test_steel_in_too_few_hours() -> None:
    found = conflict(steel(hours=12))
    assert found.parts == (
        ModelPart(ROW, "hours"),
        ModelPart(LOW, "bands"),
        ModelPart(LOW, "coils"),
        ModelPart(LOW, "plate"),
    )
    assert found.rows == ("hours",)


def test_a_fraction_between_bounds_is_a_conflict_of_the_bounds() -> None:
    milp = IndexedModel.from_records([Variable("x", 0.2, 0.8, VariableKind.INTEGER)], [], Objective(), Sense.MINIMIZE)
    assert conflict(milp).parts == (ModelPart(LOW, "x"), ModelPart(HIGH, "x"))


def test_parity_is_a_conflict_of_an_integer_model_alone() -> None:
    """The relaxation is feasible, so that a linear certificate finds nothing."""
    variables = [Variable(name, 0, 10, VariableKind.INTEGER) for name in "xy"]
    odd = Row("odd", {"x": 2, "y": 2}, Relation.EQUAL, 7)
    roomy = Row("roomy", {"x": 1, "y": 1}, Relation.AT_MOST, 30)
    milp = IndexedModel.from_records(variables, [roomy, odd], Objective(), Sense.MINIMIZE)
    assert conflict(milp).rows == ("odd",)


def test_a_feasible_model_has_no_conflict() -> None:
    with pytest.raises(ModellingError):
        conflict(pharmacy())


def test_without_time_nothing_is_claimed() -> None:
    with pytest.raises(ModellingError):
        conflict(steel(hours=12), limit_s=0.0)


def test_one_conflict_among_many_rows_is_found() -> None:
    variables = [Variable(f"x{place}", 0, 9) for place in range(300)]
    rows = [Row(f"r{place}", {f"x{place}": 1}, Relation.AT_MOST, 5) for place in range(300)]
    rows.insert(150, Row("too much", {"x70": 1}, Relation.AT_LEAST, 6))
    assert conflict(IndexedModel.from_records(variables, rows, Objective(), Sense.MINIMIZE)).rows == ("r70", "too much")


def test_the_nearest_hours_of_steel() -> None:
    found = nearest(steel(hours=12))
    needed = 1000 / 200 + 500 / 140 + 750 / 160
    assert found.status is SolveStatus.OPTIMAL
    assert found.needed == {"hours": pytest.approx(needed)}
    assert found.total == pytest.approx(needed - 12)


def test_only_the_rows_named_give_way() -> None:
    tight = steel(hours=12, bounds_as_rows=True)
    assert set(nearest(tight).needed) <= {row.name for row in tight.row_records}
    bands = nearest(tight, ["least bands"])
    assert bands.needed == {"least bands": pytest.approx(200 * (12 - 500 / 140 - 750 / 160))}
    assert nearest(tight, ["most bands"]).status is SolveStatus.INFEASIBLE
    with pytest.raises(ModellingError, match="salt"):
        ModelSession(group_by_names(tight)).ask("repair salt")


@settings(max_examples=40)
@given(models())
def test_with_the_nearest_right_hand_sides_a_model_is_feasible(milp: IndexedModel) -> None:
    found = nearest(milp)
    if found.status is SolveStatus.INFEASIBLE:  # the bounds alone leave no point
        assert infeasible(milp.with_records(rows=()))
        return
    rows = tuple(replace(row, rhs=found.needed.get(row.name, row.rhs)) for row in milp.row_records)
    assert found.status is SolveStatus.OPTIMAL
    assert not infeasible(milp.with_records(rows=rows))
    assert (found.total > 0) == infeasible(milp)


@given(models(box=True, columns=2, rows=3))
def test_no_point_of_a_box_is_nearer(milp: IndexedModel) -> None:
    whole = milp.with_records(variables=tuple(replace(one, kind=VariableKind.INTEGER) for one in milp.variable_records))
    totals = [0.0]
    points: list[dict[str, float]] = [{}]
    for one in whole.variable_records:
        points = [point | {one.name: value} for point in points for value in range(int(one.low), int(one.high) + 1)]
    totals = []
    for point in points:
        sides = [(sum(c * point[name] for name, c in row.terms.items()), row.limits) for row in whole.row_records]
        totals.append(sum(max(0.0, low - side, side - high) for side, (low, high) in sides))
    assert nearest(whole).total == pytest.approx(min(totals))


X, Y, Z, B, C = "x", "y", "z", "b", "c"
# Features, rows (terms, relation, right-hand side) that contradict them, and the text of the part.
PARTS = [
    ({"semi_continuous": [SemiContinuous(X)]}, [({X: 1}, ">=", 1), ({X: 1}, "<=", 2)], "x is 0 or at least 3"),
    ({"ordered_sets": [OrderedSet("s0", 1, {X: 1, Y: 2})]}, [({X: 1}, ">=", 3), ({Y: 1}, ">=", 1)], "SOS set s0"),
    (
        {"ordered_sets": [OrderedSet("s0", 2, {X: 1, Y: 2, Z: 3})]},
        [({X: 1}, ">=", 3), ({Z: 1}, ">=", 2)],
        "SOS set s0",
    ),
    (
        {"indicators": [Indicator("off", B, True, {Y: 1, Z: 1}, Relation.AT_MOST, 2)]},
        [({B: 1}, ">=", 1), ({Y: 1, Z: 1}, ">=", 4)],
        "indicator off",
    ),
    (
        {"indicators": [Indicator("on", B, False, {Y: 1}, Relation.AT_LEAST, 2)]},
        [({B: 1, C: 1}, "<=", 0), ({Y: 1}, "<=", 1)],
        "indicator on",
    ),
    ({"products": [BinaryProduct("both", Y, (B, C))]}, [({B: 1, C: 1}, ">=", 2), ({Y: 1}, "<=", 0)], "product both"),
    ({"absolutes": [Absolute("size", Z, Y)]}, [({Z: 1}, "<=", -2), ({Y: 1}, "<=", 1)], "absolute value size"),
    ({"extremes": [Extreme("most", Y, (X, Z), True)]}, [({X: 1}, ">=", 4), ({Y: 1}, "<=", 3)], "maximum most"),
    ({"extremes": [Extreme("least", Y, (X, Z), False)]}, [({Z: 1}, "<=", 1), ({Y: 1}, ">=", 3)], "minimum least"),
    (
        {"piecewise": [PiecewiseLinear("bend", Z, Y, ((-2, 0), (0, 2), (4, 2)))]},
        [({Z: 1}, "<=", -1), ({Y: 1}, ">=", 2)],
        "curve bend",
    ),
]
BOUNDS = {X: (3, 6), Y: (0, 5), Z: (-2, 4), B: (0, 1), C: (0, 1)}


@st.composite
def contradicted(draw: st.DrawFn) -> tuple[IndexedModel, str]:
    """A model of integers with one feature that its rows contradict, further rows, and the text of the feature."""
    features, rows, text = draw(st.sampled_from(PARTS))
    rows = [*rows, *(({X: draw(SIGNS), Y: draw(SIGNS), B: 1}, "<=", draw(st.integers(8, 12))) for _ in range(2))]
    milp = IndexedModel.from_records(
        [
            Variable(name, low if name != X or "semi_continuous" in features else 0, high, VariableKind.INTEGER)
            for name, (low, high) in BOUNDS.items()
        ],
        [
            Row(f"r{place}", terms, Relation(sign), rhs)
            for place, (terms, sign, rhs) in enumerate(draw(st.permutations(rows)))
        ],
        Objective({X: 1.0, Y: draw(SIGNS)}),
        draw(st.sampled_from(Sense)),
        features=ModelFeatures(**{name: tuple(parts) for name, parts in features.items()}),
    )
    return milp, text


SIGNS = st.sampled_from([-1, 1])


def points(milp: IndexedModel) -> list[dict[str, int]]:
    """All points that bounds and features allow."""
    semi = {part.variable for part in milp.named_features.semi_continuous}
    spans = [
        [*({0} if one.name in semi else ()), *range(int(one.low), int(one.high) + 1)] for one in milp.variable_records
    ]
    every = (dict(zip(BOUNDS, values, strict=True)) for values in itertools.product(*spans))
    return [
        point for point in every if all(part.violation(point.__getitem__) < 1e-9 for part in milp.named_features.parts)
    ]


def least_violation(milp: IndexedModel, names: set[str]) -> float:
    """The least total violation of some rows, if the others hold; infinite if they cannot."""
    totals = [np.inf]
    for point in points(milp):
        broken = {}
        for row in milp.row_records:
            side = sum(value * point[name] for name, value in row.terms.items())
            low, high = row.limits
            broken[row.name] = max(0.0, low - side, side - high)
        if all(value == 0 or name in names for name, value in broken.items()):
            totals.append(sum(broken.values()))
    return min(totals)


@given(contradicted())
def test_a_contradicted_part_is_named_and_the_least_repair_is_that_of_all_points(
    case: tuple[IndexedModel, str],
) -> None:
    milp, text = case
    every = set(milp.flat_row_names)
    assert least_violation(milp, set()) == np.inf
    found = conflict(milp)
    assert ModelPart(FEATURE, text) in found.parts
    session = ModelSession(group_by_names(milp))
    answer = session.ask("conflict")
    assert [entry.names for entry in answer.families if entry.part == "parts"] == [(text,)]
    assert answer.irreducible == found.irreducible
    rows = {name for entry in answer.families if entry.part == "rows" for name in entry.names}
    assert rows == set(found.rows)
    # The rows of the conflict are enough for it, and each of them is needed.
    others = milp.with_records(rows=[row for row in milp.row_records if row.name in rows])
    assert least_violation(others, set()) == np.inf
    for name in rows if found.irreducible else ():
        fewer = milp.with_records(rows=[row for row in others.row_records if row.name != name])
        assert least_violation(fewer, set()) == 0
    repair = session.ask("repair")
    assert repair.total.value == pytest.approx(least_violation(milp, every))
    session.run([change.line for change in repair.changes])
    assert session.ask("solve").status == "optimal"
    session.ask("undo " + str(len(repair.changes)))
    for name in sorted(every)[:2]:
        expected = least_violation(milp, {name})
        if np.isinf(expected):
            with pytest.raises(ModellingError, match=text):
                session.ask(f"repair {name}")
        else:
            assert session.ask(f"repair {name}").total.value == pytest.approx(expected)


def test_an_explanation_names_the_part_and_a_right_hand_side_that_would_do() -> None:
    features, rows, text = PARTS[0]
    milp = IndexedModel.from_records(
        [Variable(X, 3, 6)],
        [Row(f"r{place}", terms, Relation(sign), rhs) for place, (terms, sign, rhs) in enumerate(rows)],
        Objective(),
        Sense.MINIMIZE,
        features=ModelFeatures(**{name: tuple(parts) for name, parts in features.items()}),
    )
    explained = explain(group_by_names(milp))
    assert [entry.names for entry in explained.conflict if entry.part == "parts"] == [(text,)]
    # 1 less for the row that asks for 1, and 1 more for the row that allows 2, are as near.
    assert {change.row for change in explained.each_alone} == {"r0", "r1"}


def test_a_conflict_of_many_rows_takes_one_solve() -> None:
    """A transport of 2,000 columns: the demand of one town in one week is too much for all depots."""
    depots, towns, weeks = range(5), range(40), range(10)
    variables = [Variable(f"x{d}_{t}_{w}") for d in depots for t in towns for w in weeks]
    need = [
        Row(f"n{t}_{w}", {f"x{d}_{t}_{w}": 1 for d in depots}, Relation.AT_LEAST, 300 if (t, w) == (3, 4) else 5)
        for t in towns
        for w in weeks
    ]
    room = [Row(f"c{d}_{w}", {f"x{d}_{t}_{w}": 1 for t in towns}, Relation.AT_MOST, 50) for d in depots for w in weeks]
    found = conflict(IndexedModel.from_records(variables, [*need, *room], Objective(), Sense.MINIMIZE))
    assert found.irreducible
    assert set(found.rows) == {"n3_4", *(f"c{d}_4" for d in depots)}


def test_a_part_that_the_default_solver_does_not_take_goes_to_one_that_does() -> None:
    pytest.importorskip("ortools")
    indicator = Indicator("off", B, True, {X: 1}, Relation.AT_MOST, 2)
    milp = IndexedModel.from_records(
        [Variable(X, 0), Variable(B, 0, 1, VariableKind.INTEGER)],
        [Row("on", {B: 1}, Relation.AT_LEAST, 1)],
        Objective({X: 1}),
        Sense.MAXIMIZE,
        features=ModelFeatures(indicators=(indicator,)),
    )
    assert solve(milp).objective == pytest.approx(2)
    assert ModelSession(group_by_names(milp)).ask("solve").objective.value == pytest.approx(2)
    with pytest.raises(ModellingError):
        solve(milp, solver="cp-sat")


@dataclass
class ForgetfulSolver(HighsSolver):
    """HiGHS that gives no answer to one of its calls."""

    silent: int = 0
    calls: int = 0

    def solve(self, arrays: Arrays, options: SolverOptions, start: Vector | None = None) -> SolverResult:
        """Solve by HiGHS."""
        self.calls += 1
        if self.calls == self.silent:
            return SolverResult(SolverStatus.STOPPED, "forgetful")
        return super().solve(arrays, options, start)


def test_a_check_without_an_answer_leaves_a_conflict_that_may_be_reducible(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 x + 2 y = 7 alone has no whole solution."""
    variables = [Variable(name, 0, 10, VariableKind.INTEGER) for name in "xy"]
    roomy = [Row(f"roomy {place}", {"x": 1, "y": 1}, Relation.AT_MOST, 30 + place) for place in range(3)]
    odd = Row("odd", {"x": 2, "y": 2}, Relation.EQUAL, 7)
    milp = IndexedModel.from_records(variables, [*roomy, odd], Objective(), Sense.MINIMIZE)
    arrays = milp.to_staged_arrays()
    counting = ForgetfulSolver()
    monkeypatch.setattr(infeasibility, "find_solver", lambda name: counting)
    whole = find_conflict(arrays)
    assert whole.irreducible
    assert whole.places(ROW) == [3]
    sizes = []
    for silent in range(2, counting.calls + 1):
        solver = ForgetfulSolver(silent=silent)
        monkeypatch.setattr(infeasibility, "find_solver", lambda name, solver=solver: solver)
        found = find_conflict(arrays)
        assert not found.irreducible
        assert set(whole.parts) <= set(found.parts)
        sizes.append(len(found.parts))
    assert min(sizes) < len(infeasibility._Finder(arrays, 0.0, counting, SolverOptions()).parts)


@given(models(integers=False))
def test_a_certificate_is_a_sum_of_rows_that_no_point_reaches(milp: IndexedModel) -> None:
    arrays = linear_relaxation(milp.to_staged_arrays())
    found = find_certificate(arrays)
    with pytest.MonkeyPatch.context() as patch:
        # A solver may give the multipliers with the opposite sign.
        ray = infeasibility_ray(arrays)
        patch.setattr(infeasibility, "infeasibility_ray", lambda *_: None if ray is None else -ray)
        again = find_certificate(arrays)
    assert (again is None) == (found is None)
    if again is not None:
        assert [*again[0], *again[1], again[2]] == [*found[0], *found[1], found[2]]
    linear = linear_conflict(arrays)
    assert (found is None) == (linear is None)
    if found is None:
        assert not infeasible(milp) or (arrays.low > arrays.high).any()
        return
    rows, columns, shortage = found
    sums = rows @ arrays.matrix.to_dense() if len(rows) else np.zeros(len(arrays.cost))
    assert columns == pytest.approx(sums, abs=1e-9)
    demand = sum(
        price * (low if price > 0 else high)
        for price, low, high in zip(rows, arrays.row_low, arrays.row_high, strict=True)
        if price
    )
    most = sum(
        price * (high if price > 0 else low)
        for price, low, high in zip(columns, arrays.low, arrays.high, strict=True)
        if price
    )
    assert shortage == pytest.approx(demand - most)
    assert shortage > 0
    assert linear.places(ROW) == np.flatnonzero(rows).tolist()
    assert linear.places(LOW) == np.flatnonzero(columns < 0).tolist()
    assert linear.places(HIGH) == np.flatnonzero(columns > 0).tolist()


@pytest.mark.parametrize("factor", [0.75, 1.5])
@pytest.mark.parametrize("sign", [1, -1])
def test_violations_to_both_sides_count_alike(factor: float, sign: int) -> None:
    rows = [
        Row("least", {"x": sign}, Relation.AT_LEAST if sign > 0 else Relation.AT_MOST, 4 * sign),
        Row("most", {"x": factor * sign}, Relation.AT_MOST if sign > 0 else Relation.AT_LEAST, 0),
    ]
    milp = IndexedModel.from_records([Variable("x")], rows, Objective({"x": 7}, 3.0), Sense.MAXIMIZE)
    # x = 4 breaks the second row by four times the factor, and x = 0 breaks the first row by 4.
    found = nearest(milp)
    assert found.total == pytest.approx(min(4 * factor, 4))
    assert list(found.needed) == (["most"] if factor < 1 else ["least"])


def test_checks_run_until_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infeasibility.time, "perf_counter", lambda: 5.0)
    variables = [Variable(name, 0, 10, VariableKind.INTEGER) for name in "xy"]
    odd = Row("odd", {"x": 2, "y": 2}, Relation.EQUAL, 7)
    arrays = IndexedModel.from_records(variables, [odd], Objective(), Sense.MINIMIZE).to_staged_arrays()
    seconds = []

    class Timed(HighsSolver):
        def solve(self, arrays: Arrays, options: SolverOptions, start: Vector | None = None) -> SolverResult:
            seconds.append((options.seconds, options.nodes, options.gap))
            return super().solve(arrays, options, start)

    monkeypatch.setattr(infeasibility, "find_solver", lambda name: Timed())
    for limit_s, options, expected in (
        (0.5, None, (0.5, infeasibility.NODES, 0.0)), (99.0, None, (infeasibility.CHECK_S, infeasibility.NODES, 0.0)),
        (99.0, SolverOptions(seconds=3.0, nodes=7, gap=0.5), (3.0, 7, 0.0)),
    ):  # fmt: skip
        seconds.clear()
        assert find_conflict(arrays, limit_s, options=options).places(ROW) == [0]
        assert set(seconds) == {expected}


def test_the_rank_of_a_certificate_is_computed_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Row("a", {"x": 1, "y": 1}, Relation.AT_LEAST, 3), Row("b", {"x": 1, "y": 1}, Relation.AT_MOST, 1)]
    free = [Variable(name, -np.inf) for name in "xy"]
    arrays = IndexedModel.from_records(free, rows, Objective(), Sense.MINIMIZE).to_staged_arrays()
    for most, is_known in ((4, True), (3, False)):
        monkeypatch.setattr(infeasibility, "MAX_RANK_SIZE", most)
        assert linear_conflict(arrays).irreducible is is_known


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("limit", "gap", "is_broken"),
    [(0.0, 0.9e-6, False), (0.0, 1e-6, False), (0.0, 1.1e-6, True), (1e3, 0.9e-3, False), (1e3, 1.1e-3, True)],
)
def test_rows_may_be_broken_by_the_tolerance(sign: int, limit: float, gap: float, is_broken: bool) -> None:
    relation = Relation.AT_LEAST if sign > 0 else Relation.AT_MOST
    fixed = Variable("x", sign * limit, sign * limit)
    row = Row("r", {"x": 1}, relation, sign * (limit + gap))
    found = nearest(IndexedModel.from_records([fixed], [row], Objective(), Sense.MINIMIZE))
    assert found.needed == ({"r": sign * limit} if is_broken else {})
    assert found.total == pytest.approx(gap if is_broken else 0.0)


def test_a_model_without_goals_has_all_other_parts() -> None:
    variables = [Variable("x", 0, 5), Variable("b", 0, 1, VariableKind.INTEGER)]
    rows = [Row(name, {"x": 1}, Relation.AT_LEAST, 2) for name in ("soft", "hard")]
    kept = ModelFeatures(indicators=(Indicator("i", "b", True, {"x": 1.0}, Relation.AT_MOST, 1.0),))
    features = replace(
        kept, goals=(FurtherObjective("g", {"x": 1.0}),), soft_rows=(SoftRow("soft", below=3.0),),
        quadratic=(QuadraticTerm("x", "x", 1.0),),
    )  # fmt: skip
    milp = IndexedModel.from_records(variables, rows, Objective({"x": 1}, 4.0), Sense.MAXIMIZE, features=features)
    hard = without_goals(milp.to_staged_arrays())
    assert hard.features == kept.rekey(milp.flat_variable_names.index, milp.flat_row_names.index)
    assert (hard.cost.tolist(), hard.constant, hard.row_low.tolist()) == ([0, 0], 0, [-np.inf, 2])


def test_the_parts_of_a_certificate_are_checked_one_by_one_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = [Variable(name, 0, 10, VariableKind.INTEGER) for name in "xy"]
    rows = [Row("a", {"x": 1, "y": 1}, Relation.AT_LEAST, 3), Row("b", {"x": 1, "y": 1}, Relation.AT_MOST, 1)]
    arrays = IndexedModel.from_records(variables, rows, Objective(), Sense.MINIMIZE).to_staged_arrays()
    for most, is_known in ((2, True), (1, False)):
        monkeypatch.setattr(infeasibility, "MAX_CHECKED", most)
        found = find_conflict(arrays)
        assert (found.places(ROW), found.irreducible) == ([0, 1], is_known)


def test_the_relaxation_has_no_bounds_that_a_semi_continuous_variable_may_leave() -> None:
    variables = [
        Variable("x", 2, 5), Variable("y", -5, -2), Variable("z", -1, 4), Variable("w", 1, 3), Variable("u", 0.5, 2),
        Variable("v", -1, 0.5), Variable("t", -2, -0.5),
    ]  # fmt: skip
    features = ModelFeatures(semi_continuous=tuple(map(SemiContinuous, "xyzuvt")))
    milp = IndexedModel.from_records(variables, [], Objective({"x": 1}, 2.0), Sense.MINIMIZE, features=features)
    relaxed = linear_relaxation(milp.to_staged_arrays())
    assert relaxed.low.tolist() == [-np.inf, -5, -1, 1, -np.inf, -1, -2]
    assert relaxed.high.tolist() == [5, np.inf, 4, 3, 2, 0.5, np.inf]
    assert not relaxed.features
    assert (relaxed.cost.tolist(), relaxed.constant) == ([0] * 7, 0)


@pytest.mark.parametrize(
    ("limit_s", "options", "expected"),
    [
        (5.0, None, (5.0, None)), (None, None, (None, None)), (5.0, SolverOptions(seconds=3.0, nodes=7), (3.0, 7)),
        (5.0, SolverOptions(nodes=7), (5.0, 7)),
    ],
)  # fmt: skip
def test_the_search_for_the_nearest_point_has_its_limits(
    limit_s: float | None, options: SolverOptions | None, expected: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_options = []

    class Watched(HighsSolver):
        def solve(self, arrays: Arrays, options: SolverOptions, start: Vector | None = None) -> SolverResult:
            given_options.append((options.seconds, options.nodes))
            return super().solve(arrays, options, start)

    monkeypatch.setattr("oragent.modelling.solving.array_solving.find_solver", lambda name: Watched())
    find_nearest(steel(hours=12).to_staged_arrays(), limit_s=limit_s, options=options)
    assert given_options == [expected]


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(3, 6, "at least 3"), (0.5, np.inf, "at least 0.5"), (-6, -3, "at most -3"), (-np.inf, -0.5, "at most -0.5")],
)
def test_a_semi_continuous_variable_is_0_or_beyond_its_nearer_bound(low: float, high: float, text: str) -> None:
    features = ModelFeatures(semi_continuous=(SemiContinuous("x"),))
    milp = IndexedModel.from_records([Variable("x", low, high)], [], Objective(), Sense.MINIMIZE, features=features)
    arrays = milp.to_staged_arrays()
    (part,) = list_features(arrays)
    assert feature_text(arrays, part, lambda column: "x") == f"x is 0 or {text}"
