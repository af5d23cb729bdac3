"""A problem as a formulation program: what C-P agents edit, and how its variables are found again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class VariableNaming(Protocol):
    """Finds variables of the base model under the names of a program."""

    def __call__(self, name: str) -> str | None:
        """Name of a variable of the base model; None where a program's variable is none of them."""


@dataclass(frozen=True)
class ProgramForm:
    """What a C-P agent gets and what its pipeline needs.

    Attributes:
        mathematics: Base formulation for people.
        source: Base formulation as a program that defines ``formulate(m, data)``.
        data: Data that it is called with, as JSON has them.
        about: Names and indices of the data.
        naming: Names of base variables by the program's.
        prefix: Beginning of the names of variables that decide, each of which must be known; empty: none is such.
    """

    mathematics: str
    source: str
    data: Mapping[str, Any]
    about: str
    naming: VariableNaming
    prefix: str = ""


MODEL_PROGRAM = """import pulp


def formulate(m, data):
    x = {v["id"]: pulp.LpVariable(v["id"], v["low"], v["high"], v["kind"]) for v in data["variables"]}
    m += pulp.lpSum(value * x[id] for id, value in data["cost"].items())  # to be minimised
    for row in data["rows"]:
        left = pulp.lpSum(value * x[id] for id, value in row["terms"].items())
        if row["relation"] == "<=":
            m += left <= row["rhs"]
        elif row["relation"] == ">=":
            m += left >= row["rhs"]
        else:
            m += left == row["rhs"]
"""

MODEL_ABOUT = """- data["variables"]: id, name, low, high (None: no bound) and kind of each; keep the ids as names
- data["rows"]: name, terms by id, relation and rhs of each; data["cost"]: coefficients by id, to be minimised"""


def model_form(milp: Any, mathematics: str) -> ProgramForm:
    """The form of any model."""
    ids = {variable.name: f"v{position}" for position, variable in enumerate(milp.variables, 1)}
    back = {identifier: name for name, identifier in ids.items()}
    sign = milp.sense.sign
    data = {
        "variables": [
            {
                "id": ids[variable.name],
                "name": variable.name,
                "low": _finite_or_none(variable.low),
                "high": _finite_or_none(variable.high),
                "kind": "Integer" if variable.is_integer else "Continuous",
            }
            for variable in milp.variables
        ],
        "rows": [
            {
                "name": row.name,
                "terms": {ids[name]: value for name, value in row.terms.items()},
                "relation": str(row.relation),
                "rhs": row.rhs,
            }
            for row in milp.rows
        ],
        "cost": {ids[name]: sign * value for name, value in milp.objective.terms.items()},
    }
    return ProgramForm(mathematics, MODEL_PROGRAM, data, MODEL_ABOUT, lambda name: back.get(name))


def _finite_or_none(value: float) -> float | None:
    return value if abs(value) < float("inf") else None
