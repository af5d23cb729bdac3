"""A model from a builder: each way to give figures beside one that does not fit."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.links import LinkedVector, Links

INF = np.inf
TOWNS, WEEKS = ["a", "b"], [1, 2.0, 3]


def begin() -> IndexedModelBuilder:
    builder = IndexedModelBuilder("plan", "a plan")
    builder.add_set("town", TOWNS)
    builder.add_set("week", WEEKS)
    builder.add_parameter("first", [], 9.0)
    builder.add_parameter("need", ["town"], {("a",): 3.0, ("b",): 4.0}, unit="t", meaning="demand")
    return builder


def bounds(**given_: object) -> tuple[list[float], list[float]]:
    builder = begin()
    builder.add_variables("before", high=1.0)
    columns = builder.add_variables("x", ["town", "week"], **given_)
    model = builder.build()
    assert columns.tolist() == [1, 2, 3, 4, 5, 6]
    low, high = model.low.evaluate(model.cells), model.high.evaluate(model.cells)
    assert (low[0], high[0]) == (0.0, 1.0)
    return low[1:].tolist(), high[1:].tolist()


def test_bounds_are_given_as_a_number_a_list_a_mapping_or_cells() -> None:
    assert bounds() == ([0] * 6, [INF] * 6)
    assert bounds(low=-2, high=3) == ([-2] * 6, [3] * 6)
    assert bounds(low=[2.0])[0] == [2] * 6
    assert bounds(high=range(6))[1] == [0, 1, 2, 3, 4, 5]
    assert bounds(high=np.arange(6.0).reshape(2, 3))[1] == [0, 1, 2, 3, 4, 5]
    assert bounds(high={("a", 2): 5.0, ("b", "3"): 6.0})[1] == [0, 5, 0, 0, 0, 6]
    assert bounds(low=-1e20, high=9.9e14) == ([-INF] * 6, [9.9e14] * 6)
    assert bounds(low=-INF, high=1e30) == ([-INF] * 6, [INF] * 6)
    one = begin()
    columns = one.add_variables("x", ["town", "week"], low=one.cells("first") * 2 + 1)
    model = one.build()
    assert model.low.evaluate(np.array([5.0, 0, 0])).tolist() == [11.0] * 6
    assert columns.tolist() == list(range(6))


def test_keys_may_be_a_part_of_the_product() -> None:
    builder = begin()
    columns = builder.add_variables("x", ["town", "week"], keys=[("b", 1), ("a", "3")])
    builder.add_parameter("cost", ["week"], {3: 7.0, 1: 5.0})
    assert (columns.tolist(), builder.keys("x"), builder.keys("cost")) == (
        [0, 1],
        [("b", "1"), ("a", "3")],
        [("3",), ("1",)],
    )
    assert builder.keys("need") == [("a",), ("b",)]
    cells = builder.cells("cost", [(1,), (3,), (1,)])
    builder.set_objective("o", "minimize", [0, 1, 1], cells)
    model = builder.build()
    assert model.to_arrays().cost.tolist() == [5.0, 7.0 + 5.0]
    assert model.objective.cost.evaluate(np.array([0, 0, 0, 30.0, 10.0])).tolist() == [10.0, 40.0]
    assert [family.positions.tolist() for family in model.parameters] == [[0], [1, 2], [3, 4]]
    assert [(family.unit, family.meaning) for family in model.parameters][1] == ("t", "demand")
    assert (model.name, model.meaning) == ("plan", "a plan")
    assert [index_set.labels for index_set in model.sets] == [("a", "b"), ("1", "2", "3")]
    assert [index_set.is_ordered for index_set in model.sets] == [False, True]


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.sampled_from([-1.0, 0.0, 2.0])), max_size=8))
def test_entries_of_rows_are_sorted_and_summed(entries: list[tuple[int, int, float]]) -> None:
    builder = begin()
    columns = builder.add_variables("x", ["week"])
    builder.add_rows("none", rhs=1.0)
    rows = [row for row, _, _ in entries]
    at = builder.add_rows(
        "r", ["town"], ">=", rows=rows, columns=[columns[c] for _, c, _ in entries], values=[v for *_, v in entries],
        rhs=builder.cells("need"), unit="t", meaning="why",
    )  # fmt: skip
    model = builder.build()
    dense = np.zeros((3, 3))
    for row, column, value in entries:
        dense[row + 1, column] += value
    assert at.tolist() == [1, 2]
    assert model.matrix.to_dense().tolist() == dense.tolist()
    assert model.matrix.with_sorted_columns() is model.matrix
    assert model.rhs_values.tolist() == [1.0, 3.0, 4.0]
    assert [str(record.relation) for record in model.row_records] == ["<=", ">=", ">="]
    assert [(family.unit, family.meaning) for family in model.rows] == [("", ""), ("t", "why")]


def test_objectives_are_sums_of_their_parts() -> None:
    builder = begin()
    columns = builder.add_variables("x", ["town"], kind="integer")
    builder.set_objective(
        "o", "maximize", columns, builder.cells("need"), constant=2.0, unit="EUR", weight=3.0, priority=2
    )
    builder.set_objective("o", "maximize", [0], 5.0, constant=1.0)
    builder.set_objective("p", "minimize", [1])
    model = builder.build()
    first, second = model.objectives
    assert (first.constant, first.unit, first.weight, first.priority, str(first.sense)) == (
        3.0,
        "EUR",
        3.0,
        2,
        "maximize",
    )
    assert [goal.cost.evaluate(model.cells).tolist() for goal in (first, second)] == [[8.0, 4.0], [0.0, 1.0]]
    assert model.integer.tolist() == [True, True]
    bare = begin()
    bare.add_variables("x")
    goal = bare.build().objective
    assert (goal.name, str(goal.sense), goal.cost.evaluate(np.zeros(3)).tolist()) == ("objective", "minimize", [0.0])


def started() -> IndexedModelBuilder:
    builder = begin()
    builder.add_variables("x", ["town"])
    builder.add_rows("r", columns=[0])
    return builder


# Calls that fit, and calls beside them that do not.
CALLS: list[tuple[Callable[[IndexedModelBuilder], object], list[Callable[[IndexedModelBuilder], object]]]] = [
    (lambda b: b.add_set("s", ["x", "y"]), [lambda b: b.add_set("town", ["x"]), lambda b: b.add_set("s", ["x", "x"]), lambda b: b.add_set(" ", [])]),
    (
        lambda b: b.add_parameter("p", ["town"], [1.0, 2.0]),
        [
            lambda b: b.add_parameter("need", ["town"], [1.0, 2.0]),
            lambda b: b.add_parameter("p", ["town"], [1.0, INF]),
            lambda b: b.add_parameter("p", ["town"], [1.0, 2.0, 3.0]),
            lambda b: b.add_parameter("p", ["town"], b.cells("need")),
            lambda b: b.add_parameter("p", ["none"], [1.0]),
            lambda b: b.add_parameter("p", ["town"], {("a", "b"): 1.0}),
            lambda b: b.add_parameter("p", ["town"], {"c": 1.0}),
            lambda b: b.add_parameter("p", ["town"], [1.0, 2.0], keys=[("a",), ("a",)]),
            lambda b: b.add_parameter("p", ["town"], [1.0, 1.1e15]),
        ],
    ),
    (
        lambda b: b.add_variables("y", ["town"], low=[0.0, 1.0]),
        [
            lambda b: b.add_variables("x", ["town"]),
            lambda b: b.add_variables("y", ["town"], low=[0.0, np.nan]),
            lambda b: b.add_variables("y", ["town"], low=1.1e15),
            lambda b: b.add_variables("y", ["week"], low=b.cells("need")),
            lambda b: b.add_variables("y", ["town"], kind="whole"),
            lambda b: b.add_variables("", ["town"]),
        ],
    ),
    (
        lambda b: b.add_rows("s", ["town"], rows=[0, 1], columns=[0, 1]),
        [
            lambda b: b.add_rows("r", ["town"], rows=[0, 1], columns=[0, 1]),
            lambda b: b.add_rows("s", ["town"], rows=[0, 2], columns=[0, 1]),
            lambda b: b.add_rows("s", ["town"], rows=[0, -1], columns=[0, 1]),
            lambda b: b.add_rows("s", ["town"], rows=[0, 1], columns=[0, 2]),
            lambda b: b.add_rows("s", ["town"], rows=[0, 1], columns=[0, -1]),
            lambda b: b.add_rows("s", ["town"], rows=[0], columns=[0, 1]),
            lambda b: b.add_rows("s", ["town"], "<", rows=[0, 1], columns=[0, 1]),
            lambda b: b.add_rows("s", ["town"], rows=[0, 1], columns=[0, 1], rhs=[1.0, 2.0, 3.0]),
            lambda b: b.add_rows("s", ["town"], rows=[0, 1], columns=[0, 1], values=np.nan),
            lambda b: b.add_rows("s", ["town"], rows=[0, 1], columns=[0, 1], values=[1.0, INF]),
            lambda b: b.add_rows("s", ["town"], rows=[0, 1], columns=[0, 1], rhs=[1.0, INF]),
            lambda b: b.add_rows("s", ["town"], rows=[0, 1], columns=[0, 1], rhs={("b",): -INF}),
            lambda b: b.add_rows("s", ["town"], rows=[0, 1], columns=[0, 1], rhs=np.nan),
            lambda b: b.add_rows("s", ["town"], rows=[0, 1], columns=[0, 1], rhs="much"),
            lambda b: b.add_rows("s", ["town"], rows=[0, 1], columns=[0, 1], rhs=[1.0, [2.0]]),
            lambda b: b.add_rows("s", ["town"], rows=[0, 1], columns=[0.0, 1.0]),
            lambda b: b.add_rows("s", columns="x"),
        ],
    ),
    (
        lambda b: b.cells("need", [("a",)]),
        [lambda b: b.cells("none"), lambda b: b.cells("need", [("c",)]), lambda b: b.cells("need", [("a", "b")]), lambda b: b.keys("none")],
    ),
    (lambda b: b.set_objective("o", "minimize", [0, 1]), [lambda b: b.set_objective("o", "up", [0]), lambda b: b.set_objective("o", "minimize", [0, 1], [1.0, 2.0, 3.0]), lambda b: b.set_objective("o", "minimize", [0, 1], INF), lambda b: b.set_objective("o", "minimize", [0, -1]), lambda b: b.set_objective("o", "minimize", [0, 2]),
        lambda b: b.set_objective("o", "minimize", [0.5]), lambda b: b.set_objective("o", "minimize", [0], weight=np.nan), lambda b: b.set_objective("o", "minimize", [0], {"a": 1.0})]),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong"), [(right, wrong) for right, every in CALLS for wrong in every])
def test_what_does_not_fit_is_refused(right: Callable, wrong: Callable) -> None:
    right(started())
    with pytest.raises(ModellingError) as refused:
        wrong(started())
    assert "\n" not in str(refused.value)


# Parts of models that fit, and parts beside them whose figures solvers do not accept.
FIGURES: list[tuple[Callable[[IndexedModelBuilder], object], Callable[[IndexedModelBuilder], object]]] = [
    (lambda b: b.add_variables("y", low=2, high=2), lambda b: b.add_variables("y", low=2, high=1)),
    (
        lambda b: b.add_parameter("p", ["town"], [-1e15, 1e15]),
        lambda b: b.add_parameter("p", ["town"], [-1e15, 1.001e15]),
    ),
    (lambda b: b.add_variables("y", low=-1e15, high=1e15), lambda b: b.add_variables("y", high=1.001e15)),
    (lambda b: b.add_variables("y", high=1e20), lambda b: b.add_variables("y", high=0.999e20)),
    (lambda b: b.add_variables("y", low=-INF), lambda b: b.add_variables("y", low=INF)),
    (lambda b: b.add_variables("y", high=INF), lambda b: b.add_variables("y", low=-INF, high=-INF)),
    (
        lambda b: b.set_objective("o", "minimize", constant=1e15),
        lambda b: b.set_objective("o", "minimize", constant=INF),
    ),
    (
        lambda b: b.set_objective("o", "minimize", constant=-1.0),
        lambda b: b.set_objective("o", "minimize", constant=np.nan),
    ),
    (
        lambda b: b.add_rows("s", columns=[0], values=1e14 * b.cells("first")),
        lambda b: b.add_rows("s", columns=[0], values=1e15 * b.cells("first")),
    ),
    (
        lambda b: b.add_rows("s", columns=[0], rhs=b.cells("first")),
        lambda b: b.add_rows("s", columns=[0], rhs=b.cells("first") + INF),
    ),
]


@pytest.mark.parametrize(("right", "wrong"), FIGURES)
def test_a_model_with_figures_that_no_solver_accepts_is_not_built(right: Callable, wrong: Callable) -> None:
    builder = started()
    right(builder)
    builder.build()
    builder = started()
    with pytest.raises(ModellingError) as refused:
        wrong(builder)
        builder.build()
    assert "\n" not in str(refused.value)


def test_a_parameter_may_lack_a_cell_that_is_not_used() -> None:
    builder = begin()
    builder.add_parameter("part", ["town"], {("b",): 3.0})
    with pytest.raises(ModellingError):
        builder.cells("part", [("a",)])
    assert builder.cells("part", [("b",)]).cells.tolist() == [0]


def test_linked_vectors_are_joined_and_chosen() -> None:
    vector = LinkedVector(
        np.array([1.0, 2.0, 3.0]), Links(np.array([0, 2, 2]), np.array([0, 1, 0]), np.array([2.0, 1.0, -1.0]))
    )
    cells = np.array([10.0, 100.0])
    assert vector.evaluate(cells).tolist() == [21.0, 2.0, 93.0]
    assert vector.is_linked.tolist() == [True, False, True]
    assert vector.append(vector).evaluate(cells).tolist() == [21.0, 2.0, 93.0] * 2
    assert vector.select(np.array([1, 2])).evaluate(cells).tolist() == [2.0, 93.0]
    assert vector.select(np.array([0, 2])).evaluate(cells).tolist() == [21.0, 93.0]
    changed = vector.with_values(np.array([0, 1]), np.array([5.0, 6.0]))
    assert changed.evaluate(cells).tolist() == [5.0, 6.0, 93.0]
    assert vector.evaluate(cells).tolist() == [21.0, 2.0, 93.0]
    plain = LinkedVector.of_numbers(np.array([1.0]))
    assert (len(plain), len(plain.links), plain.evaluate(cells).tolist()) == (1, 0, [1.0])


def test_columns_and_rows_are_numbered_in_the_order_of_their_making() -> None:
    builder = IndexedModelBuilder()
    builder.add_set("s", ["a", "b"])
    assert builder.add_variables("x", ["s"]).tolist() == [0, 1]
    assert builder.add_variables("y", []).tolist() == [2]
    assert builder.add_rows("r", ["s"], "<=", rows=[0, 1], columns=[0, 1], rhs=1.0).tolist() == [0, 1]
    assert builder.add_rows("t", [], "<=", columns=[2], rhs=1.0).tolist() == [2]


def test_sets_of_time_are_ordered_unless_it_is_said_otherwise() -> None:
    builder = IndexedModelBuilder()
    builder.add_set("day", ["Mon", "Tue"], is_time=True)
    builder.add_set("place", ["Mon", "Tue"])
    builder.add_set("week", ["wk1", "wk2"], is_time=True, is_ordered=False)
    builder.add_set("stage", ["first", "last"], is_ordered=True)
    builder.add_set("number", ["1", "2"])
    builder.add_variables("x")
    assert [(each.is_ordered, each.is_time) for each in builder.build().sets] == [
        (True, True), (False, False), (False, True), (True, False), (True, False),
    ]  # fmt: skip


def test_data_by_key_are_0_for_other_keys() -> None:
    builder = begin()
    builder.add_parameter("some", ["town"], {("b",): 2.0}, keys=[("a",), ("b",)])
    builder.add_variables("x", ["town"], low=builder.cells("some"), high=2 * builder.cells("first") + 1)
    model = builder.build()
    assert model.low.evaluate(model.cells).tolist() == [0.0, 2.0]
    assert model.high.evaluate(model.cells).tolist() == [19.0, 19.0]
    with pytest.raises(ModellingError):
        builder.add_rows("r", columns=[0], values={(): 2.0})
