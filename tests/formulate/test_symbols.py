"""Symbols in a checker give the same expressions of degree 2 as numbers, and refuse every other operation."""

import builtins
import itertools
import json
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.formulate import symbols
from oragent.formulate.model_comparison import CheckRow, add_derived, overlap_choices
from oragent.formulate.symbols import Quadratic, as_symbols, check_numbers, check_symbols

figures = st.integers(-50, 50).map(float)


def value_at(row: Quadratic, point: dict[str, float]) -> float:
    linear = row.constant + sum(size * point[name] for name, size in row.terms.items())
    return linear + sum(size * point[one] * point[other] for (one, other), size in row.products.items())


@given(a=figures, b=figures, c=figures, x=figures, y=figures)
def test_an_expression_of_symbols_has_the_value_of_the_same_expression_of_numbers(a, b, c, x, y) -> None:
    def expression(u, v):
        linear = a * u - v * b + (c - u) / 4.0 + sum([u, v, -v]) - (-(+u)) + 0 * v
        return linear + (u - b) * (c * v + a) - v**2 + 3 * (u + v + 1) ** 2

    row = expression(Quadratic({"x": 1.0}), Quadratic({"y": 1.0}))
    assert value_at(row, {"x": x, "y": y}) == pytest.approx(expression(x, y), abs=1e-6)


@pytest.mark.parametrize(
    "refused",
    [
        lambda u: u * u * u, lambda u: (u * u) * (u + 1), lambda u: u**3, lambda u: u**0.5, lambda u: 1 / u,
        lambda u: u / u, lambda u: u > 0, lambda u: u == u, bool, round, abs, int, float, hash, lambda u: u // 2,
        lambda u: u % 2, lambda u: max(u, 0), lambda u: operator.ne(u, 1),
    ],
)  # fmt: skip
def test_an_operation_of_higher_degree_or_on_the_value_is_refused(refused) -> None:
    with pytest.raises(TypeError):
        refused(Quadratic({"x": 1.0}))


def test_symbols_replace_the_values_of_columns_only() -> None:
    symbols = as_symbols({"a": 1.0, "b": [2.0, 3.0]}, {"a": "x", "b": [None, "y"]})
    assert symbols["a"].terms == {"x": 1.0}
    assert symbols["b"][0] == 2.0
    assert symbols["b"][1].terms == {"y": 1.0}


@pytest.fixture
def python_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the functions that a call of a checker replaces in its process."""
    for name in ("max", "min", "abs"):
        monkeypatch.setattr(builtins, name, getattr(builtins, name))
    monkeypatch.setattr(builtins, "piecewise", None, raising=False)


def read_entry(item: tuple) -> list:
    (entry,) = json.loads(check_numbers(lambda values, data: [item], {}, {}))
    return entry


@pytest.mark.parametrize(
    ("cases", "least"),
    [
        # The case with the smallest violation counts, in each direction.
        ([(3, ">=", 5), (10, "<=", 4)], [3, ">=", 5]),
        ([(3, ">=", 9), (10, "<=", 8)], [10, "<=", 8]),
        ([(9, ">=", 5), (4, "=", 4.5)], [9, ">=", 5]),
        ([(2, "<=", 9), (8, ">=", 9)], [2, "<=", 9]),
        ([(7, "=", 4), (1, "=", 5)], [7, "=", 4]),
        # Of the rows of a case, the worst one counts.
        ([[(1, "<=", 2), (9, "<=", 4)], (7, "<=", 4)], [7, "<=", 4]),
    ],
)
@pytest.mark.usefixtures("python_functions")
def test_the_least_violated_case_of_a_choice_counts(cases: list, least: list) -> None:
    name, left_side, relation, right, _ = read_entry(("choice", cases, "any", None, ""))
    assert [name, left_side, relation, right] == ["choice", *least]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5), st.integers(0, 1)), max_size=5))
def test_the_largest_overlap_of_present_tasks_is_measured(tasks: list[tuple[int, int, int]]) -> None:
    names = ("max", "min", "abs")
    python = {name: getattr(builtins, name) for name in names}
    try:
        _, overlap, relation, right, _ = read_entry(("machine", tasks, "no overlap", None, ""))
    finally:
        vars(builtins).update(python)
        vars(builtins).pop("piecewise", None)
    present = [(start, start + size) for start, size, is_present in tasks if is_present and size]
    pairs = itertools.combinations(present, 2)
    truth = max((min(first[1], second[1]) - max(first[0], second[0]) for first, second in pairs), default=0)
    assert (relation, right) == ("<=", 0)
    assert overlap == max(0, truth)


@pytest.mark.parametrize(
    ("item", "left_side", "right"),
    [
        (("aim", 5, "maximize", None, ""), 5, 0), (("aim", 5, "minimize", "5 %", ""), 5, 0), (("aim", 5, "minimize", 2, ""), 5, 0), (("row", 5, "<=", 7, "s"), 5, 7), (["row", 5, ">=", 7, "s"], 5, 7),
        # Tasks of two parts are present, and those of three with a presence above a half.
        (("m", [(0, 4), (3, 2)], "no overlap", None, ""), 1, 0), (("m", [(0, 4, 0.6), (3, 2, 1)], "no overlap", None, ""), 1, 0),
        (("m", [(0, 4, 0.5), (3, 2, 1)], "no overlap", None, ""), 0, 0),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("python_functions")
def test_a_check_without_a_right_side_has_0_there(item: Any, left_side: float, right: float) -> None:
    entry = read_entry(item)
    assert (entry[1], entry[3]) == (left_side, right)


@pytest.mark.parametrize(
    "item",
    [
        ("row", 5, "<=", 7), ("row", 5, "<=", 7, "s", 1), 5, "abcde", ("m", [(1,)], "no overlap", None, ""), ("m", [(1, 2, 1, 1)], "no overlap", None, ""),
        ("m", 5, "no overlap", None, ""), ("m", [5], "no overlap", None, ""), ("c", [], "any", None, ""), ("c", 5, "any", None, ""), ("c", [[]], "any", None, ""),
        *(("a", 5, "maximize", room, "") for room in (-1, "-5 %", "few", "x %", float("inf"), float("nan"), Quadratic({"x": 1.0}), [3])),
        ("c", [(1, "<=")], "any", None, ""), ("c", [(1, "<=", 2), (1, "<=", 2, 3)], "any", None, ""), ("c", [(1, "<=", 2), 5], "any", None, ""),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("python_functions")
def test_a_check_of_another_form_is_refused(item: Any) -> None:
    with pytest.raises(TypeError):
        read_entry(item)


@pytest.mark.parametrize(
    ("right", "amount", "share"), [(None, 0, 0), (20, 20, 0), (0, 0, 0), ("5 %", 0, 0.05), (" 2.5% ", 0, 0.025), (np.int64(3), 3, 0)]
)  # fmt: skip
def test_the_right_side_of_an_aim_is_what_later_aims_may_take(right: Any, amount: float, share: float) -> None:
    checker = lambda values, data: [("people", 2 * values["x"] + 1, "maximize", right, "as many as possible")]  # noqa: E731
    _, (row,) = run_both(checker, {"x": 3.0})
    assert (row.terms, row.rhs, row.relation, row.sentence) == ({"x": 2.0}, -1.0, "maximize", "as many as possible")
    assert (row.room, row.room_share) == (amount, share)


def run_both(checker: Callable, point: dict[str, float]) -> tuple[list[list], list[CheckRow]]:
    """Return the entries of a checker for numbers, and its rows for symbols."""
    python = {name: getattr(builtins, name) for name in ("max", "min", "abs")}
    columns = {name: name for name in point}
    try:
        entries = json.loads(check_numbers(checker, point, {}))
        rows = [CheckRow.from_entry(entry) for entry in json.loads(check_symbols(checker, point, columns, {}))]
    finally:
        vars(builtins).update(python)
        vars(builtins).pop("piecewise", None)
    return entries, rows


@given(x=st.integers(-6, 6), y=st.integers(-6, 6), a=st.integers(-3, 3), b=st.integers(-3, 3))
def test_functions_of_symbols_have_the_values_of_those_of_numbers(x: int, y: int, a: int, b: int) -> None:
    points = [(4, 11), (-2.0, 5), (0, 5)]

    def checker(values: dict[str, Any], data: dict) -> Iterator[tuple]:
        u, v = values["x"], values["y"]
        most = max(u, a * v, b) - min([u, v + a]) + abs(u - b * v)
        yield "row", most + piecewise(u + v, points), "<=", a * u + 4, "a sentence"  # type: ignore[name-defined]  # noqa: F821
        yield "plain", max(a, b) + min(a, b) + abs(a) + max([], default=7) + piecewise(a, points), ">=", 0, ""  # type: ignore[name-defined]  # noqa: F821
        yield "area", u * v - 2 * u * u + 3, "=", v * u + b, ""
        yield "whole", u + 2, "integer", None, ""
        yield "worth", most, "maximize", None, ""

    point = {"x": float(x), "y": float(y)}
    entries, rows = run_both(checker, point)
    values = add_derived(point, rows)
    found = {row.name: row for row in rows}
    for name, left_side, relation, right, sentence in entries:
        row = found[name]
        assert (row.relation, row.sentence) == (relation, sentence)
        assert row.value_at(values) == pytest.approx(left_side - right)
    # Definitions come before the rows that use them.
    assert [row.relation for row in rows[:4]] == ["largest", "largest", "largest", "pieces"]


@given(x=st.integers(0, 5), y=st.integers(0, 5), on=st.integers(0, 1))
def test_cases_and_tasks_of_symbols_hold_where_those_of_numbers_do(x: int, y: int, on: int) -> None:
    def checker(values: dict[str, Any], data: dict) -> Iterator[tuple]:
        u, v = values["x"], values["y"]
        yield "either", [(u, "<=", v - 2), [(u, ">=", 3), (v, "=", 4)]], "any", None, "one of two"
        yield "machine", [(u, 2), (v, 3, values["on"]), (9, u)], "no overlap", None, "one at a time"

    point = {"x": float(x), "y": float(y), "on": float(on)}
    (either, machine), (cases, tasks) = run_both(checker, point)
    holds = {"<=": lambda over: over <= 0, ">=": lambda over: over >= 0, "=": lambda over: over == 0}
    truth = x <= y - 2 or (x >= 3 and y == 4)
    assert holds[either[2]](either[1] - either[3]) is truth
    assert any(all(holds[row.relation](row.value_at(point)) for row in case) for case in cases.cases) is truth
    assert (cases.sentence, tasks.sentence) == ("one of two", "one at a time")
    assert holds[machine[2]](machine[1]) is all(
        any(row.value_at(point) <= 0 for (row,) in choice.cases) for choice in overlap_choices(tasks)
    )


@pytest.mark.parametrize("points", [[], [(1, 2)], [(1, 2), (1, 3)], [(1, 2), (2, 3), (1, 5)]])
def test_a_function_needs_two_points_at_different_places(points: list[tuple[int, int]]) -> None:
    def checker(values: dict[str, Any], data: dict) -> Iterator[tuple]:
        yield "row", piecewise(values["x"], points), "<=", 4, ""  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(ValueError):  # noqa: PT011
        run_both(checker, {"x": 1.0})


def test_a_checker_has_at_most_so_many_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbols, "MAX_ENTRIES", 3)
    for count in (0, 3, 4):

        def checker(values: dict[str, Any], data: dict, count: int = count) -> list[tuple]:
            return [(f"row {at}", values["x"], "<=", 4, "") for at in range(count)]

        if count <= 3:
            entries, rows = run_both(checker, {"x": 1.0})
            assert len(entries) == len(rows) == count
        else:
            with pytest.raises(ValueError):  # noqa: PT011
                run_both(checker, {"x": 1.0})
    assert run_both(lambda values, data: None, {"x": 1.0}) == ([], [])
