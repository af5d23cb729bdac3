"""Figures of models have the types that their classes state, also where a file or program gives whole numbers."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.features import Absolute, ModelFeatures
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.links import LinkedVector
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.names import group_by_names
from oragent.modelling.files.lp_reader import read_lp
from oragent.modelling.files.model_json import from_json, to_json
from oragent.modelling.files.mps_reader import read_mps
from oragent.modelling.solving.back_ends.protocol import Ability
from oragent.modelling.solving.infeasibility import linear_relaxation
from oragent.modelling.solving.linearise import linearise
from oragent.modelling.solving.optimal_face import optimal_points

REAL, INDEX, PLACE, MASK, CODE = (np.dtype(kind) for kind in (float, np.int32, np.int64, bool, np.int8))


def types_of_matrix(matrix: Sparse) -> tuple[np.dtype, ...]:
    return matrix.starts.dtype, matrix.columns.dtype, matrix.row_indices.dtype, matrix.values.dtype


def check_arrays(arrays: Arrays) -> None:
    """Check the types of the input of solvers."""
    figures = (arrays.cost, arrays.low, arrays.high, arrays.row_low, arrays.row_high)
    assert {part.dtype for part in figures} == {REAL}
    assert arrays.integer.dtype == MASK
    for matrix in (arrays.matrix, arrays.matrix.transpose(), -arrays.matrix, arrays.matrix.stack_rows(arrays.matrix)):
        assert types_of_matrix(matrix) == (INDEX, INDEX, INDEX, REAL)
        assert (matrix @ np.zeros(matrix.width)).dtype == (np.zeros(matrix.shape[0]) @ matrix).dtype == REAL
    chosen = arrays.matrix.select_rows([0] if len(arrays.row_low) else [])
    assert types_of_matrix(chosen.stack_columns(chosen)) == (INDEX, INDEX, INDEX, REAL)


def check_vector(vector: LinkedVector) -> None:
    links = vector.links
    assert (vector.base.dtype, links.places.dtype, links.cells.dtype, links.factors.dtype) == (REAL, PLACE, PLACE, REAL)
    assert vector.is_linked.dtype == MASK


def check(model: IndexedModel) -> None:
    """Check the types of all arrays of a model."""
    parts = (model.cells, model.integer, model.starts, model.columns, model.relations)
    assert [part.dtype for part in parts] == [REAL, MASK, PLACE, INDEX, CODE]
    for vector in (model.low, model.high, model.entries, model.rhs, *(goal.cost for goal in model.objectives)):
        check_vector(vector)
    for family in model.families():
        assert (family.keys.dtype, family.positions.dtype) == (INDEX, PLACE)
    check_arrays(model.to_arrays())
    check_arrays(model.to_staged_arrays())


def built(with_rows: bool) -> IndexedModel:
    builder = IndexedModelBuilder()
    builder.add_set("s", ["a", "b"])
    builder.add_parameter("p", ["s"], {"a": 1, "b": 2})
    builder.add_parameter("none", ["s"], 0, keys=[])
    x = builder.add_variables("x", ["s"], keys=["b", "a"], low=0, high=[3, 4], kind="integer")
    y = builder.add_variables("y", [], low=builder.cells("p", ["b"]))
    if with_rows:
        builder.add_rows("r", ["s"], "=", rows=[0, 1], columns=x, values=builder.cells("p"), rhs={"a": 4, "b": 5})
        builder.add_rows("one", columns=[*x, *y], values=2, rhs=7)
        builder.add_rows("empty", ["s"], keys=[])
    builder.set_objective("o", "minimize", x, 1)
    return builder.build()


def recorded(count: int) -> IndexedModel:
    rows = [Row(f"r[{at}]", {"x[1]": 1, "x[2]": 2}, Relation.AT_MOST, 3) for at in range(count)]
    return IndexedModel.from_records([Variable("x[1]", 0, 4), Variable("x[2]")], rows, Objective(), Sense.MINIMIZE)


FLAT = {
    "sense": "minimize", "objective": {"terms": {"x": 1}}, "variables": [{"name": "x", "low": 0, "high": 4}],
    "rows": [{"name": "r", "terms": {"x": 2}, "relation": "<=", "rhs": 3}],
}  # fmt: skip


def with_whole_figures(text: str) -> str:
    """Write all whole numbers of a file without a point."""
    return json.dumps(json.loads(text, parse_float=lambda figure: int(float(figure))))


MPS = "NAME\nROWS\n N  o\n{}COLUMNS\n    x  o  1\n{}RHS\nENDATA\n"
MODELS: dict[str, Callable[[], IndexedModel]] = {
    "builder": lambda: built(with_rows=True),
    "builder without rows": lambda: built(with_rows=False),
    "records": lambda: recorded(2),
    "records without rows": lambda: recorded(0),
    "families": lambda: group_by_names(recorded(2)),
    "families without rows": lambda: group_by_names(recorded(0)),
    "flat JSON": lambda: from_json(json.dumps(FLAT)),
    "flat JSON without rows": lambda: from_json(json.dumps(FLAT | {"rows": []})),
    "JSON": lambda: from_json(with_whole_figures(to_json(built(with_rows=True)))),
    "JSON without rows": lambda: from_json(with_whole_figures(to_json(built(with_rows=False)))),
    "LP": lambda: read_lp("min\n x\nst\n c: x + 2 y <= 4\nbounds\n x <= 3\nend\n"),
    "LP without rows": lambda: read_lp("min\n x\nst\nend\n"),
    "MPS": lambda: read_mps(MPS.format(" L  c\n", "    x  c  2\n")),
    "MPS without rows": lambda: read_mps(MPS.format("", "")),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_models_have_arrays_of_their_types(name: str) -> None:
    check(MODELS[name]())


@pytest.mark.parametrize("name", MODELS)
def test_whole_figures_can_become_fractions(name: str) -> None:
    model = MODELS[name]()
    low = model.low.with_values(np.array([0]), 0.25)
    assert low.evaluate(model.cells)[0] == 0.25


@pytest.mark.parametrize("count", [0, 2])
def test_arrays_that_are_made_of_others_have_the_same_types(count: int) -> None:
    arrays = recorded(count).to_arrays()
    with_part = replace(arrays, features=ModelFeatures(absolutes=(Absolute("a", 0, 1),)))
    for made in (
        arrays.with_idle_row([0]),
        arrays.without_objective(),
        arrays.without_integrality(),
        arrays.with_integers_at(np.zeros(2)),
        linearise(with_part, frozenset({Ability.LINEAR, Ability.INTEGER})).arrays,
        linear_relaxation(arrays),
        optimal_points(arrays, np.zeros(count)),
    ):
        check_arrays(made)
