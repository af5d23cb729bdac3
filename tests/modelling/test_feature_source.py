"""Sources with quadratic terms, logic and sets run and have the model's optimum; others are refused in one line."""

import itertools
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.capture.assembling import assemble
from oragent.modelling.capture.reading import read_model
from oragent.modelling.convert import SOURCES, convert_model, write_source
from oragent.modelling.convert.feature_source import ABLE
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.features import ModelFeatures, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective
from oragent.modelling.data.names import group_by_names
from oragent.modelling.opening import open_model
from oragent.modelling.operations import ModelSession
from oragent.modelling.solving.model_solving import solve
from tests.modelling.test_convert import PACKAGES, run_source, small_recorder, snapshot_of
from tests.modelling.test_feature_files import GOALS, IN_BOTH, LOGIC, model

PARTS = {**{name: part for name, part in vars(IN_BOTH).items() if part}, **{n: p for n, p in vars(LOGIC).items() if p}}
CASES = [(form, name) for form in SOURCES for name in PARTS if name in ABLE[form]]


@pytest.mark.slow
@pytest.mark.parametrize(("form", "part"), CASES)
def test_sources_with_features_have_the_same_optimum(form: str, part: str, tmp_path: Path) -> None:
    pytest.importorskip(PACKAGES[form])
    pytest.importorskip("gurobipy")
    # A linear objective that the parts change, in a direction in which none of them is unbounded.
    terms = {
        "x": -1.0,
        "y 1": -1.5,
        "z": -0.5,
        "a": 1.0,
        "mx": 0.75,
        "p": -3.0,
        "b": -1.0,
        "c": -1.25,
        "f": 0.3,
        "s": 0.2,
    }
    features = ModelFeatures(**{part: PARTS[part]})
    milp = model(features).with_records(objective=Objective(terms, 5.0))
    best = solve(milp).objective
    convert_model(group_by_names(milp), tmp_path / "model.py", form)
    ended = subprocess.run([sys.executable, "model.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert float(ended.stdout.split()[-1]) == pytest.approx(best, abs=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("form", "part"), [case for case in CASES if case[0] in ("gurobipy", "pyomo")])
def test_sources_with_features_have_the_same_parts(form: str, part: str, tmp_path: Path) -> None:
    pytest.importorskip(PACKAGES[form])
    indexed = group_by_names(model(ModelFeatures(**{part: PARTS[part]})))
    source = write_source(indexed, form).rpartition("\n\n")[0]
    written = snapshot_of(form, run_source(source)["m"], small_recorder(tmp_path))
    again = assemble(read_model(written.to_text().encode())).model
    assert again.shape == indexed.shape

    def parts_of(each: IndexedModel) -> list[tuple[float, float]]:
        """Objective and violation at points in which the columns of both models have equal values."""
        arrays, found = each.to_arrays(), []
        columns = [re.sub(r"[\W_]", "", name) for name in each.flat_variable_names]
        for seed in range(40):
            drawn = np.random.default_rng(seed).integers(0, 4, 60)
            point = np.array([float(drawn[sum(map(ord, name)) % 60]) for name in columns])
            found.append((round(arrays.objective_at(point), 6), round(float(arrays.largest_violation(point)), 6)))
        return found

    assert parts_of(again) == parts_of(indexed)


def test_what_a_library_lacks_is_refused_with_those_that_have_it() -> None:
    for form in SOURCES:
        for name, part in PARTS.items():
            indexed = group_by_names(model(ModelFeatures(**{name: part})))
            if name in ABLE[form]:
                # Other solvers of these libraries do not support such parts.
                solver = {"pyomo": "gurobi_direct", "mathopt": "GSCIP"}.get(form, "")
                assert solver in write_source(indexed, form)
                continue
            with pytest.raises(ModellingError, match="gurobipy") as raised:
                write_source(indexed, form)
            assert "\n" not in str(raised.value)
    # Libraries that have exactly the parts of a model are among those that have them.
    for form in ("pyomo", "mathopt"):
        parts = {name: PARTS[name] for name in ABLE[form] & PARTS.keys()}
        indexed = group_by_names(model(ModelFeatures(**parts)))
        term = replace(indexed.base_objective, quadratic=(QuadraticTerm(0, 0, 1.0),))
        with pytest.raises(ModellingError) as raised:
            write_source(replace(indexed, objectives=(term,)), "pulp")
        named = {name for name in SOURCES if name in str(raised.value)}
        assert named == {"pulp", "gurobipy", form}
    goals = group_by_names(model(ModelFeatures(goals=GOALS)))
    assert "setObjectiveN" in write_source(goals, "gurobipy")
    with pytest.raises(ModellingError, match="goals"):
        write_source(goals, "pulp")
    for at in (0, 1):
        objectives = list(goals.objectives)
        objectives[at] = replace(objectives[at], quadratic=(QuadraticTerm(0, 0, 1.0),))
        with pytest.raises(ModellingError):
            write_source(replace(goals, objectives=tuple(objectives)), "gurobipy")


@pytest.mark.parametrize(
    "order", ["profit then co2", "co2 then profit", "co2 within 3 then profit", "profit + 2 * co2"]
)
def test_objectives_in_order_in_gurobi(order: str, tmp_path: Path) -> None:
    pytest.importorskip("gurobipy")
    builder = IndexedModelBuilder("two")
    builder.add_set("site", "abc")
    columns = builder.add_variables("x", ["site"], high=10, kind="integer")
    builder.add_rows("most", relation="<=", columns=columns, rhs=12)
    builder.add_rows("least", relation=">=", columns=columns, rhs=9)
    builder.set_objective("profit", "maximize", columns, [5.0, 4.0, 3.0])
    builder.set_objective("co2", "minimize", columns, [3.0, 1.0, 1.0])
    session = ModelSession(builder.build())
    session.ask(f"objective {order}")

    def profit(x: Sequence[float]) -> float:
        return 5 * x[0] + 4 * x[1] + 3 * x[2]

    def co2(x: Sequence[float]) -> float:
        return 3 * x[0] + x[1] + x[2]

    points = [x for x in itertools.product(range(11), repeat=3) if 9 <= sum(x) <= 12]
    best = {
        "profit then co2": min(points, key=lambda x: (-profit(x), co2(x))),
        "co2 then profit": min(points, key=lambda x: (co2(x), -profit(x))),
        "co2 within 3 then profit": max((x for x in points if co2(x) <= min(map(co2, points)) + 3), key=profit),
        "profit + 2 * co2": max(points, key=lambda x: profit(x) - 2 * co2(x)),
    }[order]
    source = f"{write_source(session.model, 'gurobipy')}\nprint([v.X for v in m.getVars()])\n"
    ended = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=True)
    x = [float(value) for value in ended.stdout.splitlines()[-1].strip("[]").split(",")]
    assert (profit(x), co2(x)) == pytest.approx((profit(best), co2(best)))
    (tmp_path / "program.py").write_text(source, encoding="utf-8")
    again = ModelSession(open_model(tmp_path / "program.py")).ask("solve")
    assert {part.name: part.value.value for part in again.objectives} == pytest.approx(
        {"profit": profit(best), "co2": co2(best)}
    )


@pytest.mark.parametrize("form", ["pulp", "pyomo", "mathopt"])
def test_the_name_of_the_objective_is_kept(form: str, tmp_path: Path) -> None:
    pytest.importorskip({"pulp": "pulp", "pyomo": "pyomo", "mathopt": "ortools"}[form])
    builder = IndexedModelBuilder("one")
    builder.set_objective("total_cost", "minimize", builder.add_variables("x", low=1), [2.0])
    convert_model(builder.build(), tmp_path / "program.py", form)
    assert open_model(tmp_path / "program.py").objective_record.name == "total_cost"
