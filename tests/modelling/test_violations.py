"""How far a point breaks a nonlinear part of a model, against the part's definition, on both sides."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.modelling.data.features import (
    Absolute,
    BinaryProduct,
    Extreme,
    Indicator,
    OrderedSet,
    PiecewiseLinear,
    QuadraticRow,
    QuadraticTerm,
)
from oragent.modelling.data.model_values import Relation

values = st.integers(-4, 4).map(float)


def check(violation: float, distance: float) -> None:
    """A violation is 0 where the part holds, and at most the distance from what it asks for; never below 0."""
    assert violation >= 0
    assert (violation == 0) is (distance == 0)
    assert violation <= distance + 1e-12


def excess(left: float, relation: Relation, rhs: float) -> float:
    over, under = max(0.0, left - rhs), max(0.0, rhs - left)
    return {Relation.AT_MOST: over, Relation.AT_LEAST: under, Relation.EQUAL: over + under}[relation]


@given(x=values, y=values, relation=st.sampled_from(Relation), rhs=values)
def test_a_quadratic_row(x: float, y: float, relation: Relation, rhs: float) -> None:
    part = QuadraticRow("q", {"x": 2.0}, (QuadraticTerm("x", "y", -1.5), QuadraticTerm("y", "y", 1.0)), relation, rhs)
    check(part.violation({"x": x, "y": y}.__getitem__), excess(2 * x - 1.5 * x * y + y * y, relation, rhs))


@given(
    x=values, binary=st.sampled_from([0.0, 1.0]), active=st.booleans(), relation=st.sampled_from(Relation), rhs=values
)
def test_a_row_under_a_condition(x: float, binary: float, active: bool, relation: Relation, rhs: float) -> None:
    part = Indicator("i", "b", active, {"x": -2.0}, relation, rhs)
    distance = excess(-2 * x, relation, rhs) if bool(binary) is active else 0.0
    check(part.violation({"x": x, "b": binary}.__getitem__), distance)
    # Points of solvers are arrays, whose comparisons are not the constants True and False.
    at = Indicator("i", 1, active, {0: -2.0}, relation, rhs)
    check(float(at.violation(np.array([x, binary]).__getitem__)), distance)


@given(x=values, y=values)
def test_an_absolute_value(x: float, y: float) -> None:
    check(Absolute("a", "x", "y").violation({"x": x, "y": y}.__getitem__), abs(y - abs(x)))


@given(x=values, z=values, y=values, largest=st.booleans(), constant=st.none() | values)
def test_an_extreme(x: float, z: float, y: float, largest: bool, constant: float | None) -> None:
    others = [x, z] + ([] if constant is None else [constant])
    part = Extreme("e", "y", ("x", "z"), largest, constant)
    check(part.violation({"x": x, "z": z, "y": y}.__getitem__), abs(y - (max(others) if largest else min(others))))


@given(inputs=st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=3), y=st.sampled_from([0.0, 0.5, 1.0]))
def test_a_product(inputs: list[float], y: float) -> None:
    names = tuple(f"x{at}" for at in range(len(inputs)))
    part = BinaryProduct("p", "y", names)
    check(part.violation({**dict(zip(names, inputs, strict=True)), "y": y}.__getitem__), abs(y - math.prod(inputs)))


CURVE = ((-2.0, 1.0), (0.0, -3.0), (1.0, -3.0), (3.0, 5.0))


@pytest.mark.parametrize(
    ("x", "expected"),
    [(-2.0, 1.0), (-1.0, -1.0), (-0.5, -2.0), (0.0, -3.0), (0.75, -3.0), (1.0, -3.0), (2.0, 1.0), (3.0, 5.0)],
)
@pytest.mark.parametrize("off", [-2.0, 0.0, 0.5])
def test_a_curve_between_its_points(x: float, expected: float, off: float) -> None:
    part = PiecewiseLinear("c", "x", "y", CURVE)
    check(part.violation({"x": x, "y": expected + off}.__getitem__), abs(off))


@pytest.mark.parametrize(("x", "end"), [(-3.0, 1.0), (4.0, 5.0)])
def test_a_curve_ends_with_its_points(x: float, end: float) -> None:
    part = PiecewiseLinear("c", "x", "y", CURVE)
    assert part.violation({"x": x, "y": end}.__getitem__) > 0.1


@pytest.mark.parametrize(
    ("x", "y", "violation"),
    [
        # Relative to the slope of 10, to the value of 20, and to the input of 4.
        (1.0, 5.0, 0.5), (1.5, 10.0, 0.5), (2.5, 14.0, 0.125), (3.5, 20.0, 1 / 21), (6.0, 20.0, 0.5), (0.5, 0.0, 0.5), (0.5, 20.0, 2.0),
    ],
)  # fmt: skip
def test_the_violation_of_a_curve_is_relative_to_its_figures(x: float, y: float, violation: float) -> None:
    part = PiecewiseLinear("c", "x", "y", ((1.0, 0.0), (2.0, 10.0), (3.0, 22.0), (4.0, 20.0)))
    assert part.violation({"x": x, "y": y}.__getitem__) == pytest.approx(violation)
    flat = PiecewiseLinear("c", "x", "y", ((0.0, 0.0), (1.0, 0.25)))
    assert flat.violation({"x": 1.5, "y": 0.25}.__getitem__) == 0.5
    assert flat.violation({"x": 1.0, "y": 0.75}.__getitem__) == 0.5


@given(
    sizes=st.lists(values, min_size=1, max_size=5),
    kind=st.sampled_from([1, 2]),
    order=st.randoms(use_true_random=False),
)
def test_an_ordered_set(sizes: list[float], kind: int, order) -> None:
    names = [f"x{at}" for at in range(len(sizes))]
    shuffled = order.sample(range(len(sizes)), len(sizes))
    part = OrderedSet("s", kind, {names[at]: 2.0 * at for at in shuffled})
    others = [sum(map(abs, [*sizes[:at], *sizes[at + kind :]])) for at in range(len(sizes))]
    violation = part.violation(dict(zip(names, sizes, strict=True)).__getitem__)
    check(violation, min(others))
    assert violation in (0.0, *map(abs, sizes))
    assert OrderedSet("s", kind, {}).violation({}.__getitem__) == 0


def test_a_condition_holds_for_values_above_a_half() -> None:
    part = Indicator("i", "b", True, {"x": 1.0}, Relation.AT_MOST, 0.0)
    assert [part.violation({"x": 1.0, "b": at}.__getitem__) for at in (0.5, 0.51)] == [0.0, 1.0]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("x", "violation"), [(0.25, 0.25), (0.5, 0.5), (1.0, 1.0), (4.0, 1.0)])
def test_violations_are_relative_to_summands_of_at_least_1(x: float, violation: float, sign: int) -> None:
    relation = Relation.AT_MOST if sign > 0 else Relation.AT_LEAST
    parts = [
        QuadraticRow("q", {"x": 1.0}, (QuadraticTerm("x", "zero", 1.0),), relation, 0.0),
        QuadraticRow("q", {}, (QuadraticTerm("x", "one", 1.0),), relation, 0.0),
        Indicator("i", "one", True, {"x": 1.0}, relation, 0.0),
        Absolute("a", "x", "zero"),
        Extreme("e", "zero", ("x",), True),
        Extreme("e", "zero", ("x", "x"), False),
    ]
    point = {"x": sign * x, "zero": 0.0, "one": 1.0}
    assert [part.violation(point.__getitem__) for part in parts] == [violation] * len(parts)
