"""Duals, reduced costs, prices and ranges of degenerate linear models, against enumeration of all vertices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import ValueRange
from oragent.modelling.operations import ModelSession
from oragent.modelling.operations.results import Figure
from oragent.modelling.solving import optimal_face
from oragent.modelling.solving.model_solving import solve
from oragent.modelling.solving.optimal_face import OptimalFace
from tests.modelling.enumeration import Plain

# Step of a slope. The breakpoints of the drawn models are at least 1e-3 apart, as their figures are small whole numbers.
STEP = 1e-4
small = st.integers(-3, 3)


@st.composite
def degenerate(draw: st.DrawFn) -> Plain:
    """A model in which many rows and bounds meet at a point that is often optimal."""
    columns, rows = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    low = np.array([draw(st.integers(-1, 0)) for _ in range(columns)], dtype=float)
    high = low + [draw(st.integers(0 if draw(st.integers(0, 5)) == 0 else 1, 4)) for _ in range(columns)]
    meeting = np.array([draw(st.integers(int(a), int(b))) for a, b in zip(low, high, strict=True)], dtype=float)
    matrix = np.array([[draw(small) for _ in range(columns)] for _ in range(rows)], dtype=float)
    relations = np.array([draw(st.sampled_from([-1, -1, 1, 0])) for _ in range(rows)])
    room = np.array([draw(st.sampled_from([0, 0, 1])) for _ in range(rows)])
    return Plain(
        sign=draw(st.sampled_from([1, -1])),
        cost=np.array([draw(small) for _ in range(columns)], dtype=float),
        low=low,
        high=high,
        matrix=matrix,
        relations=relations,
        rhs=matrix @ meeting - relations * room,
        integer=np.zeros(columns, dtype=bool),
    )


def optimum_after(model: Plain, names: str, place: int, step: float) -> float | None:
    """The optimum after a step of one number, or of several at once; None where there is no point."""
    return model.moved(**dict.fromkeys(names.split(), (place, step))).optimum()


def slopes(model: Plain, names: str, place: int) -> tuple[float, float]:
    """The slopes of the optimum for less and for more of one number; infinite where there is no point."""
    base, ends = model.optimum(), []
    for sign in (-1, 1):
        changed = optimum_after(model, names, place, sign * STEP)
        # In a minimisation, less of a number that leaves no point has a slope of minus infinity.
        ends.append(sign * model.sign * np.inf if changed is None else sign * (changed - base) / STEP)
    return ends[0], ends[1]


def check_slope(figure: Figure, uniqueness: str, expected: tuple[float, float]) -> None:
    """Compare a dual or reduced cost with the slopes to both sides."""
    low, high = min(expected), max(expected)
    is_unique = high - low < 1e-5
    assert uniqueness == ("unique" if is_unique else "not unique")
    assert figure.is_exact == is_unique
    for end, truth in ((figure.low, low), (figure.high, high)):
        assert end is None if np.isinf(truth) else end == pytest.approx(truth, abs=1e-5)


@given(degenerate())
def test_duals_and_prices_of_rows_are_slopes_and_differences_of_optima(model: Plain) -> None:
    session = ModelSession(model.model())
    base = model.optimum()
    point = session.study.point(session.study.present)
    binding = {member.name for member in session.ask("binding").members}
    for place, name in enumerate(model.rows[: len(model.rhs)]):
        (member,) = session.ask(f"slack {name}").members
        check_slope(member.dual, member.uniqueness, slopes(model, "rhs", place))
        slack = abs(model.matrix[place] @ point - model.rhs[place])
        assert member.slack.value == pytest.approx(slack, abs=1e-7)
        assert (name in binding) == (slack < 1e-7)
        (priced,) = session.ask(f"price {name}").members
        for figure, shown, step in (
            (priced.price_up, member.price_up, 1.0),
            (priced.price_down, member.price_down, -1.0),
        ):
            truth = model.moved(rhs=(place, step)).optimum()
            assert figure.value == (None if truth is None else pytest.approx(truth - base, abs=1e-6))
            # Listed without asking only where the dual does not tell it.
            assert shown == (figure if member.uniqueness == "not unique" else None)


@given(degenerate())
def test_ranges_of_rows_end_exactly_where_the_price_changes(model: Plain) -> None:
    session = ModelSession(model.model())
    base = model.optimum()
    for place, name in enumerate(model.rows[: len(model.rhs)]):
        less, more = slopes(model, "rhs", place)
        entries = session.ask(f"range {name}").entries
        sides = [(less, more)] if abs(more - less) < 1e-5 else [(less, None), (None, more)]
        assert len(entries) == len(sides)
        for entry, side in zip(entries, sides, strict=True):
            price = next(slope for slope in side if slope is not None)
            assert entry.uniqueness == ("unique" if len(sides) == 1 else "not unique")
            if np.isinf(price):
                assert entry.price is None
                assert (entry.low, entry.high) == (model.rhs[place], model.rhs[place])
                continue
            assert entry.price.value == pytest.approx(price, abs=1e-5)
            for end, direction in ((entry.low, -1), (entry.high, 1)):
                if end is None:
                    step = 1000.0 * direction
                    far = model.moved(rhs=(place, step)).optimum()
                    assert far == pytest.approx(base + price * step, abs=1e-5)
                    continue
                step = end - model.rhs[place]
                assert model.moved(rhs=(place, step * (1 - 1e-9))).optimum() == pytest.approx(
                    base + price * step, abs=1e-5
                )
                beyond = model.moved(rhs=(place, step + direction * STEP)).optimum()
                assert beyond is None or abs(beyond - base - price * (step + direction * STEP)) > 1e-7


@given(degenerate())
def test_ranges_of_costs_end_exactly_where_the_values_change(model: Plain) -> None:
    session = ModelSession(model.model())
    point = session.study.point(session.study.present)
    optima = model.optima()

    def loss(place: int, step: float) -> float:
        changed = model.moved(cost=(place, step))
        return abs(changed.worth(point) - changed.optimum())

    for place, name in enumerate(model.columns[: len(model.cost)]):
        (entry,) = session.ask(f"range variables.{name}").entries
        assert entry.value.value == model.cost[place]
        assert entry.uniqueness == ("unique" if np.ptp(optima[:, place]) < 1e-7 else "not unique")
        for end, direction in ((entry.low, -1), (entry.high, 1)):
            if end is None:
                assert loss(place, 1000.0 * direction) < 1e-5
                continue
            step = end - model.cost[place]
            assert loss(place, step) < 1e-5
            assert loss(place, step + direction * STEP) > 1e-7


@given(degenerate())
def test_reduced_costs_are_the_slopes_of_the_bound_at_which_a_variable_is(model: Plain) -> None:
    session = ModelSession(model.model())
    base = model.optimum()
    for place, name in enumerate(model.columns[: len(model.cost)]):
        if model.low[place] == model.high[place]:
            continue
        why = session.ask(f"why variables.{name}")
        value = why.member.value.value
        side = {"lower bound": "low", "upper bound": "high"}.get(why.at)
        if side is None:
            assert model.low[place] < value < model.high[place]
            assert why.reduced_cost == Figure.exact(0)
            continue
        assert getattr(model, side)[place] == pytest.approx(value)
        expected = slopes(model, side, place)
        check_slope(why.reduced_cost, why.uniqueness, expected)
        if why.uniqueness == "not unique":
            assert (why.holds_from, why.holds_to) == (None, None)
            continue
        for end, direction in ((why.holds_from, -1), (why.holds_to, 1)):
            if end is None:
                continue
            step = end - value
            assert model.moved(**{side: (place, step * (1 - 1e-9))}).optimum() == pytest.approx(
                base + expected[0] * step, abs=1e-5
            )
            beyond = model.moved(**{side: (place, step + direction * STEP)}).optimum()
            assert beyond is None or abs(beyond - base - expected[0] * (step + direction * STEP)) > 1e-7


@given(degenerate(), st.sampled_from([-1, 1]), st.integers(0, 3))
def test_a_trial_lists_the_rows_that_bind_newly_and_no_longer(model: Plain, step: int, place: int) -> None:
    session = ModelSession(model.model())
    place %= len(model.rhs)
    result = session.ask(f"whatif {model.rows[place]} += {step}")
    if result.status_after != "optimal":
        return

    def binding(scenario, data: Plain) -> set[str]:
        slack = np.abs(data.matrix @ session.study.point(scenario) - data.rhs)
        return {name for name, distance in zip(data.rows, slack, strict=False) if distance < 1e-6}

    before = binding(session.study.present, model)
    after = binding(session.study.scenario(session.study.trial), model.moved(rhs=(place, step)))
    assert {member.name for member in result.newly_binding} == after - before
    assert {member.name for member in result.no_longer_binding} == before - after


@pytest.mark.parametrize("sign", [1, -1])
def test_right_hand_sides_of_binding_and_of_slack_rows_end_where_they_bind(
    sign: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The optimum is 2; the second row would bind from 2 downwards, and the third one from 2 upwards.
    arrays = Arrays(
        Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE, np.array([float(sign)]), 0.0,
        np.zeros(1), np.array([9.0]), np.zeros(1, dtype=bool),
        Sparse.from_dense(np.ones((3, 1))), np.array([2.0, -np.inf, 0.5]), np.array([np.inf, 5.0, np.inf]),
    )  # fmt: skip
    face = OptimalFace(arrays, np.array([2.0]), np.array([float(sign), 0.0, 0.0]))
    intervals = [face.rhs_interval(row, face.duals) for row in range(3)]
    assert intervals == [pytest.approx(ends) for ends in ((0.5, 5.0), (2.0, np.inf), (-np.inf, 2.0))]
    assert face.value_ends(0) == pytest.approx((2.0, 2.0))

    # One search shows that the duals are unique, and so are all slopes.
    searches = []
    optimise = optimal_face._optimise
    monkeypatch.setattr(optimal_face, "_optimise", lambda *given: searches.append(given) or optimise(*given))
    assert [face.row_slopes(row).more for row in range(3)] == pytest.approx([sign, 0.0, 0.0])
    assert len(searches) == 1


def check_price(value: float, is_unique: bool, ends: tuple[float, float]) -> None:
    """Compare an optimal dual or reduced cost with the slopes to both sides."""
    assert is_unique == (abs(ends[1] - ends[0]) < 1e-5)
    assert min(ends) - 1e-5 <= value <= max(ends) + 1e-5


def check_range(model: Plain, names: str, place: int, slope: float, start: float, interval: ValueRange) -> None:
    """Check that the optimum follows a slope exactly while one number is within an interval."""
    base = model.optimum()
    for end, direction in ((interval.low, -1), (interval.high, 1)):
        step = 1000.0 * direction if np.isinf(end) else end - start
        assert optimum_after(model, names, place, step * (1 - 1e-9)) == pytest.approx(base + slope * step, abs=1e-5)
        if np.isfinite(end):
            step += direction * STEP
            beyond = optimum_after(model, names, place, step)
            assert beyond is None or abs(beyond - base - slope * step) > 1e-7


@given(degenerate())
def test_figures_of_a_solution_are_those_of_the_model_and_not_of_one_basis(model: Plain) -> None:
    solution = solve(model.model())
    found = solution.sensitivity
    assert found.rhs_ranges.keys() == found.duals.keys() - set(found.several_duals)
    for place, name in enumerate(found.duals):
        ends = slopes(model, "rhs", place)
        check_price(found.duals[name], name not in found.several_duals, ends)
        if name in found.rhs_ranges:
            check_range(model, "rhs", place, ends[0], model.rhs[place], found.rhs_ranges[name])
    for place, (name, value) in enumerate(solution.values.items()):
        sides = [side for side in ("low", "high") if value == pytest.approx(getattr(model, side)[place], abs=1e-7)]
        # Both bounds of a fixed variable are moved.
        ends = slopes(model, " ".join(sides), place)
        check_price(found.reduced_costs[name], name not in found.several_reduced_costs, ends)
        assert (name in found.bound_ranges) == (len(sides) == 1 and name not in found.several_reduced_costs)
        if name in found.bound_ranges:
            check_range(model, sides[0], place, ends[0], value, found.bound_ranges[name])
        check_range(model, "cost", place, value, model.cost[place], found.cost_ranges[name])


def test_a_free_variable_outside_the_basis_does_not_hide_that_duals_differ() -> None:
    free = np.full(2, np.inf)
    same = np.ones((2, 2))
    relations, rhs = np.array([1, -1]), np.full(2, 3.0)
    model = Plain(1, np.ones(2), -free, free, same, relations, rhs, np.zeros(2, dtype=bool)).model()
    solution = solve(model)
    # One variable is 3 and the other 0, so two of them are between their limits, as many as there are rows.
    assert sorted(solution.values.values()) == pytest.approx([0.0, 3.0])
    assert set(solution.sensitivity.several_duals) == set(model.flat_row_names)
    assert not solution.sensitivity.rhs_ranges
    assert [member.uniqueness for member in ModelSession(model).ask("binding").members] == ["not unique"] * 2
