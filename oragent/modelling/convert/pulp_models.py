"""Models of PuLP."""

from collections.abc import Iterator, Mapping
from typing import Any

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import quoted
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import INFINITY, Relation, Sense, VariableKind

# PuLP's constants LpMinimize and LpMaximize, and LpConstraintLE, EQ and GE.
SENSES = {1: Sense.MINIMIZE, -1: Sense.MAXIMIZE}
RELATIONS = {-1: Relation.AT_MOST, 0: Relation.EQUAL, 1: Relation.AT_LEAST}
KINDS = {"Continuous": VariableKind.CONTINUOUS, "Integer": VariableKind.INTEGER, "Binary": VariableKind.INTEGER}
# Variable that PuLP adds to an objective without terms.
DUMMY = "__dummy"


def from_pulp(problem: Any) -> IndexedModel:
    """Convert a ``pulp.LpProblem`` to a model, including the constant of the objective.

    Raises:
        ModellingError: The problem has no variable, has special ordered sets, or has figures that are not finite.
    """
    data = problem.toDict() if hasattr(problem, "toDict") else problem.to_dict()
    return from_pulp_dict(data, problem.objective.constant if problem.objective is not None else 0.0)


def from_pulp_dict(data: Any, constant: float = 0.0) -> IndexedModel:
    """Convert the result of ``LpProblem.to_dict()`` to a model.

    Args:
        data: Untrusted data in PuLP's form.
        constant: Constant of the objective, which PuLP omits.

    Raises:
        ModellingError: The data do not have PuLP's form, or contain special ordered sets.
    """
    try:
        if data.get("sos1") or data.get("sos2"):
            raise ModellingError(
                "the problem has special ordered sets; expected only rows: use binary variables instead"
            )
        variables = tuple(read_variable(entry) for entry in data["variables"])
        if len(variables) > 1:
            variables = tuple(
                variable for variable in variables if (variable.name, variable.low, variable.high) != (DUMMY, 0.0, 0.0)
            )
        names, parameters = {variable.name for variable in variables}, data["parameters"]
        objective = Objective(_read_terms(data["objective"]["coefficients"], names), constant)
        rows = tuple(_read_rows(data["constraints"], names))
        return IndexedModel.from_records(
            variables, rows, objective, SENSES[parameters["sense"]], parameters["name"] or ""
        )
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        missing = quoted(f"{type(problem).__name__}: {problem}")
        raise ModellingError(
            f"not a problem as PuLP's to_dict() writes it ({missing}): pass its result unchanged"
        ) from None


def read_variable(entry: Mapping[str, Any]) -> Variable:
    """Read name, bounds and category of a variable in the form of ``LpProblem.to_dict()``."""
    low = -INFINITY if entry["lowBound"] is None else entry["lowBound"]
    high = INFINITY if entry["upBound"] is None else entry["upBound"]
    if entry["cat"] == "Binary":
        low, high = max(low, 0), min(high, 1)
    return Variable(entry["name"], low, high, KINDS[entry["cat"]])


def _read_rows(entries: list[Mapping[str, Any]], names: set[str]) -> Iterator[Row]:
    taken = {entry["name"] for entry in entries}
    unnamed = 0
    for entry in entries:
        name = entry["name"]
        while not name or (entry["name"] is None and name in taken):
            unnamed += 1
            name = f"_C{unnamed}"
        rhs = -entry["constant"] if entry["constant"] else 0.0
        yield Row(name, _read_terms(entry["coefficients"], names), RELATIONS[entry["sense"]], rhs)


def _read_terms(entries: list[Mapping[str, Any]], names: set[str]) -> dict[str, float]:
    terms: dict[str, float] = {}
    for entry in entries:
        if entry["name"] in names or entry["name"] != DUMMY:
            terms[entry["name"]] = terms.get(entry["name"], 0.0) + entry["value"]
    return terms
