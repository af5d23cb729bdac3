"""Thirty models of four modelling libraries and two file formats are verified, half of them with one planted error.

The models are the families, written by ``convert``. The stand-in for the language model writes the checker of the right
model from the text; it never sees the model that is verified.
"""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from oragent.formulate.command import verify_files
from oragent.formulate.options import VerifyCommand
from oragent.formulate.verify import read_given
from oragent.modelling.convert import convert_model
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.names import group_by_names
from oragent.modelling.solving.model_solving import solve
from oragent_benchmarks.families import FAMILIES
from oragent_benchmarks.formulate.mock_models import (
    CHECKER,
    Error,
    errors_of,
    misreadings_of,
    parameters_of,
    plant_error,
)

pytest.importorskip("pyomo")
pytest.importorskip("ortools")

FORMS = (("pulp", "py"), ("pyomo", "py"), ("mathopt", "py"), ("mps", "mps"), ("lp", "lp"))
# in the first one no single error changes the optimum
SEEDS = {"largest_flow": 2}
NAMES = [name for name in FAMILIES if name not in ("facility_location",)]
# One case each of Pyomo and MathOpt is a default test.
FAST = {("blending", True), ("diet", False)}
CASES = [
    pytest.param(
        name,
        FORMS[place % len(FORMS)],
        is_wrong,
        id=f"{name}-{FORMS[place % len(FORMS)][0]}-{'wrong' if is_wrong else 'right'}",
        marks=[] if (name, is_wrong) in FAST else pytest.mark.slow,
    )
    for place, name in enumerate(NAMES)
    for is_wrong in (False, True)
]


def error_that_matters(milp: IndexedModel) -> Error:
    """The first single error that changes the optimum."""
    right = solve(milp, duals=False)
    for error in (*errors_of(milp), *misreadings_of(milp)):
        wrong = solve(plant_error(milp, error), duals=False)
        if wrong.status is not right.status or abs((wrong.objective or 0) - (right.objective or 0)) > 1e-4:
            return error
    raise AssertionError("no error changes the optimum")


def paths_of(columns: Any, path: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    if isinstance(columns, str):
        return {columns: path}
    return {name: keys for key, item in columns.items() for name, keys in paths_of(item, (*path, key)).items()}


def checker_for(gold: IndexedModel, given_columns: Any) -> str:
    """The checker of the right model, which reads the values where the verified model has them."""
    paths = paths_of(given_columns)
    plain = {re.sub(r"\W|_", "", name): path for name, path in paths.items()}
    place_of = {variable.name: plain[re.sub(r"\W|_", "", variable.name)] for variable in gold.variable_records}
    rows = {row.name: (str(row.relation), tuple(row.terms), row.meaning) for row in gold.row_records}
    bounds = {
        variable.name: ("", *(None if abs(end) == float("inf") else end for end in (variable.low, variable.high)),
                        variable.is_integer)
        for variable in gold.variable_records
    }  # fmt: skip
    text = CHECKER.format(parameters=parameters_of(gold), variables=bounds, rows=rows, sense=str(gold.sense))
    head = f"PLACES = {place_of!r}\n\n\ndef find(values, path):\n    for key in path:\n        values = values[key]\n"
    head += "    return values\n\n\n"
    flat = "    values = {name: find(values, path) for name, path in PLACES.items()}\n"
    return head + text.replace("def checks(values, data):\n", f"def checks(values, data):\n{flat}")


@pytest.mark.parametrize(("name", "form", "is_wrong"), CASES)
def test_a_planted_error_is_found_and_a_right_model_is_not_blamed(
    tmp_path: Path, name: str, form: tuple[str, str], is_wrong: bool
) -> None:
    instance = FAMILIES[name](SEEDS.get(name, 1), 4)
    milp = plant_error(instance.milp, error_that_matters(instance.milp)) if is_wrong else instance.milp
    path, story, checker = tmp_path / f"model.{form[1]}", tmp_path / "story.md", tmp_path / "checker.py"
    convert_model(group_by_names(milp), path, form[0])
    story.write_text(instance.text)
    checker.write_text(checker_for(instance.milp, read_given(path).columns))
    console = Console(file=io.StringIO(), width=160)
    code = verify_files(VerifyCommand(story, path, tmp_path / "out", checker=checker), console)
    assert code == (4 if is_wrong else 0), console.file.getvalue()
