"""An instance as JSON, for the vault: evaluators and model-free agents read it, nobody else."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from oragent._base.errors import MilpError, WorkspaceError
from oragent.evals.workspace.generating.making import Made
from oragent.evals.workspace.generating.patches import Coefficient, NewParameter, NewRow, Patch
from oragent.evals.workspace.generating.programs import program
from oragent.milp import as_json
from oragent.milp.model import Milp, Relation, Variable, VariableKind
from oragent.workspace import tables
from oragent.workspace.reading import named
from oragent.workspace.tables import CsvTable


@dataclass(frozen=True)
class VaultRecord:
    """What a vault knows of an instance.

    Attributes:
        number: Number in the set.
        family: Family.
        operator: Operator of the revision.
        depth: How deep the revision goes, ``L1`` to ``L5``.
        title: Line for people.
        milp: Exact original.
        revised: Exact revised model.
        patch: What the revision does.
        optimum: Of the original.
        revised_optimum: Of the revised model.
        tables: Clean tables, by file name.
    """

    number: int
    family: str
    operator: str
    depth: str
    title: str
    milp: Milp
    revised: Milp
    patch: Patch
    optimum: float
    revised_optimum: float
    tables: Mapping[str, CsvTable]

    def program(self, revised: bool) -> str:
        """The exact model as a program."""
        return program(self.milp, self.title, self.patch if revised else None)


def to_plain(made: Made) -> dict[str, Any]:
    """An instance as JSON has it, with the record of its noise."""
    patch = made.revised.patch
    return {
        "number": made.number, "family": made.family, "size": made.size, "seed": made.seed, "title": made.title,
        "operator": made.revised.operator, "type": made.revised.type.name, "depth": made.revised.depth.name,
        "optimum": made.optimum, "revised_optimum": made.revised.optimum,
        "milp": as_json.to_dict(made.milp), "revised": as_json.to_dict(made.revised.milp),
        "patch": {
            "parameters": [asdict(one) for one in patch.parameters],
            "variables": [{"name": one.name, "high": one.high if one.is_integer else None,
                           "kind": str(one.kind)} for one in patch.variables],
            "rows": [_row(row) for row in patch.rows], "changed": [_row(row) for row in patch.changed],
            "objective": {name: _figure(one) for name, one in patch.objective.items()},
        },
        "steps": [step.to_json() for step in made.steps],
        "tables": {name: tables.write(table) for name, table in made.clean.tables.items()},
    }  # fmt: skip


def from_plain(plain: Mapping[str, Any], place: object) -> VaultRecord:
    """Read what ``to_plain`` wrote.

    Raises:
        WorkspaceError: if it is none.
    """
    try:
        given = plain["patch"]
        patch = Patch(
            tuple(NewParameter(**one) for one in given["parameters"]),
            tuple(_variable(one) for one in given["variables"]),
            tuple(_from_row(row) for row in given["rows"]), tuple(_from_row(row) for row in given["changed"]),
            {name: Coefficient(one["constant"], one["factors"]) for name, one in given["objective"].items()},
        )  # fmt: skip
        return VaultRecord(
            int(plain["number"]), plain["family"], plain["operator"], plain["depth"], plain["title"],
            as_json.from_dict(plain["milp"]), as_json.from_dict(plain["revised"]), patch,
            float(plain["optimum"]), float(plain["revised_optimum"]),
            {name: _table(text) for name, text in plain["tables"].items()},
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, MilpError) as problem:
        raise WorkspaceError(f"{named(place)} is no record of an instance: {type(problem).__name__}") from None


def _table(text: str) -> CsvTable:
    return tables.read(text).table or CsvTable((), ())


def _variable(plain: Mapping[str, Any]) -> Variable:
    high = float("inf") if plain["high"] is None else plain["high"]
    return Variable(plain["name"], 0.0, high, VariableKind(plain["kind"]))


def _figure(one: Coefficient) -> dict[str, Any]:
    return {"constant": one.constant, "factors": dict(one.factors)}


def _row(row: NewRow) -> dict[str, Any]:
    terms = {name: _figure(one) for name, one in row.terms.items()}
    return {"name": row.name, "terms": terms, "relation": str(row.relation), "rhs": _figure(row.rhs),
            "sentence": row.sentence}  # fmt: skip


def _from_row(plain: Mapping[str, Any]) -> NewRow:
    terms = {name: Coefficient(one["constant"], one["factors"]) for name, one in plain["terms"].items()}
    rhs = Coefficient(plain["rhs"]["constant"], plain["rhs"]["factors"])
    return NewRow(plain["name"], terms, Relation(plain["relation"]), rhs, plain["sentence"])
