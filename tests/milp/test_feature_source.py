"""Sources with quadratic terms, logic and sets run and have the model's optimum; others are refused in one line."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from oragent._base.errors import MilpError
from oragent.milp.convert import SOURCES, convert_model, write_source
from oragent.milp.convert.feature_source import ABLE
from oragent.milp.features import ModelFeatures
from oragent.milp.general_solving import solve_general
from oragent.milp.indexed_names import from_milp
from oragent.milp.model import Objective
from tests.milp.test_convert import PACKAGES
from tests.milp.test_feature_files import GOALS, IN_BOTH, LOGIC, model

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
    milp = replace(model(features), objective=Objective(terms, 5.0))
    best = solve_general(milp).objective
    convert_model(from_milp(milp), tmp_path / "model.py", form)
    ended = subprocess.run([sys.executable, "model.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert float(ended.stdout.split()[-1]) == pytest.approx(best, abs=1e-5)


def test_what_a_library_lacks_is_refused_with_those_that_have_it() -> None:
    for form in SOURCES:
        for name, part in PARTS.items():
            indexed = from_milp(model(ModelFeatures(**{name: part})))
            if name in ABLE[form]:
                assert write_source(indexed, form)
                continue
            with pytest.raises(MilpError, match="gurobipy") as raised:
                write_source(indexed, form)
            assert "\n" not in str(raised.value)
    goals = from_milp(model(ModelFeatures(goals=GOALS)))
    assert "setObjectiveN" in write_source(goals, "gurobipy")
    with pytest.raises(MilpError, match="goals"):
        write_source(goals, "pulp")


@pytest.mark.slow
def test_objectives_in_order_in_gurobi(tmp_path: Path) -> None:
    pytest.importorskip("gurobipy")
    milp = model(ModelFeatures(goals=GOALS[:1]))
    best = solve_general(milp)
    source = (
        write_source(from_milp(milp), "gurobipy") + "\nprint([v.X for v in m.getVars() if v.VarName in ('x', 's')])\n"
    )
    ended = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=True)
    x, s = map(float, ended.stdout.splitlines()[-1].strip("[]").split(","))
    assert (x, s) == (pytest.approx(best.values["x"]), pytest.approx(best.values["s"]))
