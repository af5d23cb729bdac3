"""Which optima are exact: limits of whole variables, proofs in rational numbers, and figures without noise."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.features import ModelFeatures, SoftRow
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.tolerances import without_noise
from oragent.modelling.operations import ModelSession
from oragent.modelling.operations.results import Figure
from oragent.modelling.solving import certificate
from oragent.modelling.solving.array_solving import solve_arrays
from oragent.modelling.solving.certificate import is_proven_exactly, with_whole_limits
from tests.modelling.enumeration import Plain
from tests.modelling.shops import Shop, fixed_shop, shops

INF = np.inf


def model(high: float, row: float, factor: float, sense: str = "maximize") -> ModelSession:
    """One whole variable with a bound and a row."""
    builder = IndexedModelBuilder("limits")
    sign = 1.0 if sense == "maximize" else -1.0
    ends = (-INF, high) if sense == "maximize" else (-high, INF)
    columns = builder.add_variables("n", low=ends[0], high=ends[1], kind="integer")
    builder.add_rows("cap", relation="<=", columns=columns, values=[sign * factor], rhs=row)
    builder.set_objective("worth", sense, columns, [1.0])
    return ModelSession(builder.build())


@pytest.mark.parametrize("sense", ["maximize", "minimize"])
@pytest.mark.parametrize(
    ("high", "row", "factor", "optimum"),
    [
        (2.9999999, 100.0, 1.0, 2.0),
        (100.0, 2.9999999, 1.0, 2.0),
        (100.0, 5.9999998, 2.0, 2.0),
        (100.0, 6.0000002, 2.0, 3.0),
        (3.0000001, 100.0, 1.0, 3.0),
        # Noise of a sum such as 0.1 + 0.2 moves no limit.
        (0.1 * 3 * 10 - 1e-13, 100.0, 1.0, 3.0),
        (100.0, 2.9999999999, 1.0, 3.0),
        (100.0, 7.0, 2.0, 3.0),
        (2999999.9, 1e9, 1.0, 2999999.0),
    ],
)
def test_a_whole_variable_is_not_rounded_beyond_its_limit(
    high: float, row: float, factor: float, optimum: float, sense: str
) -> None:
    result = model(high, row, factor, sense).ask("solve")
    assert result.objective.value == (optimum if sense == "maximize" else -optimum)
    assert result.objective.is_exact
    assert result.accuracy == "exact" or high == 0.1 * 3 * 10 - 1e-13 or row == 2.9999999999


def arrays(relation: int, rhs: float, values: list[float], integer: list[bool]) -> Arrays:
    """One row."""
    return Arrays(
        sense=Sense.MINIMIZE,
        cost=np.ones(len(values)),
        constant=0.0,
        low=np.full(len(values), -0.5),
        high=np.full(len(values), 8.5),
        integer=np.array(integer),
        matrix=Sparse.from_dense(np.array([values])),
        row_low=np.array([-INF if relation < 0 else rhs]),
        row_high=np.array([INF if relation > 0 else rhs]),
        features=ModelFeatures(),
    )


@pytest.mark.parametrize(
    ("relation", "values", "integer", "ends"),
    [
        (-1, [2.0, -3.0], [True, True], (-INF, 4.0)),
        (1, [2.0, -3.0], [True, True], (5.0, INF)),
        (-1, [2.0, -3.0], [True, False], (-INF, 4.7)),
        (-1, [2.0, -3.5], [True, True], (-INF, 4.7)),
        # No whole number is 4.7: the solver shows that.
        (0, [2.0, -3.0], [True, True], (4.7, 4.7)),
    ],
)
def test_rows_of_whole_terms_have_whole_limits(
    relation: int, values: list[float], integer: list[bool], ends: tuple[float, float]
) -> None:
    tight = with_whole_limits(arrays(relation, 4.7, values, integer))
    assert (tight.row_low[0], tight.row_high[0]) == ends
    assert tight.low.tolist() == [0.0 if whole else -0.5 for whole in integer]
    assert tight.high.tolist() == [8.0 if whole else 8.5 for whole in integer]


def test_a_soft_row_keeps_its_limit_as_its_price_counts_from_there() -> None:
    soft = replace(
        arrays(-1, 4.7, [1.0, 1.0], [True, True]), features=ModelFeatures(soft_rows=(SoftRow(0, above=2.0),))
    )
    assert with_whole_limits(soft).row_high[0] == 4.7


@settings(max_examples=25)
@given(shops())
def test_what_is_said_to_be_exact_is_the_optimum_of_the_numbers(shop: Shop) -> None:
    result = shop.session().ask("solve")
    assert result.accuracy in ("exact", "within 1e-06")
    if result.accuracy == "exact":
        assert result.objective.value == pytest.approx(shop.optimum(), rel=1e-12, abs=1e-12)


def linear(shop: Plain) -> ModelSession:
    return ModelSession(replace(shop.model(), integer=np.zeros(len(shop.cost), dtype=bool)))


@settings(max_examples=25)
@given(shops())
def test_optima_of_small_linear_models_are_proven(shop: Shop) -> None:
    session = linear(shop)
    result = session.ask("solve")
    free = replace(
        Plain(**{name: getattr(shop, name) for name in Plain.__dataclass_fields__}), integer=np.zeros(5, bool)
    )
    assert result.accuracy == "exact"
    assert result.objective.value == pytest.approx(free.optimum(), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_no_other_point_and_no_other_duals_are_proven(sign: int) -> None:
    shop = fixed_shop(sign, gains=False)
    session = linear(shop)
    scenario = session.study.present
    session.ask("solve")
    outcome, given_arrays = scenario.known.outcome, scenario.known.arrays
    assert outcome.point is not None
    assert outcome.row_duals is not None
    assert is_proven_exactly(given_arrays, outcome.point, outcome.row_duals, None)
    assert not is_proven_exactly(given_arrays, outcome.point, None, None)
    for at in range(len(outcome.row_duals)):
        duals = outcome.row_duals.copy()
        duals[at] += 7 * sign
        assert not is_proven_exactly(given_arrays, outcome.point, duals, None)
    for at in range(5):
        for step in (1e-7, -1e-7, 0.5):
            point = outcome.point.copy()
            point[at] += step
            assert not is_proven_exactly(given_arrays, point, outcome.row_duals, None) or at == 3


def test_an_integer_optimum_is_exact_where_objectives_are_apart() -> None:
    base = replace(arrays(1, 3.0, [1.0, 1.0], [True, True]), cost=np.array([0.5, 1.5]))
    point = np.array([3.0, 0.0])
    for bound, is_exact in ((1.5, True), (1.3, True), (1.2, False), (None, True)):
        assert is_proven_exactly(base, point, None, bound) == is_exact
    # A cost of a continuous variable can take any value; a point beyond a row is none.
    mixed = replace(base, integer=np.array([True, False]))
    assert is_proven_exactly(mixed, point, None, 1.5) is False
    assert not is_proven_exactly(base, np.array([2.0, 0.0]), None, 1.0)
    assert not is_proven_exactly(base, np.array([9.0, 0.0]), None, 4.5)
    assert not is_proven_exactly(replace(base, features=ModelFeatures(soft_rows=(SoftRow(0),))), point, None, 1.5)


@pytest.mark.parametrize(("size", "is_exact"), [(1e3, True), (4e8, True), (6e8, False)])
def test_large_integer_objectives_are_exact_up_to_the_digits_of_a_bound(size: float, is_exact: bool) -> None:
    base = replace(arrays(1, size, [1.0], [True]), cost=np.ones(1), high=np.array([1e12]))
    assert is_proven_exactly(base, np.array([size]), None, size) is is_exact


@pytest.mark.parametrize("step", [1e-7, 1e-6, 1e-3])
def test_differences_below_the_tolerance_of_the_solver_are_not_proven(step: float) -> None:
    # The solver stops at points that are worse by less than 1e-6, and its bound is their objective then.
    random, proven = np.random.default_rng(5), 0
    for _ in range(40):
        cost = random.choice([step, 1.0 + step, -step], size=3)
        weights, limit = np.round(random.uniform(-3, 3, 3), 1), round(float(random.uniform(0, 5)), 1)
        variables = [Variable(f"x{at}", -1, 3, VariableKind.INTEGER) for at in range(3)]
        row = Row("limit", {f"x{at}": float(weight) for at, weight in enumerate(weights)}, Relation.AT_MOST, limit)
        goal = Objective({f"x{at}": float(value) for at, value in enumerate(cost)})
        result = ModelSession(IndexedModel.from_records(variables, [row], goal, Sense.MAXIMIZE)).ask("solve")
        points = np.array(list(itertools.product(range(-1, 4), repeat=3)))
        best = (points[points @ weights <= limit + 1e-9] @ cost).max()
        if result.accuracy == "exact":
            proven += 1
            assert result.objective.value == pytest.approx(best, abs=1e-12)
    assert proven > 0 or step < 1e-3


def test_a_tenth_counts_as_the_decimal_that_it_is_written_as() -> None:
    # 0.1 x + 0.2 y <= 0.3: in binary numbers x = y = 1 is beyond it by 3e-17.
    base = replace(arrays(-1, 0.3, [0.1, 0.2], [True, True]), sense=Sense.MAXIMIZE)
    assert is_proven_exactly(base, np.array([3.0, 0.0]), None, 3.0)
    assert is_proven_exactly(base, np.array([1.0, 1.0]), None, 2.0)
    assert not is_proven_exactly(base, np.array([4.0, 0.0]), None, 4.0)
    assert solve_arrays(base).objective == pytest.approx(3)


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        (727.0000000000002, 727.0),
        (0.1 + 0.2, 0.3),
        (-3597.5999999999995, -3597.6),
        (1 / 3, 1 / 3),
        (2 / 3 * 1e6, 2 / 3 * 1e6),
        (0.1234567890123456, 0.1234567890123456),
        (1000000001.0, 1000000001.0),
        (1e-9, 1e-9),
        (2e-9, 2e-9),
        (1.0000001, 1.0000001),
        (0.0, 0.0),
    ],
)
def test_figures_have_no_noise_of_sums_and_all_their_digits(value: float, clean: float) -> None:
    assert without_noise(value) == clean
    assert Figure.exact(value).value == clean
    figure = Figure.between(value, value - 1, value + 1)
    assert (figure.value, figure.low, figure.high) == (clean, without_noise(value - 1), without_noise(value + 1))


def test_an_error_of_the_solver_about_its_own_point_is_no_answer() -> None:
    """With presolve, HiGHS 1.16 ends with an error on this model: its point breaks a row by a millionth."""
    shop = Shop(
        sign=-1,
        cost=np.array([5.0, 0, -6, -1, -2]),
        low=np.zeros(5),
        high=np.array([3.0, 4, 2, 1, 1]),
        matrix=np.array([[-2.0, 1, 0, 2, 3], [3, 1, 0, -1, -1], [1, 0, -2, -2, 2], [-2, 1, 3, 1, 2]]),
        relations=np.array([-1, -1, 1, 0]),
        rhs=np.array([-3.0, 10, -3, 2]),
        integer=np.array([False, False, True, True, True]),
        constant=-3.0,
        waste=np.array([1.0, 3, 1, 2, 1]),
    )
    result = shop.session().ask("solve")
    assert result.objective.value == pytest.approx(shop.optimum(), abs=2e-5)


@pytest.mark.parametrize("constant", [0.0, 100.0, -0.25])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_bound_proves_an_objective_up_to_half_of_the_distance_to_the_next_one(constant: float, sign: int) -> None:
    base = arrays(1, 3.0, [1.0, 1.0], [True, True])
    # Objectives are multiples of 0.75 apart from the constant.
    sense = Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE
    base = replace(base, cost=sign * np.array([1.5, 2.25]), constant=constant, sense=sense)
    point, value = np.array([3.0, 0.0]), sign * 4.5 + constant
    for distance, is_exact in ((0.0, True), (0.374, True), (0.376, False)):
        for side in (1, -1):
            assert is_proven_exactly(base, point, None, value + side * distance) == is_exact
    assert is_proven_exactly(replace(base, cost=np.zeros(2)), point, None, -INF)


@pytest.mark.parametrize("constant", [0.0, 100.0, -0.25])
@pytest.mark.parametrize("sign", [1, -1])
def test_duals_prove_an_objective_with_their_lagrangian(constant: float, sign: int) -> None:
    base = replace(arrays(1, 3.0, [1.0, 0.5], [False, False]), constant=constant)
    base = replace(base, cost=sign * np.array([1.0, 2.0]), sense=Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE)
    # x + y / 2 >= 3 with y at its lower bound of -1/2.
    point = np.array([3.25, -0.5])
    assert is_proven_exactly(base, point, np.array([float(sign)]), None)
    assert is_proven_exactly(base, point + 1e-10, np.array([sign + 1e-10]), None)
    for duals in ([0.0], [2.0 * sign], [-1.0 * sign], [0.99 * sign]):
        assert not is_proven_exactly(base, point, np.array(duals), None)
    # A side without a limit has no price.
    free = replace(base, low=np.array([-0.5, -INF]))
    assert not is_proven_exactly(free, point, np.array([float(sign)]), None)
    beyond = replace(base, high=np.array([3.0, 8.5]))
    assert not is_proven_exactly(beyond, point, np.array([float(sign)]), None)


def test_large_models_are_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    base = arrays(1, 3.0, [1.0, 1.0], [True, True])
    for most, is_exact in ((2, True), (1, False)):
        monkeypatch.setattr(certificate, "MAX_ENTRIES", most)
        assert is_proven_exactly(base, np.array([3.0, 0.0]), None, 3.0) == is_exact


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (727.0000000000002, 727.0), (1234567.8910000001, 1234567.891), (12345678.9010000001, 12345678.901),
        (0.1 + 0.2, 0.3), (-0.30000000000000004, -0.3), (2.5000000000001e-7, 2.5e-7), (1e15 + 0.125, 1e15),
    ],
)  # fmt: skip
def test_figures_with_few_digits_have_no_noise(value: float, plain: float) -> None:
    is_short = len(f"{plain:.15g}".partition("e")[0].strip("-0.").replace(".", "")) <= 10
    assert without_noise(value) == (plain if is_short else value)
    assert without_noise(1 / 3) == 1 / 3


@pytest.mark.parametrize(
    ("end", "whole"), [(2999999.9999, 3e6), (2999999.99, 2999999.0), (2.9999999999, 3.0), (2.99999, 2.0)]
)
def test_noise_of_limits_is_relative_to_their_size(end: float, whole: float) -> None:
    base = arrays(-1, end, [1.0], [True])
    tight = with_whole_limits(replace(base, low=np.array([-end]), high=np.array([end]), row_low=np.array([-end])))
    assert (tight.low.tolist(), tight.high.tolist()) == ([-whole], [whole])
    assert (tight.row_low.tolist(), tight.row_high.tolist()) == ([-whole], [whole])
