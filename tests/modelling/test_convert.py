"""Sources that are written run, have the model's matrix under the same names and keys, and its optimum."""

import ast
import builtins
import contextlib
import importlib.util
import io
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.capture.assembling import assemble
from oragent.modelling.capture.program import ClaimVerdict, capture_program
from oragent.modelling.capture.reading import read_model
from oragent.modelling.capture.recorder import Recorder
from oragent.modelling.capture.recorders import from_gurobi, from_mathopt, from_pulp, from_pyomo
from oragent.modelling.capture.snapshot import Snapshot
from oragent.modelling.convert import FORMS, SOURCES, convert_model, write_source
from oragent.modelling.convert.writer import WIDTH, _added, _wrapped, number
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.opening import open_model
from oragent.modelling.solving.model_solving import solve
from tests.modelling.programs import LIBRARIES

PACKAGES = {"pulp": "pulp", "pyomo": "pyomo", "gurobipy": "gurobipy", "mathopt": "ortools"}


def awkward_model() -> IndexedModel:
    """Sparse keys, one set twice, shifts in time, mixed kinds, bounds by member, names that are no identifiers."""
    builder = IndexedModelBuilder("réseau d'essai")
    builder.add_set("ville", ["Saint-Étienne", "Nîmes la Belle", "L'Haÿ", "class"])
    builder.add_set("wk", ["1", "2", "3", "4"])
    arcs = [("Saint-Étienne", "Nîmes la Belle"), ("Nîmes la Belle", "L'Haÿ"), ("Saint-Étienne", "L'Haÿ")]
    builder.add_parameter("coût", ["ville", "ville"], dict(zip(arcs, (2.0, 3.0, 4.5), strict=True)))
    builder.add_parameter("besoin", ["wk"], [3.0, 7.0, 2.0, 5.0])
    builder.add_parameter("prix", [], [1.5])
    flow = builder.add_variables("flux x", ["ville", "ville"], keys=arcs, high=[4.0, np.inf, 9.0])
    stock = builder.add_variables("stock", ["wk"], low=[-1.0, 0, 0, -np.inf], high=8)
    make = builder.add_variables("make", ["wk"], kind="integer", high=6)
    total = builder.add_variables("open", [], low=-np.inf)
    builder.add_rows(
        "balance",
        ["wk"],
        "=",
        rows=[0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 3],
        columns=[*make, *stock, *stock[:-1]],
        values=[1.0] * 4 + [-1.0] * 4 + [1.0] * 3,
        rhs=builder.cells("besoin"),
    )
    nodes = [("Nîmes la Belle",), ("L'Haÿ",)]
    builder.add_rows(
        "node",
        ["ville"],
        ">=",
        keys=nodes,
        rows=[0, 0, 1, 1],
        columns=[flow[0], flow[1], flow[1], flow[2]],
        values=[1.0, -1.0, 1.0, 1.0],
        rhs=[1.0, 2.5],
    )
    builder.add_rows(
        "skip",
        ["wk"],
        "<=",
        keys=[("3",), ("4",)],
        rows=[0, 0, 1, 1],
        columns=[make[2], make[0], make[3], make[1]],
        values=[1.0, -2.0, 1.0, -2.0],
        rhs=3.0,
    )
    builder.add_rows(
        "irregular",
        ["wk"],
        "<=",
        rows=[0, 1, 1, 2, 3],
        columns=[make[3], make[0], stock[2], stock[1], flow[0]],
        values=[1.0, 2.0, 3.0, 4.0, 5.0],
        rhs=[9.0, 30.0, 40.0, 50.0],
    )
    builder.add_rows(
        "irregular pairs", ["ville", "wk"], "<=", keys=[("class", "1"), ("class", "3")], rows=[0, 0, 1],
        columns=[make[1], make[3], make[0]], values=[1.0, 2.0, 4.0], rhs=[33.0, 44.0],
    )  # fmt: skip
    builder.add_rows("sum of all", [], "=", columns=[*flow, *make, *total], values=[1.0] * 7 + [-1.0])
    builder.set_objective("cost", "minimize", flow, builder.cells("coût"))
    builder.set_objective("cost", "minimize", [*stock, *total], [0.5, 0.5, 0.5, 0.5, 0.25], constant=12.5)
    return builder.build()


def small_recorder(folder: Path) -> Recorder:
    return Recorder(folder / "solves", "/no program/", 60.0)


def snapshot_of(form: str, model: Any, recorder: Recorder) -> Snapshot:
    if form == "pulp":
        products = from_pulp._Products(importlib.import_module("pulp"))
        return from_pulp._ProblemReader(model, "pulp", True, recorder, {}, products).snapshot()
    if form == "pyomo":
        return from_pyomo.take_snapshot(model, recorder)
    if form == "mathopt":
        return from_mathopt._snapshot(model, "mathopt", recorder)
    model.update()
    return from_gurobi._snapshot(importlib.import_module("gurobipy"), model, "gurobipy", recorder, [])


def run_source(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, "source", "exec"), names)
    return names


def matrix_of(model: IndexedModel) -> tuple[Any, ...]:
    """Figures of a model that do not depend on the order of columns and rows, nor on names."""
    arrays = model.to_arrays()
    columns = sorted(
        zip(
            arrays.low,
            arrays.high,
            arrays.integer,
            arrays.cost,
            abs(arrays.matrix).transpose() @ np.ones(model.shape[0]),
            strict=True,
        )
    )
    rows = sorted(zip(arrays.row_low, arrays.row_high, arrays.matrix @ np.ones(model.shape[1]), strict=True))
    return arrays.sense, columns, rows


def optimum(model: IndexedModel) -> float | None:
    return solve(model.without_flat_names(), duals=False).objective


def check_source(model: IndexedModel, form: str, folder: Path) -> None:
    pytest.importorskip(PACKAGES[form])
    # without the solve at its end
    source = write_source(model, form).rpartition("\n\n")[0]
    written = snapshot_of(form, run_source(source)["m"], small_recorder(folder))
    again = assemble(read_model(written.to_text().encode())).model
    first, second = matrix_of(model), matrix_of(again)
    assert first[0] == second[0]
    np.testing.assert_allclose(np.array(second[1], dtype=float), np.array(first[1], dtype=float))
    np.testing.assert_allclose(np.array(second[2], dtype=float), np.array(first[2], dtype=float))
    assert optimum(again) == pytest.approx(optimum(model))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", SOURCES)
def test_a_model_with_awkward_keys_keeps_its_matrix(form: str, tmp_path: Path) -> None:
    check_source(awkward_model(), form, tmp_path)


def random_model(draw: Callable[..., Any]) -> IndexedModel:
    builder = IndexedModelBuilder("random")
    sizes = [draw(st.integers(1, 3)) for _ in range(2)]
    builder.add_set("plant", [f"p{at}" for at in range(sizes[0])])
    builder.add_set("week", [f"w{at}" for at in range(sizes[1])])
    count = sizes[0] * sizes[1]
    figures = st.integers(-3, 3).map(float)
    x = builder.add_variables(
        "x", ["plant", "week"], high=draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    )
    y = builder.add_variables("y", ["week"], low=-2.0, high=5.0, kind=draw(st.sampled_from(["integer", "continuous"])))
    columns = [*x, *y]
    for name, sets, size in (("r", ["week"], sizes[1]), ("s", ["plant", "week"], count), ("t", [], 1)):
        pairs = draw(st.lists(st.tuples(st.integers(0, size - 1), st.sampled_from(columns)), unique=True, min_size=1))
        pairs += [(row, columns[0]) for row in range(size) if row not in {row for row, _ in pairs}]
        values = [draw(figures) or 1.0 for _ in pairs]
        builder.add_rows(
            name,
            sets,
            draw(st.sampled_from(["<=", ">="])),
            rows=[row for row, _ in pairs],
            columns=[column for _, column in pairs],
            values=values,
            rhs=[draw(figures) for _ in range(size)],
        )
    builder.set_objective("o", "maximize", columns, [draw(figures) for _ in columns], constant=draw(figures))
    return builder.build()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["pulp", "mathopt"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_random_models_keep_their_matrix(
    form: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    check_source(random_model(data.draw), form, tmp_path_factory.mktemp("solves"))


@pytest.mark.slow
@pytest.mark.parametrize("form", SOURCES)
def test_a_captured_program_is_written_run_and_captured_again(form: str, tmp_path: Path) -> None:
    pytest.importorskip(PACKAGES[form])
    program = tmp_path / "program.py"
    program.write_text(LIBRARIES["highspy"], encoding="utf-8")
    model = open_model(program)
    convert_model(model, tmp_path / "again.py", form)
    (again,) = capture_program(tmp_path / "again.py").models
    assert again.verdict is ClaimVerdict.OPTIMAL, again.reason
    assert again.objective == pytest.approx(678.3)
    assert again.model is not None
    for first, second in ((model.variables, again.model.variables), (model.rows, again.model.rows)):
        assert {(one.name, one.sets) for one in first} == {(one.name, one.sets) for one in second}
    assert {(one.name, one.sets) for one in again.model.parameters} == {
        (one.name, one.sets) for one in model.parameters
    }
    again_of = dict(zip(again.model.column_names, again.model.to_arrays().cost, strict=True))
    assert dict(zip(model.column_names, model.to_arrays().cost, strict=True)) == pytest.approx(again_of)


@pytest.mark.slow
def test_files_keep_the_optimum(tmp_path: Path) -> None:
    model = awkward_model()
    for form in ("json", "lp", "mps"):
        path = tmp_path / f"model.{form}"
        convert_model(model, path)
        assert optimum(open_model(path)) == pytest.approx(optimum(model))


def test_loops_are_written_where_families_allow_them() -> None:
    builder = IndexedModelBuilder()
    builder.add_set("city", ["A", "B", "C"])
    ship = builder.add_variables("ship", ["city", "city"])
    builder.add_rows("leave", ["city"], "<=", rows=np.repeat(range(3), 3), columns=ship, rhs=7.0)
    source = write_source(builder.build(), "pulp")
    assert "for c2 in city" in source
    assert source.count("ship[") == 1


def test_rows_of_two_keys_read_their_figures_from_a_table() -> None:
    (line,) = [line for line in write_source(awkward_model(), "pulp").splitlines() if "_make.get((" in line]
    assert ".items())" in line


def test_an_unknown_form_lists_those_there_are(tmp_path: Path) -> None:
    for path, form in ((tmp_path / "m.txt", ""), (tmp_path / "m.lp", "excel")):
        with pytest.raises(ModellingError, match="|".join(FORMS)):
            convert_model(awkward_model(), path, form)


@pytest.mark.parametrize("form", SOURCES)
def test_labels_that_are_whole_numbers_are_written_as_numbers(form: str) -> None:
    builder = IndexedModelBuilder("weeks")
    builder.add_set("week", [1, 20, "-3", "04", "1.5", "w6", "0"])
    builder.add_parameter("cost", ["week"], [1, 2, 3, 4, 5, 6, 7])
    make = builder.add_variables("make", ["week"], high=9)
    builder.set_objective("total", "maximize", make, builder.cells("cost"))
    tree = ast.parse(write_source(builder.build(), form))
    lists = [ast.literal_eval(node) for node in ast.walk(tree) if isinstance(node, ast.List) and node.elts]
    keys = [list(ast.literal_eval(node)) for node in ast.walk(tree) if isinstance(node, ast.Dict) and node.keys]
    labels = [1, 20, -3, "04", "1.5", "w6", 0]
    # Bounds that are alike are numbers.
    assert re.search(r"(ub|upBound)=9\b|\(0, 9\)", ast.unparse(tree))
    assert labels in lists
    assert labels in keys


def builtin_model(price: float = 11.125, need: float = 3.5) -> IndexedModel:
    """Names of functions and words of Python, data in bounds, costs and rows with factors and constants."""
    builder = IndexedModelBuilder()
    builder.add_set("sum", ["a", "b"])
    builder.add_set("len", ["1", "2", "3"])
    builder.add_parameter("unused", ["sum"], [1.0, 2.0])
    builder.add_parameter("print", ["sum"], [price, 13.0])
    builder.add_parameter("max", ["len"], [need, 4.0, 6.5])
    keys = [(one, other) for one in ("a", "b") for other in ("1", "2", "3")]
    places = [0, 0, 0, 1, 1, 1]
    x = builder.add_variables("for", ["sum", "len"], high=builder.cells("max", [(key[1],) for key in keys]) + 2.0)
    y = builder.add_variables("2 y", ["sum"], low=-builder.cells("print"), high=[50.0, 60.0])
    z = builder.add_variables("m", [], high=7.0)
    builder.add_rows(
        "range", ["len"], "<=", rows=[0, 1, 2] * 2, columns=x, values=[1.0] * 6, rhs=2.0 * builder.cells("max") + 1.0,
    )  # fmt: skip
    builder.add_rows(
        "list", ["sum"], ">=", rows=[*places, 0, 1, 0, 1], columns=[*x, *y, z[0], z[0]],
        values=[1.0] * 6 + [-1.0, -1.0, 3.0, 3.0], rhs=-2.0,
    )  # fmt: skip
    builder.add_rows(
        "mixed", ["len"], relation="=", rows=[0, 1, 2], columns=x[:3], values=[1.0, 2.0, 3.0], rhs=[1.0, 2.0, 4.0]
    )
    builder.set_objective("min", "maximize", y, -0.5 * builder.cells("print") + 30.0, constant=2.0)
    builder.set_objective("min", "maximize", [*x, *z], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -1.0])
    return builder.build()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", SOURCES)
def test_names_of_python_and_figures_from_data_are_written(form: str, tmp_path: Path) -> None:
    check_source(builtin_model(), form, tmp_path)
    source = write_source(builtin_model(), form).rpartition("\n\n")[0]
    # A change of the data in the source changes the model as a change of its data does.
    assert source.count("11.125") == source.count("3.5") == 1
    changed = source.replace("11.125", "12.25").replace("3.5", "4.75")
    written = snapshot_of(form, run_source(changed)["m"], small_recorder(tmp_path))
    again = assemble(read_model(written.to_text().encode())).model
    for first, second in zip(matrix_of(again), matrix_of(builtin_model(12.25, 4.75)), strict=True):
        if not isinstance(first, str):
            np.testing.assert_allclose(np.array(first, dtype=float), np.array(second, dtype=float))
    assert optimum(again) == pytest.approx(optimum(builtin_model(12.25, 4.75)))
    assert "unused" not in source


@pytest.mark.parametrize("form", SOURCES)
def test_sources_hide_no_name_of_python(form: str) -> None:
    source = write_source(builtin_model(), form)
    assert "None" not in source.splitlines()
    tree = ast.parse(source)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assert names
    assert not names & set(dir(builtins))
    # Variables and rows of Pyomo are attributes of the model, where names of Python stay.
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert ({"range", "list"} <= attributes) is (form == "pyomo")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"), (-2.0, "-2"), (0.0, "0"), (2.5, "2.5"), (-0.125, "-0.125"), (1e15 - 1, "999999999999999"), (1e15, repr(1e15)),
        (-1e15, repr(-1e15)), (-1e18, "-1e+18"), (np.inf, "math.inf"), (-np.inf, "-math.inf"),
    ],
)  # fmt: skip
def test_numbers_of_sources_are_short(value: float, text: str) -> None:
    assert number(value) == text
    if np.isinf(value):
        assert number(value, "None") == "None"
        assert number(value, "INF") == ("INF" if value > 0 else "-INF")


@pytest.mark.parametrize("length", [8, 13, 40, 120])
def test_long_lists_and_sums_of_sources_are_broken_between_their_parts(length: int) -> None:
    items = ["x" * length] * 40
    text = _wrapped("[", items, "]")
    lines = text.splitlines()
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(f"[{', '.join(items)}]"))
    assert all(len(line) <= WIDTH for line in lines) or length > WIDTH
    # Each line is full: the first item of the next one has no room.
    for line, following in itertools.pairwise(lines[1:-1]):
        assert len(line) + 1 + len(following.split(",")[0].strip()) + 1 > WIDTH
    terms = ["a", "-b", *items]
    assert ast.dump(ast.parse(_added(terms))) == ast.dump(ast.parse(f"a - b + {' + '.join(items)}"))
    assert len(_added(terms).splitlines()) == len(terms) + 2
    # As long as a line may be, and longer by one.
    for size, is_broken in ((WIDTH, False), (WIDTH + 1, True)):
        pair = ["y" * 20, "z" * (size - 20 - len(" + "))]
        assert ("\n" in _added(pair)) == is_broken
        pair = ["y" * 20, "z" * (size - 20 - len("[, ]"))]
        assert ("\n" in _wrapped("[", pair, "]")) == is_broken
        assert "\n" not in _added(["z" * size])
        assert _added([]) == ""


def test_names_that_become_equal_have_numbers() -> None:
    builder = IndexedModelBuilder()
    names = ["a b", "a-b", "a.b", "a,b", "a_b", "2 x", "é 1", "+", "1"]
    for name in names:
        builder.add_variables(name, [])
    tree = ast.parse(write_source(builder.build(), "gurobipy"))
    stored = [node.targets[0].id for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    written = ["a_b", "a_b_", "a_b_2", "a_b_3", "a_b_4", "variables_2_x", "é_1", "variables", "variables_1"]
    assert [name for name in stored if name != "m"] == written


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", SOURCES)
def test_names_of_a_library_are_not_replaced(form: str, tmp_path: Path) -> None:
    builder = IndexedModelBuilder("clear")
    builder.add_set("name", ["a", "b"])
    builder.add_parameter("value", ["name"], [2.0, 3.0])
    x = builder.add_variables("component", ["name"], high=4.0)
    builder.add_rows("write", ["name"], "<=", rows=[0, 1], columns=x, rhs=builder.cells("value"))
    builder.set_objective("display", "maximize", x, builder.cells("value"))
    model = builder.build()
    check_source(model, form, tmp_path)
    source = write_source(model, form)
    assert snapshot_of(form, run_source(source.rpartition("\n\n")[0])["m"], small_recorder(tmp_path)).name == "clear"
    whole = write_source(replace(model, integer=np.ones(2, dtype=bool)), form)
    assert ("GLOP" in source, "GSCIP" in whole) == (form == "mathopt", form == "mathopt")


def test_only_families_with_chosen_keys_have_a_condition() -> None:
    def source(keys: list[tuple[str, ...]] | None) -> str:
        builder = IndexedModelBuilder()
        builder.add_set("city", ["A", "B", "C"])
        ship = builder.add_variables("ship", ["city"], keys=keys)
        builder.add_variables("fixed", [])
        builder.add_rows("all", [], "<=", columns=ship, rhs=7.0)
        return write_source(builder.build(), "pulp")

    assert " if " not in source(None)
    assert " if " in source([("A",), ("B",)])
