"""What recorders write, keep and limit, in the process of the test, and how they read models of libraries."""

import importlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import highspy
import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from oragent._base.errors import ModellingError
from oragent.modelling.capture import recorder as recorder_module
from oragent.modelling.capture.assembling import assemble
from oragent.modelling.capture.reading import ReadModel, read_model
from oragent.modelling.capture.recorder import Recorder, find_by_index, package_version
from oragent.modelling.capture.recorders import (
    from_cpsat,
    from_gurobi,
    from_highs,
    from_mathopt,
    from_pulp,
    from_pyomo,
    from_pywraplp,
    from_scipy,
)
from oragent.modelling.capture.snapshot import DataTable, Snapshot
from oragent.modelling.capture.snapshot_solving import SnapshotSolution, solve_snapshot
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.model_solving import solve

INF = math.inf


@pytest.fixture(name="recorder")
def make_recorder() -> Recorder:
    return Recorder(None, "\0", 60.0)


@pytest.mark.parametrize(
    ("limit_s", "used_s", "threads", "left_s"),
    [
        (10.0, 4.0, 1, 5.4), (10.0, 4.0, 2, 2.7), (10.0, 9.5, 1, 1.0), (10.0, 99.0, 4, 0.25), (2.0, 2.0, 1, 0.2), (20.0, 0.0, 1, 18.0),
    ],
)  # fmt: skip
def test_a_solve_has_its_share_of_the_time_that_is_left(
    limit_s: float, used_s: float, threads: int, left_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module.time, "process_time", lambda: used_s)
    recorder = Recorder(None, "", limit_s)
    assert recorder.remaining_s(threads) == pytest.approx(left_s)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert recorder.remaining_s(0) == pytest.approx(recorder.remaining_s(4))
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert recorder.remaining_s(0) == pytest.approx(recorder.remaining_s())


def plan(name: str = "plan", padding: int = 0) -> Snapshot:
    made = Snapshot("test 1", name=name)
    made.add_column("x" * padding or "x", 0.0, 3.0, True, 2.0)
    return made


@pytest.mark.parametrize("is_written", [True, False])
def test_the_last_models_and_their_points_are_kept(
    is_written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run" / "solves" if is_written else None
    Recorder(folder, "", 60.0)
    recorder = Recorder(folder, "", 60.0)

    def files() -> dict[str, str]:
        if folder is not None:
            return {path.name: path.read_text() for path in folder.iterdir()}
        return dict(recorder.files)

    monkeypatch.setattr(recorder_module, "MAX_MODELS", 2)
    numbers = [recorder.record("test 1", lambda number=number: plan(f"plan {number}")) for number in range(3)]
    for number in numbers:
        recorder.claim(number, lambda: ("optimal", 4.0, [2.0, np.float64(0.5)]))
    assert sorted(files()) == ["000002.json", "000002.point.json", "000003.json", "000003.point.json"]
    assert json.loads(files()["000003.json"])["name"] == "plan 2"
    assert json.loads(files()["000003.point.json"]) == {"status": "optimal", "objective": 4.0, "values": [2.0, 0.5]}
    size = len(files()["000003.json"])
    monkeypatch.setattr(recorder_module, "MAX_BYTES", 2 * size)
    assert recorder.record("test 1", lambda: plan("plan 3")) == 4
    assert [name for name in sorted(files()) if name.endswith("0003.json")] == ["000003.json"]
    monkeypatch.setattr(recorder_module, "MAX_BYTES", 2 * size - 1)
    recorder.record("test 1", lambda: plan("plan 4"))
    assert json.loads(files()["000005.json"])["missing"]
    recorder.begin(5.0, 0.25, "")
    assert (recorder.count, recorder.gap) == (0, 0.25)
    assert recorder.files == {}


def test_nonlinear_parts_have_names_of_their_own() -> None:
    made = plan()
    for name in ("", "cut", "", "cut", "", "other"):
        made.add_feature("indicators", name=name, binary=0)
    made.add_feature("semi_continuous", variable=0)
    names = [part["name"] for part in made.features["indicators"]]
    assert names == ["indicator", "cut", "indicator_2", "cut_2", "indicator_3", "other"]
    assert made.features["semi_continuous"] == [{"variable": 0}]


def test_what_cannot_be_read_is_recorded_with_its_reason(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Any:
        assert recorder.is_quiet
        raise ValueError("no such thing")

    number = recorder.record("test 1", fail)
    made = json.loads(recorder.files["000001.json"])
    assert made["framework"] == "test 1"
    assert "no such thing" in made["missing"][0]
    recorder.claim(number, fail)
    assert json.loads(recorder.files["000001.point.json"])["values"] is None
    recorder.claim(number, lambda: ("open", math.nan, None))
    assert json.loads(recorder.files["000001.point.json"]) == {"status": "open", "objective": None, "values": None}
    recorder.claim(7, lambda: ("optimal", 1.0, []))
    assert len(recorder.files) == 2
    assert not recorder.is_quiet
    monkeypatch.setattr(sys.modules["__main__"], "UNITS", {"x": "t", 3: 4}, raising=False)
    recorder.record("test 1", plan)
    assert json.loads(recorder.files["000002.json"])["units"] == {"x": "t", "3": "4"}


def test_methods_are_watched_once_and_keep_their_results(recorder: Recorder, tmp_path: Path) -> None:
    class Model:
        def __init__(self) -> None:
            self.rows: list[int] = []

        def add(self, value: int, more: int = 0) -> str:
            """Add a row."""
            self.rows += [value] * (1 + more)
            return "added"

        def add_many(self, values: list[int]) -> None:
            for value in values:
                self.add(value)

        def solve(self, fast: bool = False) -> str:
            """Solve."""
            assert recorder.is_quiet
            return f"solved {fast}"

    noted: list[tuple] = []
    recorder.places.note = lambda *given: noted.append((given[0], *given[2:]))  # type: ignore[method-assign]
    recorder.watch_additions(Model, ("add", "add_many", "add_none"), "rows", lambda model: len(model.rows))
    recorder.watch_solve(
        Model,
        ("solve", "solve_again"),
        "test 1",
        lambda model, **named: plan(str(named)),
        lambda result, model, **named: (result, 1.0, [2.0]),
    )
    model = Model()
    assert (model.add(3), model.add(4, more=2), model.add_many([5, 6])) == ("added", "added", None)
    assert noted == [("rows", 0, 1), ("rows", 1, 3), ("rows", 4, 2)]
    assert (Model.add.__doc__, Model.solve.__doc__) == ("Add a row.", "Solve.")
    assert model.solve(fast=True) == "solved True"
    assert json.loads(recorder.files["000001.json"])["name"] == "{'fast': True}"
    assert json.loads(recorder.files["000001.point.json"])["status"] == "solved True"
    with recorder.quiet():
        assert (model.solve(), model.add(9)) == ("solved False", "added")
    assert (recorder.count, len(noted)) == (1, 3)


def test_data_of_the_library_come_before_variables_of_the_program(recorder: Recorder) -> None:
    scope = {"CITIES": ["a", "b"], "need": {"a": 1.0, "b": 2.0}, "price": {"a": 3.0, "b": 4.0}}
    recorder.places = SimpleNamespace(variable_scopes=lambda: [scope], columns={}, rows={})  # type: ignore[assignment]
    made = plan()
    made.tables, made.sets = [DataTable("need", [["a"]], [5.0], ["CITIES"])], {"CITIES": ["a"]}
    recorder.fill_keys(made, object(), None, None)
    assert [(table.name, table.values) for table in made.tables] == [("need", [5.0]), ("price", [3.0, 4.0])]
    assert made.sets == {"CITIES": ["a"], "need": ["a", "b"], "price": ["a", "b"]}


def test_versions_and_places_of_objects() -> None:
    assert package_version(SimpleNamespace(__name__="one.two", __version__="3.4")) == "one 3.4"
    assert package_version(SimpleNamespace(__name__="no_such_package_at_all")) == "no_such_package_at_all"
    assert package_version(np, "numpy") == f"numpy {np.__version__}"
    assert package_version(SimpleNamespace(__name__="x"), "pytest") == f"pytest {pytest.__version__}"

    class Item(SimpleNamespace):
        pass

    find = find_by_index(Item)
    assert (find(Item(index=4)), find(SimpleNamespace(index=4))) == (4, None)


def test_a_snapshot_is_solved_where_a_library_cannot() -> None:
    made = plan()
    solved = solve_snapshot(made, 10.0, None)
    assert (solved.status, solved.objective, solved.values) == ("optimal", 0.0, [0.0])
    made.maximize = True
    assert solve_snapshot(made, 10.0, 0.1).values == [3.0]
    made.add_row("need", {0: 1.0}, 4.0, INF)
    assert (solve_snapshot(made, 10.0, None).status, solve_snapshot(made, 10.0, None).values) == ("infeasible", [])
    made.missing.append("a part")
    with pytest.raises(ModellingError):
        solve_snapshot(made, 10.0, None)


@pytest.mark.parametrize(
    ("solver", "threads", "seconds", "gap"),
    [
        ({}, 1, 50.0, None), ({"threads": 2, "timeLimit": 90}, 2, 25.0, None), ({"threads": 2, "timeLimit": 7.5}, 2, 7.5, None),
        ({"threads": 0}, 1, 50.0, None), ({"threads": True, "timeLimit": True}, 1, 50.0, None), ({"threads": "4", "timeLimit": "9"}, 1, 50.0, None),
        ({"threads": 1, "optionsDict": {"gapRel": 0.2}}, 1, 50.0, 0.2), ({"optionsDict": None}, 1, 50.0, None),
    ],
)  # fmt: skip
def test_a_solve_of_pulp_has_the_limits_of_program_and_run(
    solver: dict, threads: int, seconds: float, gap: float | None, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "remaining_s", lambda threads=1: 50.0 / threads)
    limits = from_pulp._limits(SimpleNamespace(**solver), recorder)
    assert limits == {"threads": threads, "timeLimit": seconds} | ({} if gap is None else {"gapRel": gap})
    recorder.gap = 0.0
    assert from_pulp._limits(SimpleNamespace(**solver), recorder)["gapRel"] == 0.0


@pytest.mark.parametrize(
    ("is_confined", "asked", "cores", "workers"),
    [(True, 5, 16, 1), (False, 5, 16, 5), (False, 0, 16, 8), (False, 0, 3, 3), (False, 0, None, 1)],
)
@pytest.mark.parametrize(("limit", "gap"), [(1e9, None), (3.0, 0.25)])
def test_a_solve_of_cpsat_has_the_limits_of_program_and_run(
    is_confined: bool,
    asked: int,
    cores: int | None,
    workers: int,
    limit: float,
    gap: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorder = Recorder(None, "", 60.0, gap, is_confined=is_confined)
    monkeypatch.setattr(recorder, "remaining_s", lambda threads=1: 50.0 / threads)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    parameters = SimpleNamespace(num_workers=asked, max_time_in_seconds=limit, relative_gap_limit=0.125)
    from_cpsat._limit(SimpleNamespace(parameters=parameters), recorder)
    assert parameters.num_workers == workers
    assert parameters.max_time_in_seconds == min(limit, 50.0 / workers)
    assert parameters.relative_gap_limit == (0.125 if gap is None else gap)


def pyomo_model(pe: Any, price: float = 4.0, need: float = 3.0, share: float = 0.5) -> Any:
    """Each kind of variable, row and figure; data in costs, coefficients and right-hand sides."""
    m = pe.ConcreteModel("plan")
    m.T = pe.Set(initialize=["a", "b"])
    m.price = pe.Param(m.T, initialize={"a": price, "b": 7.0}, mutable=True)
    m.need = pe.Param(initialize=need, mutable=True)
    m.share = pe.Param(m.T, initialize={"a": share, "b": 0.25}, mutable=True)
    m.size = pe.Param(m.T, initialize={"a": 2.0, "b": 5.0})
    m.x = pe.Var(m.T, bounds=(0, 8))
    m.y = pe.Var(m.T, within=pe.Binary)
    m.n = pe.Var(within=pe.Integers, bounds=(-3, None))
    m.z = pe.Var()
    m.f = pe.Var(bounds=(0, 9))
    m.f.fix(2.5)
    m.balance = pe.Constraint(m.T, rule=lambda m, t: m.share[t] * m.x[t] + 2 * m.n - m.z + 1 >= m.need)
    m.cap = pe.Constraint(m.T, rule=lambda m, t: m.x[t] + m.x[t] - m.size[t] * m.y[t] <= 2 * m.need - 1)
    m.span = pe.Constraint(expr=pe.inequality(-1, m.n + m.f + 2, 6))
    m.same = pe.Constraint(expr=m.z - m.f == 1)
    m.square = pe.Constraint(expr=m.z * m.z + m.n * m.z + 3 * m.n - 1 <= 5)
    m.twice = pe.Constraint(expr=(-2, m.z * m.z + 1, 30))
    m.rest = pe.Constraint(expr=m.z + m.need <= 20)
    m.exact = pe.Constraint(expr=m.z - m.n == 2 * m.need)
    m.one = pe.SOSConstraint(var=m.x, sos=1)
    m.cost = pe.Objective(
        expr=sum(m.price[t] * m.x[t] for t in m.T) + 2 * m.n + m.need + 5 + m.n * m.z, sense=pe.maximize
    )
    m.off = pe.Constraint(expr=m.n <= 0)
    m.off.deactivate()
    return m


def read_pyomo(model: Any) -> ReadModel:
    return read_model(from_pyomo.take_snapshot(model, Recorder(None, "\0", 60.0)).to_text().encode())


def test_a_model_of_pyomo_has_all_of_its_parts() -> None:
    pe = pytest.importorskip("pyomo.environ")
    model = pyomo_model(pe)
    model.within = pe.Constraint(expr=pe.inequality(model.need, model.z, 40))
    read = read_pyomo(model)
    assert (read.name, read.maximize, read.objective, read.constant, read.missing) == ("plan", True, "cost", 8.0, ())
    columns = zip(read.columns, read.low, read.high, read.integer, read.cost, strict=True)
    assert list(columns) == [
        ("x[a]", 0, 8, False, 4), ("x[b]", 0, 8, False, 7), ("y[a]", 0, 1, True, 0), ("y[b]", 0, 1, True, 0), ("n", -3, INF, True, 2),
        ("z", -INF, INF, False, 0), ("f", 2.5, 2.5, False, 0),
    ]  # fmt: skip
    rows = {}
    for at, name in enumerate(read.rows):
        part = slice(read.starts[at], read.starts[at + 1])
        terms = {
            read.columns[column]: value for column, value in zip(read.indices[part], read.values[part], strict=True)
        }
        rows[name] = (terms, read.row_low[at], read.row_high[at])
    assert rows == {
        "balance[a]": ({"x[a]": 0.5, "n": 2, "z": -1}, 2, INF), "balance[b]": ({"x[b]": 0.25, "n": 2, "z": -1}, 2, INF),
        "cap[a]": ({"x[a]": 2, "y[a]": -2}, -INF, 5), "cap[b]": ({"x[b]": 2, "y[b]": -5}, -INF, 5),
        "span": ({"n": 1}, -5.5, 1.5), "same": ({"z": 1}, 3.5, 3.5), "rest": ({"z": 1}, -INF, 17),
        "exact": ({"n": -1, "z": 1}, 6, 6), "within": ({"z": 1}, 3, 40),
    }  # fmt: skip
    features = read.features
    assert [(set(part.members.items()), part.kind) for part in features.ordered_sets] == [({(0, 1.0), (1, 2.0)}, 1)]
    assert [(term.first, term.second, term.value) for term in features.quadratic] == [(4, 5, 1.0)]
    squares = [(part.name, dict(part.terms), str(part.relation), part.rhs) for part in features.quadratic_rows]
    assert squares == [("square", {4: 3.0}, "<=", 6.0), ("twice_least", {}, ">=", -3.0), ("twice_most", {}, "<=", 29.0)]
    assert [part.value for part in features.quadratic_rows[0].quadratic] == [1.0, 1.0]
    keys = {name: read.column_keys[at][:2] for at, name in enumerate(read.columns)}
    assert (tuple(keys["x[b]"]), tuple(keys["n"])) == (("x", ["b"]), ("n", []))
    row_keys = dict(zip(read.rows, read.row_keys, strict=True))
    assert (row_keys["cap[b]"], row_keys["span"]) == (("cap", ["b"], "framework"), ("span", [], "framework"))
    assert (read.variable_sets["x"], read.row_sets["cap"], read.sets["T"]) == (("T",), ("T",), ("a", "b"))
    tables = {table.name: (table.keys, table.values.tolist(), table.sets, table.is_linked) for table in read.tables}
    assert tables == {
        "price": ([("a",), ("b",)], [4, 7], ("T",), True), "need": ([()], [3], (), True),
        "share": ([("a",), ("b",)], [0.5, 0.25], ("T",), True), "size": ([("a",), ("b",)], [2, 5], ("T",), False),
    }  # fmt: skip
    linked: dict[str, set[str]] = {"rhs": set(), "row_low": set()}
    for target, place in zip(read.links.targets, read.links.places, strict=True):
        if target in linked:
            linked[target].add(read.rows[place])
    assert linked["rhs"] == {"balance[a]", "balance[b]", "cap[a]", "cap[b]", "rest", "exact"}
    assert linked["row_low"] == {"within"}


def test_data_of_pyomo_move_the_figures_that_they_are_in() -> None:
    pe = pytest.importorskip("pyomo.environ")
    first, second = (assemble(read_pyomo(model)).model for model in (pyomo_model(pe), pyomo_model(pe, 9.0, 6.5, 0.75)))
    families = {family.name: family for family in first.parameters}
    cells = first.cells.copy()
    for name, value in (("price", 9.0), ("need", 6.5), ("share", 0.75)):
        cells[families[name].positions[0]] = value
    changed = replace(first, cells=cells).to_arrays()
    other = second.to_arrays()
    assert changed.cost.tolist() == other.cost.tolist()
    assert changed.matrix.to_dense().tolist() == other.matrix.to_dense().tolist()
    assert (changed.row_low.tolist(), changed.row_high.tolist()) == (other.row_low.tolist(), other.row_high.tolist())


def test_only_named_sets_of_pyomo_are_sets_of_the_model() -> None:
    pe = pytest.importorskip("pyomo.environ")
    other = pe.ConcreteModel()
    other.T = pe.Set(initialize=["c"])
    m = pe.ConcreteModel()
    m.T, m.R = pe.Set(initialize=["a", "b"]), pe.RangeSet(2)
    m.P = pe.Set(initialize=[("a", 1), ("b", 2)])
    m.I = pe.Set([1], initialize={1: [3, 4]})
    m.named, m.pairs, m.product = pe.Var(m.T), pe.Var(m.T, m.R), pe.Var(m.T * m.R)
    m.listed, m.mixed, m.wide, m.both = pe.Var([1, 6]), pe.Var(m.T, [5]), pe.Var(m.T, m.P), pe.Var(m.T & m.T)
    m.part, m.foreign, m.all = pe.Var(m.I[1]), pe.Var(other.T), pe.Var(pe.Binary)
    m.sparse, m.single = pe.Var(pe.Any, dense=False), pe.Var()
    m.sparse[7] = 1.0
    m.blocks, m.block = pe.Block([1]), pe.Block()
    for block in (m.blocks[1], m.block):
        block.S = pe.Set(initialize=[8])
        block.x = pe.Var(block.S)
    made = from_pyomo.take_snapshot(m, Recorder(None, "\0", 60.0))
    named = {name: sets for name, sets in made.family_sets["variables"].items() if sets}
    assert named == {"named": ["T"], "pairs": ["T", "R"], "product": ["T", "R"], "block.x": ["block.S"]}
    assert made.sets == {"T": ["a", "b"], "R": ["1", "2"], "block.S": ["8"]}
    # Sets that the model does not name get the name of their family.
    sets = {index_set.name: index_set.labels for index_set in assemble(read_model(made.to_text().encode())).model.sets}
    assert sets["listed_index"] == ("1", "6")
    assert sets["foreign_index"] == ("c",)


def test_data_of_pyomo_without_a_number_are_left_out() -> None:
    pe = pytest.importorskip("pyomo.environ")
    m = pe.ConcreteModel()
    m.T = pe.Set(initialize=["a", "b", "c"])
    m.p = pe.Param(m.T, initialize={"a": "text", "b": 3.0, "c": 5.0}, within=pe.Any, mutable=True)
    m.q = pe.Param(["k"], initialize={"k": "text"}, within=pe.Any)
    m.r = pe.Param(m.T, mutable=True)
    m.x = pe.Var(m.T, bounds=(0, 1))
    m.o = pe.Objective(expr=m.p["c"] * m.x["a"])
    made = from_pyomo.take_snapshot(m, Recorder(None, "\0", 60.0))
    assert [(table.name, table.keys, table.values) for table in made.tables] == [("p", [["b"], ["c"]], [3.0, 5.0])]
    links = made.links
    assert list(zip(links.targets, links.places, links.tables, links.cells, strict=True)) == [("cost", 0, 0, 1)]


def test_parts_of_pyomo_that_are_not_read_are_missing() -> None:
    pe = pytest.importorskip("pyomo.environ")
    model = pyomo_model(pe)
    model.bend = pe.Constraint(expr=model.z**3 <= 8)
    model.other = pe.Objective(expr=model.z)
    made = from_pyomo.take_snapshot(model, Recorder(None, "\0", 60.0))
    assert len(made.missing) == 2
    assert any("bend" in line for line in made.missing)
    assert "bend" not in made.rows
    model = pyomo_model(pe)
    model.cost.deactivate()
    made = from_pyomo.take_snapshot(model, Recorder(None, "\0", 60.0))
    assert (made.objective, made.missing, any(made.cost)) == ("", [], False)


def test_only_active_parts_of_pyomo_that_are_not_linear_are_missing() -> None:
    pe = pytest.importorskip("pyomo.environ")
    gdp = pytest.importorskip("pyomo.gdp")

    def missing(is_block_active: bool, is_part_active: bool) -> list[str]:
        model = pyomo_model(pe)
        model.part = pe.Block()
        model.part.b = pe.BooleanVar()
        model.part.rule = pe.LogicalConstraint(expr=model.part.b)
        model.part.first, model.part.second = gdp.Disjunct(), gdp.Disjunct()
        model.part.either = gdp.Disjunction(expr=[model.part.first, model.part.second])
        if not is_part_active:
            model.part.rule.deactivate()
            model.part.either.deactivate()
        if not is_block_active:
            model.part.deactivate()
        return from_pyomo.take_snapshot(model, Recorder(None, "\0", 60.0)).missing

    assert len(missing(True, True)) == 2
    assert missing(False, True) == missing(True, False) == []


def limited_model(pe: Any, p: float, q: float) -> Any:
    """Data in both limits of rows, in their constants and coefficients, and in bounds; each cell twice or more."""
    m = pe.ConcreteModel()
    m.p, m.q = pe.Param(initialize=p, mutable=True), pe.Param(initialize=q, mutable=True)
    m.x, m.y = pe.Var(bounds=(m.p - 9, 2 * m.p + 1)), pe.Var(within=pe.NonNegativeReals, bounds=(None, m.q))
    m.z = pe.Var(bounds=(-m.q, None))
    m.span = pe.Constraint(expr=(m.p - 20, m.q * m.x - m.y + 3 * m.p, 4 * m.q + m.p + 100))
    m.top = pe.Constraint(expr=(-50, m.x + m.p * m.z, 3 * m.q))
    m.low = pe.Constraint(expr=m.x + m.y >= m.q - m.p)
    m.same = pe.Constraint(expr=m.y + m.z == 2 * m.p)
    m.o = pe.Objective(expr=m.p * m.x + m.y - m.q * m.z)
    return m


@given(*[st.integers(1, 6)] * 4)
def test_data_of_pyomo_move_both_limits_of_rows_and_bounds(p: int, q: int, new_p: int, new_q: int) -> None:
    pe = pytest.importorskip("pyomo.environ")
    first, second = (assemble(read_pyomo(limited_model(pe, *data))).model for data in ((p, q), (new_p, new_q)))
    families = {family.name: family for family in first.parameters}
    cells = first.cells.copy()
    for name, value in (("p", new_p), ("q", new_q)):
        cells[families[name].positions[0]] = value
    changed, other = replace(first, cells=cells).to_arrays(), second.to_arrays()
    for figures in ("cost", "low", "high", "row_low", "row_high"):
        assert getattr(changed, figures).tolist() == getattr(other, figures).tolist(), figures
    assert changed.matrix.to_dense().tolist() == other.matrix.to_dense().tolist()


def product(m: Any) -> Any:
    return m.p * m.q * m.x


def small_product(m: Any) -> Any:
    return (0.1 * m.p + 0.2 * m.q - 0.3 * m.r) * m.x + 0.01 * m.p * m.q * m.y


def square(m: Any) -> Any:
    return (m.p + m.q) * m.x * m.x


def fix(m: Any) -> None:
    m.w = sys.modules["pyomo.environ"].Var(bounds=(0, m.p + m.q))
    m.w.fix(1)


def add_row(make: Callable[[Any], Any]) -> Callable[[Any], None]:
    def add(m: Any) -> None:
        m.row = sys.modules["pyomo.environ"].Constraint(expr=make(m))

    return add


# Parts whose figures depend on p and q, and cannot be linked to them.
PARTIAL: dict[str, Callable[[Any], None]] = {
    "product in a row": add_row(lambda m: m.p * m.q * m.x <= 9),
    "product in a side": add_row(lambda m: m.x <= m.p * m.q),
    "product in two limits": add_row(lambda m: (m.p / m.q, m.x, 90)),
    "equal limits": add_row(lambda m: (m.p + 2, m.x, m.q)),
    "square in a row": add_row(lambda m: m.p * m.x * m.x + m.q * m.y <= 9),
    "square with a limit": add_row(lambda m: m.x * m.x + m.q <= m.p),
    "fixed": fix,
}


@pytest.mark.parametrize("part", PARTIAL)
def test_data_of_pyomo_that_would_move_only_a_part_of_the_model_are_left_out(part: str) -> None:
    pe = pytest.importorskip("pyomo.environ")
    m = pe.ConcreteModel()
    m.p, m.q, m.r = (pe.Param(initialize=value, mutable=True) for value in (3.0, 5.0, 2.0))
    m.x, m.y = pe.Var(bounds=(0, 4)), pe.Var(bounds=(0, 4))
    m.o = pe.Objective(expr=m.p * m.x + m.q * m.y + m.r * m.x)
    whole = assemble(read_pyomo(m))
    assert ({family.name for family in whole.model.parameters}, whole.left_out) == ({"p", "q", "r"}, ())
    PARTIAL[part](m)
    rest = assemble(read_pyomo(m))
    assert ({family.name for family in rest.model.parameters}, set(rest.left_out)) == ({"r"}, {"p", "q"})
    assert (m.p.value, m.q.value) == (3.0, 5.0)


@pytest.mark.parametrize(("make", "cost"), [(product, 15.0), (small_product, 0.7), (square, 0.0)])
def test_products_of_data_of_pyomo_are_no_links(make: Callable[[Any], Any], cost: float) -> None:
    pe = pytest.importorskip("pyomo.environ")
    m = pe.ConcreteModel()
    m.p, m.q, m.r = (pe.Param(initialize=value, mutable=True) for value in (3.0, 5.0, 2.0))
    m.x, m.y = pe.Var(bounds=(0, 4)), pe.Var(bounds=(0, 4))
    m.o = pe.Objective(expr=make(m))
    made = from_pyomo.take_snapshot(m, Recorder(None, "\0", 60.0))
    assert made.cost[0] == pytest.approx(cost)
    assert made.links.factors == ([pytest.approx(-0.3)] if make is small_product else [])
    assert [bool(table.keys) for table in made.tables] == [False, False, True]


def test_rounding_of_large_figures_of_pyomo_is_no_product() -> None:
    pe = pytest.importorskip("pyomo.environ")
    m = pe.ConcreteModel()
    m.p, m.q = pe.Param(initialize=1e7 / 3, mutable=True), pe.Param(initialize=1e7 / 7, mutable=True)
    m.x = pe.Var(bounds=(0, 4))
    m.o = pe.Objective(expr=(0.1 * m.p + 0.7 * m.q) / 3 * m.x)
    links = from_pyomo.take_snapshot(m, Recorder(None, "\0", 60.0)).links
    assert links.factors == [pytest.approx(0.1 / 3), pytest.approx(0.7 / 3)]


def test_a_model_of_gurobi_has_all_of_its_parts(recorder: Recorder) -> None:
    gp = pytest.importorskip("gurobipy")

    def read(model: Any, *families: tuple[str, str, Any]) -> Snapshot:
        model.update()
        return from_gurobi._snapshot(gp, model, "gurobipy 1", recorder, list(families))

    with gp.Env(params={"OutputFlag": 0}) as environment, gp.Model("plan", env=environment) as m:
        x, ship = m.addVar(lb=-gp.GRB.INFINITY, ub=7.5), m.addVars(["a", "b"], range(2), vtype="I", name="ship")
        lot, b = m.addVar(1, 6, vtype="S", name="lot"), m.addVar(-3, 5, vtype="B", name="b")
        box = m.addMVar((2, 1), ub=4, vtype="N", name="box")
        low = m.addConstr(2 * x - b <= 9)
        tall = m.addConstrs((ship[label, 0] >= len(label) for label in ("a", "b")), name="tall")
        m.addConstr(x + lot == 2.5, name="same")
        m.setObjective(3 * x - lot + 4.5, gp.GRB.MAXIMIZE)
        made = read(m, ("columns", "ship", ship), ("columns", "box", box), ("rows", "", low), ("rows", "tall", tall))
        assert (made.name, made.maximize, made.constant, made.missing) == ("plan", True, 4.5, [])
        names = ["C0", "ship[a,0]", "ship[a,1]", "ship[b,0]", "ship[b,1]", "lot", "b", "box[0,0]", "box[1,0]"]
        assert (made.columns, made.rows) == (names, ["R0", "tall[a]", "tall[b]", "same"])
        assert made.low == [-INF, 0, 0, 0, 0, 1, 0, 0, 0]
        assert made.high == [7.5, INF, INF, INF, INF, 6, 1, 4, 4]
        assert made.integer == [False, True, True, True, True, False, True, True, True]
        assert made.cost == [3, 0, 0, 0, 0, -1, 0, 0, 0]
        assert [part["variable"] for part in made.features["semi_continuous"]] == [5, 7, 8]
        assert (made.row_low, made.row_high) == ([-INF, 1, 1, 2.5], [9, INF, INF, 2.5])
        dense = csr_matrix((made.values, made.indices, made.starts), shape=(4, 9)).toarray()
        assert [dict(zip(np.flatnonzero(row).tolist(), row[row != 0].tolist(), strict=True)) for row in dense] == [
            {0: 2, 6: -1}, {1: 1}, {3: 1}, {0: 1, 5: 1}
        ]  # fmt: skip
        keys = dict(zip(made.columns, made.column_keys, strict=True))
        assert keys["ship[b,1]"] == ("ship", ["b", "1"], "framework")
        assert keys["box[1,0]"] == ("box", ["1", "0"], "framework")
        assert (keys["lot"], made.row_keys[1:3]) == (None, [("tall", [label], "framework") for label in "ab"])
        # The kind of a variable may change later.
        late = m.addVar(-3, 5, name="late")
        m.update()
        late.VType = "B"
        late.LB, late.UB = -3, 5
        made = read(m)
        assert (made.low[-1], made.high[-1], made.integer[-1]) == (0, 1, True)
        m.setPWLObj(b, [0, 1], [0, 2])
        assert len(read(m).missing) == 1
    with gp.Env(params={"OutputFlag": 0}) as environment, gp.Model(env=environment) as m:
        m.addVar(obj=2.0, name="y")
        made = read(m)
        assert (made.name, made.columns, made.maximize, made.cost) == ("", ["y"], False, [2.0])
        assert made.features == {}


GUROBI_ROWS = """
held = m.addConstrs((x[k] >= 1 for k in "ab"))
note("rows", held)
for w in range(2):
    note("rows", m.addConstrs((x[k] <= 5 + w for k in "ab")))
"""


def test_rows_of_gurobi_without_a_name_have_that_of_their_variable_or_line(tmp_path: Path) -> None:
    gp = pytest.importorskip("gurobipy")
    recorder = Recorder(None, f"{tmp_path}/", 60.0)
    families: list[tuple[str, str, Any]] = []

    def note(kind: str, made: Any) -> None:
        families.append((kind, "", made))
        recorder.places.note_object(kind, made)

    path = tmp_path / "program.py"
    path.write_text(GUROBI_ROWS)
    with gp.Env(params={"OutputFlag": 0}) as environment, gp.Model("plan", env=environment) as m:
        x = m.addVars(["a", "b"], name="x")
        names = {"m": m, "x": x, "note": note, "__name__": "__main__"}
        exec(compile(GUROBI_ROWS, str(path), "exec"), names)
        m.update()
        made = from_gurobi._snapshot(gp, m, "gurobipy 1", recorder, families)
    assert [(key[0], key[1][-1]) for key in made.row_keys] == [
        ("held", "a"), ("held", "b"), ("line_5", "a"), ("line_5", "b"), ("line_5", "a"), ("line_5", "b")
    ]  # fmt: skip


def test_claims_of_gurobi_have_values_where_there_is_a_point() -> None:
    def model(**parts: Any) -> Any:
        values = {
            "Status": 2,
            "SolCount": 1,
            "NumObj": 1,
            "ObjVal": 3,
            "getVars": list,
            "getAttr": lambda *given: [1.0],
        }
        return SimpleNamespace(**values | parts)

    assert from_gurobi._claim(model()) == ("optimal", 3.0, [1.0])
    assert from_gurobi._claim(model(SolCount=0, Status=3)) == ("infeasible", None, None)
    # The value of several objectives is not that of the first one.
    assert from_gurobi._claim(model(NumObj=2, Status=77)) == ("status 77", None, [1.0])


def test_a_solver_of_pyomo_is_always_there() -> None:
    pytest.importorskip("pyomo.environ")
    solver = from_pyomo.RecordingSolver(None, "cplex", {"a": 1}, Recorder(None, "\0", 60.0))
    assert (solver.available(), solver.license_is_valid(), solver.name, solver.options["a"]) == (True, True, "cplex", 1)
    assert solver.add_constraint(3) is None
    with pytest.raises(AttributeError):
        solver.solve_everything()
    with solver as same:
        assert same is solver


SCIPY = [
    {}, {"A_ub": [[1, 1, 0]], "b_ub": [4]}, {"A_ub": np.array([[1.0, 1, 0], [0, 2, -1]]), "b_ub": [4, 3], "A_eq": [[1, 0, 1]], "b_eq": [3]},
    {"bounds": (-1, 2)}, {"bounds": [(-1, 2)]}, {"bounds": [(0, 3), (None, 2), (-2, None)], "A_ub": csr_matrix([[-1.0, -1, 1]]), "b_ub": [[5.0]]},
    {"bounds": [(0, 2.5), (0.5, 3.5), (-1.5, 1.5)], "integrality": [1, 0, 1]}, {"bounds": (0, 2.5), "integrality": 1},
    {"bounds": None, "A_ub": [[1, 2, 3]], "b_ub": [6]},
    {"A_ub": np.array([[1.0, 1, 0], [0, 2, 3]]).view(np.matrix), "b_ub": [4, 3], "A_eq": [[1, 0, 1]], "b_eq": [1]},
]  # fmt: skip


@pytest.mark.parametrize("given", SCIPY)
@pytest.mark.parametrize("costs", [[-1.0, -2, -3], [1.0, 0, -1], [2.0, 1, 1]])
def test_models_for_linprog_have_its_optimum(given: dict, costs: list[float], recorder: Recorder) -> None:
    named = dict(given)
    first = [named.pop(name) for name in ("A_ub", "b_ub") if name in named]
    made = from_scipy._of_linprog("scipy", recorder, costs, *first, method="highs", **named)
    result = scipy.optimize.linprog(costs, **given)
    solution = solve(assemble(read_model(made.to_text().encode())).model, duals=False)
    assert (solution.status is SolveStatus.OPTIMAL) == (result.status == 0)
    assert solution.objective == (pytest.approx(result.fun) if result.status == 0 else None)
    assert made.columns == ["x[0]", "x[1]", "x[2]"]


Bounds, Rows = scipy.optimize.Bounds, scipy.optimize.LinearConstraint
MILP = [
    {}, {"constraints": Rows([[1, 1, 0]], 1, 4)}, {"constraints": [Rows(np.array([[1.0, 1, 0], [0, 2, -1]]), -np.inf, [4, 3]), Rows([1, 0, 1], 3, 3)]},
    {"constraints": ([[1, 1, 1]], 0, 2.5), "integrality": 1}, {"constraints": [([1, 1, 1], 0, 2.5)], "bounds": Bounds(-1, 2)},
    {"constraints": Rows(csr_matrix([[1.0, 0, 2], [0, 0, 1]]), [-1, -2], 3), "bounds": Bounds([0, 0.5, -1], [2.5, 3.5, INF]), "integrality": [1, 0, 1]},
    {"bounds": ([0, 0, 1], 2.5), "integrality": np.array([0, 1, 1])},
    {"constraints": (Rows([1, 1, 0], 0, 3), Rows([0, 1, 1], 1, 4), Rows([1, 0, 1], 0, 2))},
    {"constraints": Rows(np.array([[1, 1, 0], [0, 2, 3]]).view(np.matrix), 1, [4, 3])},
]  # fmt: skip


@pytest.mark.parametrize("given", MILP)
@pytest.mark.parametrize("costs", [[-1.0, -2, -3], [1.0, 0, -1], [2.0, 1, 1]])
def test_models_for_milp_have_its_optimum(given: dict, costs: list[float], recorder: Recorder) -> None:
    made = from_scipy._of_milp("scipy", recorder, costs, options={"disp": False}, **given)
    result = scipy.optimize.milp(costs, **given)
    solution = solve(assemble(read_model(made.to_text().encode())).model, duals=False)
    assert (solution.status is SolveStatus.OPTIMAL) == (result.status == 0)
    assert solution.objective == (pytest.approx(result.fun) if result.status == 0 else None)
    rows = given.get("constraints", [])
    if isinstance(rows, tuple) and isinstance(rows[0], Rows):
        assert made.rows == ["constraint_1[0]", "constraint_2[0]", "constraint_3[0]"]
    elif isinstance(rows, list) and len(rows) == 2:
        assert made.rows == ["constraint_1[0]", "constraint_1[1]", "constraint_2[0]"]
    else:
        assert all(name.startswith("constraint[") for name in made.rows)


def test_semi_continuous_variables_of_scipy_are_missing(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "remaining_s", lambda threads=1: 50.0)
    assert from_scipy._of_milp("scipy", recorder, [1.0, 1.0], integrality=[0, 2]).missing
    assert not from_scipy._of_milp("scipy", recorder, [1.0, 1.0], integrality=[0, 1]).missing
    named: list[dict] = []
    limited = from_scipy._limited(lambda *given, **options: named.append(options), recorder)
    for options in (
        {},
        {"options": {"time_limit": 7, "disp": True}},
        {"options": {"time_limit": 9e9}},
        {"method": "highs-ds"},
        {"method": "simplex"},
    ):
        limited([1.0], **options)
    remaining = [options.get("options", {}).get("time_limit") for options in named]
    assert remaining[1] == 7.0
    assert named[1]["options"]["disp"] is True
    assert (remaining[0], remaining[2], remaining[3]) == (50.0, 50.0, 50.0)
    assert named[4] == {"method": "simplex"}
    assert from_scipy._claim(SimpleNamespace(x=None, fun=None, message="none")) == ("none", None, None)
    assert from_scipy._claim(SimpleNamespace(x=np.array([1.0]), fun=np.float64(2), message="good")) == (
        "good",
        2.0,
        [1.0],
    )


@pytest.mark.parametrize("is_by_column", [True, False])
@pytest.mark.parametrize("has_names", [True, False])
def test_a_model_of_highs_has_all_of_its_parts(is_by_column: bool, has_names: bool) -> None:
    dense = np.array([[1.0, 0, 2, 0], [0, 0, 0, 0], [3, -4, 0, 5], [0, 0, 0, 0]])
    matrix = csr_matrix(dense)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_, lp.offset_, lp.sense_ = 4, 4, 2.5, highspy.ObjSense.kMaximize
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = (
        np.array([1.0, 2, 3, 4]),
        np.array([0.0, -1e30, 1, 1]),
        np.array([1e30, 5, 6, 7]),
    )
    lp.row_lower_, lp.row_upper_ = np.array([-1e30, 0.0, 1.0, 2.0]), np.array([4.0, 1e30, 1.0, 8.0])
    kinds = highspy.HighsVarType
    lp.integrality_ = [kinds.kContinuous, kinds.kInteger, kinds.kSemiContinuous, kinds.kSemiInteger]
    if has_names:
        lp.model_name_, lp.col_names_, lp.row_names_ = "plan", list("abcd"), list("rstu")
    part = matrix.tocsc() if is_by_column else matrix
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise if is_by_column else highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = part.indptr, part.indices, part.data
    model = SimpleNamespace(getLp=lambda: lp, getHessianNumNz=lambda: 0)
    made = from_highs._snapshot(highspy, model, "highspy 1")
    assert (made.name, made.maximize, made.constant) == ("plan" if has_names else "", True, 2.5)
    assert (made.columns, made.rows) == ((list("abcd"), list("rstu")) if has_names else ([""] * 4, [""] * 4))
    assert (made.low, made.high, made.cost) == ([0, -INF, 1, 1], [INF, 5, 6, 7], [1, 2, 3, 4])
    assert (made.row_low, made.row_high, made.integer) == ([-INF, 0, 1, 2], [4, INF, 1, 8], [False, True, False, True])
    assert csr_matrix((made.values, made.indices, made.starts), shape=(4, 4)).toarray().tolist() == dense.tolist()
    assert [part["variable"] for part in made.features["semi_continuous"]] == [2, 3]


def test_rows_of_a_wide_model_of_highs_keep_the_order_of_its_columns() -> None:
    dense = np.arange(1.0, 181.0).reshape(3, 60)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = 60, 3
    lp.col_cost_ = lp.col_lower_ = lp.col_upper_ = np.zeros(60)
    lp.row_lower_ = lp.row_upper_ = np.zeros(3)
    part = csr_matrix(dense).tocsc()
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = part.indptr, part.indices, part.data
    made = from_highs._snapshot(highspy, SimpleNamespace(getLp=lambda: lp, getHessianNumNz=lambda: 0), "highspy 1")
    assert (made.indices, made.values) == ([*range(60)] * 3, dense.ravel().tolist())


@pytest.mark.parametrize("is_triangle", [True, False])
def test_a_square_of_highs_is_half_of_its_matrix(is_triangle: bool) -> None:
    dense = np.array([[4.0, -1, 0], [-1, 6, 2], [0, 2, 0]])
    part = csr_matrix(np.triu(dense) if is_triangle else dense)
    kinds = highspy.HessianFormat
    hessian = SimpleNamespace(
        start_=part.indptr,
        index_=part.indices,
        value_=part.data,
        dim_=3,
        format_=kinds.kTriangular if is_triangle else kinds.kSquare,
    )
    made = Snapshot("highspy 1")
    from_highs._add_hessian(made, highspy, hessian)
    for point in ([1, 0, 0], [1, 2, 3], [-1, 1, 2]):
        total = sum(term["value"] * point[term["first"]] * point[term["second"]] for term in made.features["quadratic"])
        assert total == np.array(point) @ dense @ np.array(point) / 2


def test_a_solve_of_highs_has_the_limits_of_program_and_run(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "remaining_s", lambda threads=1: 50.0 / threads)
    for asked, limit, gap, expected in (
        (0, INF, None, (1, 53.0, 1e-4)),
        (2, INF, 0.25, (2, 28.0, 0.25)),
        (2, 7.0, None, (2, 7.0, 1e-4)),
    ):
        engine = highspy.Highs()
        engine.setOptionValue("output_flag", False)
        for name, value in (("threads", asked), ("time_limit", limit)):
            engine.setOptionValue(name, value)
        recorder.gap = gap
        used = SimpleNamespace(
            getOptionValue=engine.getOptionValue, setOptionValue=engine.setOptionValue, getRunTime=lambda: 3.0
        )
        from_highs._limit(used, recorder)
        assert tuple(engine.getOptionValue(name)[1] for name in ("threads", "time_limit", "mip_rel_gap")) == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("constant", [None, 0.0, 3.5])
def test_a_problem_of_pulp_has_the_constant_of_its_objective(constant: float | None, recorder: Recorder) -> None:
    pulp = pytest.importorskip("pulp")
    problem = pulp.LpProblem("plan", pulp.LpMaximize)
    x = pulp.LpVariable("x", 0, 4)
    problem += x <= 3, "cap"
    if constant is not None:
        problem += 2 * x + constant, "gain"
    made = from_pulp._ProblemReader(problem, "pulp", True, recorder, {}, from_pulp._Products(pulp)).snapshot()
    assert (made.constant, made.maximize, made.cost) == (constant or 0.0, True, [0.0 if constant is None else 2.0])
    assert (made.columns, made.rows, made.row_high) == (["x"], ["cap"], [3.0])


def read_pulp(problem: Any, recorder: Recorder, products: Any = None, is_mixed: bool = True) -> Snapshot:
    pulp = pytest.importorskip("pulp")
    products = products or from_pulp._Products(pulp)
    return from_pulp._ProblemReader(
        problem, "pulp 3", is_mixed, recorder, {"f": ("flow", ["k"], "framework")}, products
    ).snapshot()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_mixed", [True, False])
def test_a_problem_of_pulp_has_all_of_its_parts(is_mixed: bool, recorder: Recorder) -> None:
    pulp = pytest.importorskip("pulp")
    problem = pulp.LpProblem("plan", pulp.LpMinimize)
    x, n = pulp.LpVariable("x", 0.5, 4), pulp.LpVariable("n", None, 7, "Integer")
    b, f = pulp.LpVariable("b", cat="Binary"), pulp.LpVariable("f")
    problem += 2 * x - n + 5, "gain"
    problem += x + 2 * n - f + 1 <= 3, "low"
    problem += x - b >= -1
    problem += f + 3 * x == 2.5, "same"
    problem += f - n >= 0
    problem.sos1, problem.sos2 = {"one": {x: 1, n: 2}}, {"two": {f: 3, x: 1, n: 2}}
    made = read_pulp(problem, recorder, is_mixed=is_mixed)
    assert (made.name, made.maximize, made.objective, made.constant) == ("plan", False, "gain", 5.0)
    columns = zip(made.columns, made.low, made.high, made.integer, made.cost, strict=True)
    assert set(columns) == {
        ("x", 0.5, 4, False, 2), ("n", -INF, 7, is_mixed, -1), ("b", 0, 1, is_mixed, 0), ("f", -INF, INF, False, 0)
    }  # fmt: skip
    assert (made.rows, made.row_low, made.row_high) == (
        ["low", "_C2", "same", "_C4"], [-INF, -1, 2.5, 0], [2, INF, 2.5, INF]
    )  # fmt: skip
    dense = csr_matrix((made.values, made.indices, made.starts), shape=(4, 4)).toarray()
    order = [made.columns.index(name) for name in "xnbf"]
    assert dense[:, order].tolist() == [[1, 2, 0, -1], [1, 0, -1, 0], [3, 0, 0, 1], [0, -1, 0, 1]]
    assert [part["name"] for part in made.features["ordered_sets"]] == ["sos_0", "sos_0_2"]
    sets = [
        (part["kind"], {made.columns[column]: weight for column, weight in part["members"].items()})
        for part in made.features["ordered_sets"]
    ]
    assert sets == [(1, {"x": 1, "n": 2}), (2, {"f": 3, "x": 1, "n": 2})]
    keys = dict(zip(made.columns, made.column_keys, strict=True))
    assert (keys["f"], keys["x"]) == (("flow", ["k"], "framework"), None)


@pytest.mark.parametrize(
    ("low", "high", "ends"), [(None, None, (0, 1)), (-3, 5, (0, 1)), (1, 1, (1, 1)), (0, 0, (0, 0))]
)
def test_a_binary_of_pulp_4_is_within_0_and_1(
    low: float | None, high: float | None, ends: tuple, recorder: Recorder
) -> None:
    entry = {"name": "b", "cat": "Binary", "lowBound": low, "upBound": high}
    plain = {
        "variables": [{**entry, "name": "__dummy"}, entry],
        "objective": {"name": None, "coefficients": [{"name": "__dummy", "value": 1}, {"name": "b", "value": 2}]},
        "constraints": [],
    }
    problem = SimpleNamespace(to_dict=lambda: plain, objective=None, sense=-1, name=None, variables=list)
    made = read_pulp(problem, recorder)
    assert (made.columns, made.cost, made.integer, made.maximize) == (["b"], [2.0], [True], True)
    assert (made.constant, made.name, made.objective) == (0.0, "", "")
    assert (made.low[0], made.high[0]) == ends


@pytest.mark.filterwarnings("ignore")
def test_products_of_pulp_are_those_of_their_factors(recorder: Recorder) -> None:
    pulp = pytest.importorskip("pulp")
    products = from_pulp._Products(pulp)
    x, y = pulp.LpVariable("x", 0, 3, "Integer"), pulp.LpVariable("y", 0, 3, "Integer")
    z, w = pulp.LpVariable("z", 0, 3, "Integer"), pulp.LpVariable("w", 0, 3, "Integer")
    problem = pulp.LpProblem("products", pulp.LpMaximize)
    problem += products.multiply(2 * x - y + 3, y - 1) + products.multiply(x, x) + z
    # The factor w is in no other part.
    problem += products.multiply(w, z) + z >= 1, "least"
    problem += x + y <= 4, "most"
    made = read_pulp(problem, recorder, products)
    assert sorted(made.columns) == ["w", "x", "y", "z"]
    place = [made.columns.index(name) for name in "xyzw"]

    def value(part: dict, point: tuple) -> float:
        at = dict(zip(place, point, strict=True))
        linear = sum(size * at[column] for column, size in part["terms"].items())
        return linear + sum(term["value"] * at[term["first"]] * at[term["second"]] for term in part["quadratic"])

    objective = {"terms": dict(enumerate(made.cost)), "quadratic": made.features["quadratic"]}
    (row,) = made.features["quadratic_rows"]
    assert (row["name"], row["relation"], row["rhs"], made.rows) == ("least", ">=", 1.0, ["most"])
    for point in ((0, 0, 0, 0), (1, 2, 3, 1), (3, 1, 2, 2), (2, 3, 1, 3)):
        a, b, c, d = point
        assert value(objective, point) + made.constant == (2 * a - b + 3) * (b - 1) + a * a + c
        assert value(row, point) == d * c + c
    assert products.multiply(x, y).to_dict() == products.multiply(y, x).to_dict()
    for factors in ((products.multiply(x, y), x), (z, products.multiply(x, y))):
        with pytest.raises(TypeError):
            products.multiply(*factors)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("least", "status"), [(1, "Optimal"), (4, "Infeasible")])
def test_a_problem_of_pulp_with_products_gets_the_best_point(
    least: int, status: str, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulp = pytest.importorskip("pulp")
    products = from_pulp._Products(pulp)
    x, y, z = (pulp.LpVariable(name, cat="Binary") for name in "xyz")
    problem = pulp.LpProblem("products", pulp.LpMaximize)
    problem += 3 * x + 2 * y - products.multiply(4 * x, y) + 0.5
    problem += products.multiply(y, z) + x + y >= least
    code = from_pulp._solve_products(pulp, problem, read_pulp(problem, recorder, products), recorder, products)
    assert pulp.LpStatus[code] == pulp.LpStatus[problem.status] == status
    claim = from_pulp._claim(pulp, problem, products)
    if status == "Infeasible":
        assert claim == (status, None, None)
        return
    for word, expected in (("unbounded", "Unbounded"), ("unknown", "Not Solved"), ("feasible", "Optimal")):
        monkeypatch.setattr(from_pulp, "solve_snapshot", lambda *given, word=word: SnapshotSolution(word, None, []))
        code = from_pulp._solve_products(pulp, problem, Snapshot("pulp"), recorder, products)
        assert pulp.LpStatus[code] == expected
    problem.status = pulp.LpStatusOptimal
    # By hand: x alone is best.
    assert [round(part.varValue) for part in (x, y)] == [1, 0]
    product = next(part for part in problem.variables() if part.name == "x*y")
    assert product.varValue == pytest.approx(0)
    made = read_pulp(problem, recorder, products)
    assert (claim[0], claim[1]) == (status, pytest.approx(3.5))
    # One variable without a value.
    kept, y.varValue = y.varValue, None
    assert from_pulp._claim(pulp, problem, products) == (status, None, None)
    y.varValue = kept
    assert dict(zip(made.columns, map(round, claim[2]), strict=True)) == {"x": 1, "y": 0, "z": round(z.varValue)}


def plain_pyomo(pe: Any, need: float = 1.0) -> Any:
    """At most 8: x of at most 3 and y with x + y of at most 4, at least a need."""
    m = pe.ConcreteModel("plan")
    m.x, m.y = pe.Var(bounds=(0, 3)), pe.Var(bounds=(0, 9), within=pe.Integers)
    m.most = pe.Constraint(expr=m.x + m.y <= 4)
    m.least = pe.Constraint(expr=m.x + m.y >= need)
    m.gain = pe.Objective(expr=m.x + 2 * m.y, sense=pe.maximize)
    return m


def claimed(recorder: Recorder) -> dict[str, Any]:
    return json.loads(recorder.files[f"{recorder.count:06}.point.json"])


@pytest.mark.parametrize("is_confined", [False, True])
def test_a_solver_of_pyomo_records_the_model_and_loads_the_best_point(
    is_confined: bool, caplog: pytest.LogCaptureFixture
) -> None:
    pe = pytest.importorskip("pyomo.environ")
    recorder = Recorder(None, "\0", 60.0, is_confined=is_confined)
    made: list[Any] = []

    def make() -> Any:
        made.append(pe.SolverFactory("appsi_highs"))
        return made[-1]

    solver = from_pyomo.RecordingSolver(make, "glpk", None, recorder)
    model = plain_pyomo(pe)
    result = solver.solve(model)
    # By hand: y alone.
    assert (model.x.value, model.y.value) == (pytest.approx(0), pytest.approx(4))
    assert str(result.solver.termination_condition) == "optimal"
    assert json.loads(recorder.files["000001.json"])["columns"] == ["x", "y"]
    assert (claimed(recorder)["status"], claimed(recorder)["objective"]) == ("optimal", pytest.approx(8))
    assert claimed(recorder)["values"] == pytest.approx([0, 4])
    assert len(made) == (not is_confined)
    # A point is loaded only if the program asks for it.
    model = plain_pyomo(pe)
    solver.set_instance(model)
    solver.solve(load_solutions=False)
    assert (model.x.value, model.y.value) == (None, None)
    assert recorder.count == 2
    model = plain_pyomo(pe, need=5.0)
    caplog.clear()
    result = solver.solve(model)
    assert "infeasible" in str(result.solver.termination_condition).lower()
    assert (model.x.value, claimed(recorder)["values"]) == (None, None)
    assert is_confined or any("no solution" in record.message for record in caplog.records)
    # HiGHS of Pyomo has no products.
    model = plain_pyomo(pe)
    model.product = pe.Constraint(expr=model.x * model.x + model.y <= 3)
    solver.solve(model)
    assert (model.x.value, model.y.value) == (pytest.approx(0, abs=1e-5), pytest.approx(3))
    assert recorder.count == 4


@pytest.mark.parametrize(
    ("options", "named", "gap", "seconds", "used_gap"),
    [
        ({}, {}, None, 50.0, None), ({"seconds": 7}, {}, None, 7.0, None), ({"timelimit": 90, "ratioGap": 0.5}, {}, None, 50.0, 0.5),
        ({"ratio": 0.5}, {"options": {"TimeLimit": 3.5, "MIPGap": 0.25}, "tee": True}, 0.125, 3.5, 0.125),
        ({"sec": 9}, {"options": {"sec": 4, "mip_gap": 0.1}}, None, 4.0, 0.1),
    ],
)  # fmt: skip
def test_a_solve_of_pyomo_has_the_limits_of_program_and_run(
    options: dict,
    named: dict,
    gap: float | None,
    seconds: float,
    used_gap: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pe = pytest.importorskip("pyomo.environ")
    recorder = Recorder(None, "\0", 60.0, gap)
    monkeypatch.setattr(recorder, "remaining_s", lambda threads=1: 50.0)
    calls: list[dict] = []
    problem = SimpleNamespace(upper_bound=INF, lower_bound=-INF, sense=1)
    result = SimpleNamespace(termination_condition="maxTimeLimit", problem=problem, solution=[])

    def solve_noted(model: Any, **given: Any) -> Any:
        assert recorder.is_quiet
        calls.append(given)
        return result

    engine = SimpleNamespace(highs_options={}, config=SimpleNamespace(mip_gap=None), solve=solve_noted)
    solver = from_pyomo.RecordingSolver(lambda: engine, "cbc", options, recorder)
    assert solver.solve(plain_pyomo(pe), **named) is result
    assert calls == [{"tee": bool(named.get("tee")), "load_solutions": False, "timelimit": seconds}]
    assert (engine.highs_options, engine.config.mip_gap) == ({"threads": 1}, used_gap)
    assert claimed(recorder) == {"status": "maxTimeLimit", "objective": None, "values": None}
    # The same limits where oragent solves the model.
    limits: list[tuple] = []

    def solve_here(snapshot: Snapshot, *given: Any) -> SnapshotSolution:
        limits.append(given)
        return SnapshotSolution("unknown", None, [])

    monkeypatch.setattr(from_pyomo, "solve_snapshot", solve_here)
    recorder.is_confined = True
    solver.solve(plain_pyomo(pe), **named)
    assert limits == [(seconds, used_gap)]
    # Not a model that the recorder cannot read as a whole.
    bent = plain_pyomo(pe)
    bent.bend = pe.Constraint(expr=bent.x**3 <= 1)
    assert solver.solve(bent, **named) is result
    assert len(limits) == 1


@pytest.mark.parametrize(
    ("condition", "sense", "upper", "lower", "has_point"),
    [
        ("optimal", 1, INF, -INF, True), ("feasible", 1, INF, -INF, True), ("maxTimeLimit", 1, INF, 3.0, False),
        ("maxTimeLimit", 1, 4.0, -INF, True), ("maxTimeLimit", -1, 4.0, -INF, False), ("maxTimeLimit", -1, INF, 3.0, True),
        ("infeasible", -1, INF, None, False), ("infeasible", 1, None, -INF, False),
    ],
)  # fmt: skip
def test_a_result_of_pyomo_has_a_point_if_the_bound_of_its_sense_is_finite(
    condition: str, sense: int, upper: float | None, lower: float | None, has_point: bool
) -> None:
    problem = SimpleNamespace(sense=sense, upper_bound=upper, lower_bound=lower)
    result = SimpleNamespace(solver=SimpleNamespace(termination_condition=condition), problem=problem)
    assert from_pyomo._has_point(result) == has_point
    assert from_pyomo._condition_of(result) == condition
    assert from_pyomo._condition_of(SimpleNamespace(termination_condition=SimpleNamespace(name="open"))) == "open"
    assert from_pyomo._condition_of(SimpleNamespace()) == "unknown"


def test_solvers_of_pyomo_that_a_program_derives_are_recorded(recorder: Recorder) -> None:
    pe = pytest.importorskip("pyomo.environ")

    class Base:
        pass

    from_pyomo.install(SimpleNamespace(__name__="pyomo.contrib.appsi.base", Solver=Base), recorder)

    class Own(Base):
        def solve(self, model: Any, value: float = 2.0) -> Any:
            model.x.value, model.y.value = value, 1.0
            assert recorder.is_quiet
            return SimpleNamespace(termination_condition="optimal")

    class Derived(Own):
        pass

    assert Own().solve(plain_pyomo(pe), value=1.0).termination_condition == "optimal"
    assert claimed(recorder) == {"status": "optimal", "objective": 3.0, "values": [1.0, 1.0]}
    Derived().solve(plain_pyomo(pe))
    assert (recorder.count, claimed(recorder)["objective"]) == (2, 4.0)
    with recorder.quiet():
        assert Own().solve(plain_pyomo(pe)) is not None
    assert recorder.count == 2


def test_the_factory_of_pyomo_gives_recording_solvers(recorder: Recorder) -> None:
    pe = pytest.importorskip("pyomo.environ")

    class Factory:
        def __call__(self, name: str, **named: Any) -> tuple[str, dict]:
            return name, named

    from_pyomo.install(SimpleNamespace(__name__="pyomo.opt.base.solvers", SolverFactoryClass=Factory), recorder)
    solver = Factory()("gurobi", options={"a": 1})
    assert isinstance(solver, from_pyomo.RecordingSolver)
    assert (solver.name, solver.options["a"], solver._make()) == ("gurobi", 1, (from_pyomo.SOLVER, {}))
    with recorder.quiet():
        assert Factory()("gurobi", b=2) == ("gurobi", {"b": 2})
    claim = from_pyomo._claim(plain_pyomo(pe), "optimal")
    assert claim == ("optimal", None, [0.0, 0.0])
    # Values of solvers are whole up to a tolerance.
    near = plain_pyomo(pe)
    from_pyomo._load_solution(near, SnapshotSolution("optimal", 8.0, [-1e-9, 4 - 1e-7]), True)
    assert (near.x.value, near.y.value) == (-1e-9, 4 - 1e-7)
    near.gain.deactivate()
    near.other = pe.Objective(expr=3 * near.y)
    assert from_pyomo._claim(near, "optimal")[1] == pytest.approx(12)
    half = plain_pyomo(pe)
    half.x.value = 2.0
    assert from_pyomo._claim(half, "open") == from_pyomo._claim(plain_pyomo(pe), "open") == ("open", None, None)


@pytest.fixture(name="fresh_pulp")
def import_fresh_pulp() -> Iterator[Any]:
    """PuLP imported anew, because its recorder changes its classes."""
    pytest.importorskip("pulp")

    def names() -> list[str]:
        return [name for name in sys.modules if name.partition(".")[0] == "pulp"]

    kept = {name: sys.modules.pop(name) for name in names()}
    yield importlib.import_module("pulp")
    for name in names():
        del sys.modules[name]
    sys.modules.update(kept)


PULP_PROGRAM = """
PLANTS, WEEKS = ["a", "b"], ("w1", "w2")
m = pulp.LpProblem("plan", pulp.LpMaximize)
ship = pulp.LpVariable.dicts("ship", (PLANTS, WEEKS), 0, 4)
use = pulp.LpVariable.dict("use_", PLANTS, 0, 1.5, "Integer")
grid = pulp.LpVariable.matrix("grid", (range(2), ["l", "r"]), upBound=1, lowBound=0)
pairs = pulp.LpVariable.dicts("pair", [(p, w) for p in PLANTS for w in WEEKS], 0, 3)
named = pulp.LpVariable.dicts("named", indices=["x", "y"], lowBound=0, upBound=2)
extra = {}
for p in PLANTS:
    for i in range(2):
        extra[p, i] = pulp.LpVariable(f"extra_{p}{i}", 0, 2 + i)
m += 2 * pulp.lpSum(ship[p][w] for p in PLANTS for w in WEEKS) + pulp.lpSum(use.values()) + pulp.lpSum(grid)
m += pulp.lpSum(extra.values()) + pulp.lpSum(pairs.values()) + pulp.lpSum(named.values()) <= 9, "rest"
for p in PLANTS:
    m += pulp.lpSum(ship[p][w] for w in WEEKS) + use[p] <= 5
status = m.solve(pulp.PULP_CBC_CMD(msg=False, mip=is_mixed))
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_mixed", [True, False])
def test_a_program_of_pulp_is_recorded_with_the_keys_of_its_families(
    is_mixed: bool, fresh_pulp: Any, tmp_path: Path
) -> None:
    recorder = Recorder(None, f"{tmp_path}/", 60.0)
    from_pulp.install(fresh_pulp, recorder)
    path = tmp_path / "program.py"
    path.write_text(PULP_PROGRAM)
    names = {"pulp": fresh_pulp, "is_mixed": is_mixed, "__name__": "__main__"}
    exec(compile(PULP_PROGRAM, str(path), "exec"), names)
    assert fresh_pulp.LpStatus[names["status"]] == "Optimal"
    # By hand: 5 a plant at twice the worth, and all of the grid.
    assert fresh_pulp.value(names["m"].objective) == pytest.approx(24)
    assert claimed(recorder)["objective"] == pytest.approx(24)
    made = json.loads(recorder.files["000001.json"])
    assert (recorder.count, made["missing"], made["name"]) == (1, [], "plan")
    by_family: dict[str, dict[tuple[str, ...], str]] = {}
    for family, labels, source in made["column_keys"]:
        by_family.setdefault(family, {})[tuple(labels)] = source
    both = [(p, w) for p in "ab" for w in ("w1", "w2")]
    assert by_family == {
        "ship": dict.fromkeys(both, "framework"), "pair": dict.fromkeys(both, "framework"),
        "use": dict.fromkeys([("a",), ("b",)], "framework"), "named": dict.fromkeys([("x",), ("y",)], "framework"),
        "grid": dict.fromkeys([(i, side) for i in "01" for side in "lr"], "framework"),
        "extra": dict.fromkeys([(p, i) for p in "ab" for i in "01"], "container"),
    }  # fmt: skip
    assert made["rows"][0] == "rest"
    assert [key and (key[1], key[2]) for key in made["row_keys"]] == [None, (["a"], "loops"), (["b"], "loops")]
    whole = {name for name, is_whole in zip(made["columns"], made["integer"], strict=True) if is_whole}
    assert whole == ({"use__a", "use__b"} if is_mixed else set())


@pytest.mark.filterwarnings("ignore")
def test_unclear_errors_of_pulp_say_what_to_write_and_products_are_solved(fresh_pulp: Any, recorder: Recorder) -> None:
    pulp = fresh_pulp
    from_pulp.install(pulp, recorder)
    x, y = pulp.LpVariable("x", 0, 3), pulp.LpVariable("y", 0, 3)
    for error, make in (
        (from_pulp.DIVISION_ERROR, lambda: x / y), (from_pulp.DIVISION_ERROR, lambda: (x + y) / (x + 1)),
        (from_pulp.PRODUCT_ERROR, lambda: x * y * x), (from_pulp.PRODUCT_ERROR, lambda: (x + 1) ** 3),
        (from_pulp.PRODUCT_ERROR, lambda: x**2.5),
    ):  # fmt: skip
        with pytest.raises(TypeError) as refused:
            make()
        assert str(refused.value) == error
    one = pulp.LpAffineExpression(constant=2.0)
    assert ((x + 3) / one).to_dict() == (0.5 * x + 1.5).to_dict()
    with pytest.raises(ValueError, match="problem"):
        pulp.value(None)
    assert ((2 * x + 4) / 2).to_dict() == (x + 2).to_dict()
    assert pulp.value(x + 2) is None
    assert all(solver().available() for solver in (pulp.GLPK_CMD, pulp.PULP_CBC_CMD))
    problem = pulp.LpProblem("square", pulp.LpMinimize)
    problem += (x - 2) ** 2 + (y - 1) * (y - 1) + 5
    problem += x + y <= 2
    problem.solve()
    # By hand: the nearest point of the line to (2, 1).
    assert (x.varValue, y.varValue) == (pytest.approx(1.5, abs=1e-4), pytest.approx(0.5, abs=1e-4))
    assert (claimed(recorder)["status"], claimed(recorder)["objective"]) == ("Optimal", pytest.approx(5.5, abs=1e-4))
    assert pulp.LpStatus[problem.status] == "Optimal"


@pytest.mark.filterwarnings("ignore")
def test_the_variable_that_pulp_adds_to_an_empty_objective_is_left_out(fresh_pulp: Any, recorder: Recorder) -> None:
    pytest.importorskip("pyscipopt")
    pulp = fresh_pulp
    from_pulp.install(pulp, recorder)
    x, y = pulp.LpVariable("x", 0, 3), pulp.LpVariable("y", 0, 3)
    problem = pulp.LpProblem("feasible")
    problem += x * y >= 2
    problem.solve()
    assert x.varValue * y.varValue >= 2 - 1e-5
    assert len(claimed(recorder)["values"]) == 2


def scoped(recorder: Recorder, **scope: Any) -> Recorder:
    """Give a recorder the variables of a program."""
    recorder.places = SimpleNamespace(variable_scopes=lambda: [scope], columns={}, rows={})  # type: ignore[assignment]
    return recorder


def test_a_model_of_mathopt_has_all_of_its_parts(recorder: Recorder) -> None:
    mathopt = pytest.importorskip("ortools.math_opt.python.mathopt")
    m, other = mathopt.Model(name="plan", primary_objective_name="gain"), mathopt.Model()
    gone, x = m.add_variable(name="gone"), m.add_variable(lb=-INF, ub=4, name="x")
    n, b = m.add_integer_variable(lb=0, ub=7, name="n"), m.add_binary_variable(name="b")
    left_out = m.add_linear_constraint(x <= 1)
    low, high = m.add_linear_constraint(2 * x - n <= 3, name="low"), m.add_linear_constraint(x + b >= -1, name="high")
    m.add_linear_constraint(lb=1, ub=6, expr=n + 2 * b + x)
    m.delete_variable(gone)
    m.delete_linear_constraint(left_out)
    m.maximize(3 * x - b + 1.5)
    alien = other.add_variable(name="alien")
    rows = {"c": low, "d": high, "e": other.add_linear_constraint(alien <= 1)}
    scoped(recorder, box={"k": n, "z": alien}, tall=rows)
    made = from_mathopt._snapshot(m, "ortools 1", recorder)
    assert (made.name, made.objective, made.maximize, made.constant, made.missing) == ("plan", "gain", True, 1.5, [])
    assert list(zip(made.columns, made.low, made.high, made.integer, made.cost, strict=True)) == [
        ("x", -INF, 4, False, 3), ("n", 0, 7, True, 0), ("b", 0, 1, True, -1)
    ]  # fmt: skip
    assert (made.rows, made.row_low, made.row_high) == (["low", "high", ""], [-INF, -1, 1], [3, INF, 6])
    dense = csr_matrix((made.values, made.indices, made.starts), shape=(3, 3)).toarray()
    assert dense.tolist() == [[2, -1, 0], [1, 0, 1], [1, 1, 2]]
    assert made.column_keys == [None, ("box", ["k"], "container"), None]
    assert made.row_keys == [("tall", ["c"], "container"), ("tall", ["d"], "container"), None]
    m.add_indicator_constraint(indicator=b, implied_constraint=x <= 2)
    m.add_quadratic_constraint(x * x <= 4)
    m.minimize(x * x)
    assert len(from_mathopt._snapshot(m, "ortools 1", recorder).missing) == 3


@pytest.mark.parametrize("is_confined", [False, True])
def test_a_solve_of_mathopt_has_the_limits_of_program_and_run(
    is_confined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    mathopt = pytest.importorskip("ortools.math_opt.python.mathopt")
    recorder = Recorder(None, "", 60.0, is_confined=is_confined)
    monkeypatch.setattr(recorder, "remaining_s", lambda threads=1: 50.0 / threads)
    solved: list[tuple] = []
    module = SimpleNamespace(solve=lambda model, kind, params, **named: solved.append((kind, params, named)))
    from_mathopt._limit_solves(module, recorder)
    kinds = mathopt.SolverType

    def solve_with(kind: Any, gap: float | None = None, **given: Any) -> tuple:
        recorder.gap = gap
        params = mathopt.SolveParameters(**given)
        module.solve("model", kind, params=params, msg_cb=3)
        assert vars(params) == vars(mathopt.SolveParameters(**given))
        found = solved[-1][1]
        assert solved[-1][2] == {"msg_cb": 3}
        return solved[-1][0], found.threads, found.time_limit.total_seconds(), found.relative_gap_tolerance

    least = timedelta(seconds=7)
    assert solve_with(kinds.GLOP, time_limit=least) == (kinds.GLOP, None, 7, None)
    assert solve_with(kinds.GLOP, time_limit=timedelta(seconds=90)) == (kinds.GLOP, None, 50, None)
    assert solve_with(kinds.GSCIP, 0.25, threads=2) == (kinds.GSCIP, *((1, 50) if is_confined else (2, 25)), 0.25)
    assert solve_with(kinds.CP_SAT, relative_gap_tolerance=0.5) == (kinds.CP_SAT, 1, 50, 0.5)
    expected = (kinds.GSCIP, 1) if is_confined else (kinds.HIGHS, None)
    assert solve_with(kinds.HIGHS) == (*expected, 50, None)
    module.solve("model", kinds.GLOP)
    assert solved[-1][1].time_limit == timedelta(seconds=50)


def test_a_model_of_pywraplp_has_all_of_its_parts() -> None:
    pywraplp = pytest.importorskip("ortools.linear_solver.pywraplp")
    m = pywraplp.Solver.CreateSolver("SCIP")
    x, n, b = m.NumVar(-m.infinity(), 4, "x"), m.IntVar(0, 7, "n"), m.BoolVar("b")
    m.Add(2 * x - n <= 3, "low")
    m.Add(x + b >= -1, "high")
    m.Maximize(3 * x - b + 1.5)
    made = from_pywraplp._snapshot(m, "ortools 1")
    assert (made.maximize, made.constant, made.missing) == (True, 1.5, [])
    assert list(zip(made.columns, made.low, made.high, made.integer, made.cost, strict=True)) == [
        ("x", -INF, 4, False, 3), ("n", 0, 7, True, 0), ("b", 0, 1, True, -1)
    ]  # fmt: skip
    assert (made.rows, made.row_low, made.row_high) == (["low", "high"], [-INF, -1], [3, INF])
    dense = csr_matrix((made.values, made.indices, made.starts), shape=(2, 3)).toarray()
    assert dense.tolist() == [[2, -1, 0], [1, 0, 1]]
    claim = SimpleNamespace(Objective=lambda: SimpleNamespace(Value=lambda: 7.0), variables=list)
    words = [from_pywraplp._claim(result, claim)[0] for result in range(8)]
    assert words == [*from_pywraplp.STATUSES, "7"]
    assert [from_pywraplp._claim(result, claim)[1] for result in range(3)] == [7.0, 7.0, None]
    solver = SimpleNamespace()
    set_limit = from_pywraplp._noted(lambda model, value: value + 1, "_requested_ms")
    assert (set_limit(solver, 5), solver._requested_ms) == (6, 5)
