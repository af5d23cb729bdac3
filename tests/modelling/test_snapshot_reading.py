"""Files of recorders: each part as it was written, and each limit just inside and outside."""

import json
import math
from collections.abc import Callable

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.capture import reading
from oragent.modelling.capture.reading import read_model, read_point
from oragent.modelling.capture.snapshot import DataTable, Snapshot, quadratic_term, without_huge

INF = math.inf


def snapshot() -> Snapshot:
    made = Snapshot("library 1", "plan", maximize=True, constant=2.5, objective="gain")
    for name, low, high, integer, cost in (("x", 0, 1, True, 3), ("y", -INF, INF, False, -1), ("z", 0, 9, False, 0)):
        made.add_column(name, low, high, integer, cost)
    made.add_row("r", {0: 1, 1: 2}, -INF, 3)
    made.add_row("s", {2: -4}, 1, 1)
    made.column_keys = [("x", ["a", "b"], "names"), None]
    made.row_keys = [None, ("s", [], "loop")]
    made.sets = {"town": ["a", "b"]}
    made.family_sets = {"variables": {"x": ["town", "town"]}, "rows": {"s": []}}
    made.tables = [DataTable("d", [["a"], ["b"]], [1.0, 2.0], ["town"], True), DataTable("e", [[]], [5.0])]
    made.links.add("cost", 0, 0, 1, 1.5)
    made.links.add("entry", 2, 1, 0, -1.0)
    made.units = {"x": "t"}
    made.missing = ["a curve"]
    made.is_schedule = True
    made.add_feature("semi_continuous", variable=2)
    return made


def as_data(made: Snapshot | None = None) -> dict:
    return json.loads((made or snapshot()).to_text())


def read(**parts: object) -> reading.ReadModel:
    return read_model(json.dumps({**as_data(), **parts}).encode())


def test_each_part_is_read_as_it_was_written() -> None:
    model = read()
    assert (model.framework, model.name, model.maximize, model.constant) == ("library 1", "plan", True, 2.5)
    assert (model.objective, model.units, model.missing, model.is_schedule) == ("gain", {"x": "t"}, ("a curve",), True)
    assert (model.columns, model.rows) == (["x", "y", "z"], ["r", "s"])
    assert [part.tolist() for part in (model.low, model.high, model.cost)] == [[0, -INF, 0], [1, INF, 9], [3, -1, 0]]
    assert model.integer.tolist() == [True, False, False]
    assert {read(cost=[3, -1, 0]).cost.dtype, model.low.dtype} == {np.dtype(float)}
    assert (model.integer.dtype, model.starts.dtype) == (np.dtype(bool), np.dtype(np.int64))
    assert [part.tolist() for part in (model.row_low, model.row_high)] == [[-INF, 1], [3, 1]]
    assert [part.tolist() for part in (model.starts, model.indices, model.values)] == [[0, 2, 3], [0, 1, 2], [1, 2, -4]]
    assert model.column_keys == [("x", ["a", "b"], "names"), None, None]
    assert model.row_keys == [None, ("s", [], "loop")]
    assert (model.sets, model.variable_sets, model.row_sets) == (
        {"town": ("a", "b")},
        {"x": ("town", "town")},
        {"s": ()},
    )
    tables = [(table.name, table.keys, table.values.tolist(), table.sets, table.is_linked) for table in model.tables]
    assert tables == [("d", [("a",), ("b",)], [1, 2], ("town",), True), ("e", [()], [5], (), False)]
    links = model.links
    assert links.targets == ["cost", "entry"]
    assert [part.tolist() for part in (links.places, links.tables, links.cells, links.factors)] == [
        [0, 2], [0, 1], [1, 0], [1.5, -1.0],
    ]  # fmt: skip
    assert [part.variable for part in model.features.semi_continuous] == [2]
    assert not read(maximize=1, is_schedule=1).maximize
    assert not read(maximize=1, is_schedule=1).is_schedule


def test_texts_have_a_largest_length_and_no_half_characters() -> None:
    assert read(name="a" * 501).name == "a" * 500
    assert read(name="a\ud800").name == "a?"
    assert read(units={"x": "t" * 21}).units == {"x": "t" * 20}
    assert len(read(missing=["a"] * 21).missing) == 20


# A limit, its number, and a snapshot that reaches it.
LIMITS: list[tuple[str, int, dict]] = [
    ("MAX_MEMBERS", 3, {}),
    ("MAX_MEMBERS", 3, {"rows": ["r", "s", "t"], "starts": [0, 2, 3, 3], "row_low": [0] * 3, "row_high": [1] * 3, "column_keys": [], "columns": list("xyz")}),
    ("MAX_MEMBERS", 4, {"sets": {"s": list("abcd")}}),
    ("MAX_ENTRIES", 3, {}),
    ("MAX_KEY_LABELS", 2, {}),
    ("MAX_KEY_LABELS", 3, {"tables": [{"name": "d", "keys": [["a", "b", "c"]], "values": [1], "sets": [], "is_linked": False}]}),
    ("MAX_PARTS", 3, {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "limit", "parts"), LIMITS)
def test_a_file_may_reach_each_limit_and_not_exceed_it(
    name: str, limit: int, parts: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, name, limit)
    assert read(**parts).columns == ["x", "y", "z"]
    monkeypatch.setattr(reading, name, limit - 1)
    with pytest.raises(ModellingError):
        read(**parts)


def test_a_file_has_a_largest_size_and_a_largest_number_of_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.dumps(as_data()).encode()
    monkeypatch.setattr(reading, "MAX_BYTES", len(content))
    assert read_model(content).name == "plan"
    monkeypatch.setattr(reading, "MAX_BYTES", len(content) - 1)
    with pytest.raises(ModellingError):
        read_model(content)
    monkeypatch.setattr(reading, "MAX_BYTES", 10**6)
    monkeypatch.setattr(reading, "MAX_TABLES", 1)
    assert [table.name for table in read().tables] == ["d"]


FEATURE = {"name": "i", "binary": 0, "active": True, "terms": {"1": 1.0}, "relation": "<=", "rhs": 1.0}
TABLE = {"name": "d", "keys": [["a"]], "values": [1], "sets": [], "is_linked": False}
LINKS = {"targets": ["rhs"], "places": [0], "tables": [0], "cells": [0], "factors": [1]}
# A part, a value of it that is read, and values that are not.
WRONG: list[tuple[str, object, list[object]]] = [
    ("constant", 1, [True, "1", None, INF]),
    ("framework", "x", [3, None]),
    ("objective", "", [None]),
    ("low", [0, 0, 0], [[0, 0], [0, 0, 0, 0], [0, 0, None], [0, 0, math.nan], 3]),
    ("cost", [0, 0, 0], [[0, 0, INF], [0, 0]]),
    ("integer", [True, False, False], [[True, False]]),
    ("starts", [0, 2, 3], [[0, 2], [1, 2, 3], [0, 2, 2], [0, 4, 3], [0, 2.5, 3]]),
    ("indices", [0, 1, 2], [[0, 1, 3], [0, 1, -1], [0, 1, 0.5], [0, 1]]),
    ("values", [1, 2, 3], [[1, 2, INF], [1, 2]]),
    ("column_keys", [], [[None] * 4, {}, [["x", ["a"]]], [["x", [1], "names"]], [[1, ["a"], "names"]]]),
    ("sets", {"s": ["a"]}, [{"s": "ab"}, {"s": [1]}, []]),
    ("tables", [TABLE], [[{**TABLE, "values": [1, 2]}], [{**TABLE, "keys": ["a"]}], [{**TABLE, "sets": "a"}]]),
    ("links", LINKS, [
        {**LINKS, "targets": ["other"]}, {**LINKS, "places": [0, 1]}, {**LINKS, "cells": [0.5]}, {**LINKS, "factors": [INF]},
        {**LINKS, "places": [2.0**54]},
    ]),
    ("features", {"indicators": [FEATURE]}, [
        {"indicators": [{**FEATURE, "binary": 3}]}, {"indicators": [{**FEATURE, "binary": -1}]}, [],
        {"indicators": [{**FEATURE, "name": "a" * 501}]}, {"indicators": [{**FEATURE, "relation": "<"}]},
        {"soft_rows": [{"row": 0, "below": 1.0}]}, {"others": []},
    ]),
    ("features", {"goals": [{"name": "g", "terms": {"0": 1.0}}]}, [{"goals": [{"name": "a" * 501, "terms": {}}]}]),
    ("intervals", [], [{}, None]),
    ("missing", [], [[3], None]),
    ("units", {}, [[], {"x": 3}]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("part", "right", "wrong"), [(part, right, value) for part, right, every in WRONG for value in every]
)
def test_parts_of_another_shape_are_refused(part: str, right: object, wrong: object) -> None:
    read(**{part: right})
    with pytest.raises(ModellingError) as refused:
        read(**{part: wrong})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"[]", b"3", b"{", b"[" * 100_000, b"\xff"])
def test_content_that_is_no_object_is_refused(content: bytes) -> None:
    with pytest.raises(ModellingError):
        read_model(content)


POINT = {"status": "optimal", "objective": 3, "values": [1, 2]}


@pytest.mark.parametrize(
    ("change", "status", "objective", "values"),
    [
        ({}, "optimal", 3.0, [1, 2]),
        ({"values": None}, "optimal", 3.0, None),
        ({"objective": None}, "optimal", None, [1, 2]),
        ({"values": [1]}, "", None, None),
        ({"values": [1, INF]}, "", None, None),
        ({"objective": INF}, "", None, None),
        ({"status": 3}, "", None, None),
        ({"values": 3}, "", None, None),
    ],
)
def test_claimed_points(change: dict, status: str, objective: float | None, values: list | None) -> None:
    claim = read_point(json.dumps({**POINT, **change}).encode(), 2)
    assert claim.objective == objective
    assert (None if claim.values is None else claim.values.tolist()) == values
    assert (claim.status == status) is bool(status)


def test_parts_that_recorders_add() -> None:
    made = Snapshot("x")
    for name in ("q", "q", "", ""):
        made.add_feature("indicators", name=name)
    assert [part["name"] for part in made.features["indicators"]] == ["q", "q_2", "indicator", "indicator_2"]
    for low, high, expected in (
        (1.0, 1.0, [("s", "=", 1.0)]),
        (1.0, INF, [("s", ">=", 1.0)]),
        (-INF, 2.0, [("s", "<=", 2.0)]),
        (1.0, 2.0, [("s_least", ">=", 1.0), ("s_most", "<=", 2.0)]),
    ):
        made = Snapshot("x")
        made.add_quadratic_row("s", {0: 1.0}, [quadratic_term(0, 1, 2)], low, high)
        assert [(part["name"], part["relation"], part["rhs"]) for part in made.features["quadratic_rows"]] == expected
        squares = [{"first": 0, "second": 1, "value": 2.0}]
        assert all(
            (part["terms"], part["quadratic"]) == ({0: 1.0}, squares) for part in made.features["quadratic_rows"]
        )
    assert [without_huge(value) for value in (9e19, 1e20, -9e19, -1e20, 3)] == [9e19, INF, -9e19, -INF, 3.0]
    made = Snapshot("x", constant=np.float64(2.0), name=np.int64(3))  # type: ignore[arg-type]
    assert (as_data(made)["constant"], as_data(made)["name"]) == (2.0, 3)
    conversions: list[Callable[[], int]] = [
        lambda: made.add_column("a", 0, 1, True),
        lambda: made.add_row("r", {}, 0, 1),
    ]
    assert [add() for add in conversions for _ in range(2)] == [0, 1, 0, 1]
