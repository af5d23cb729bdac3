"""A revision as data: what it adds to a model and takes from it, in figures that stand in the revised data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from oragent.milp.model import Milp, Relation, Row, Variable
from oragent.workspace.revisions import Diff, RevisionOperation


@dataclass(frozen=True)
class Coefficient:
    """A coefficient: a constant, and parameters of the revised data times factors.

    Attributes:
        constant: Part that no parameter changes.
        factors: Factor of each parameter.
    """

    constant: float = 0.0
    factors: Mapping[str, float] = field(default_factory=dict)

    def at(self, values: Mapping[str, float]) -> float:
        """Its value where the parameters have these."""
        return self.constant + sum(factor * values[name] for name, factor in self.factors.items())

    def program(self) -> str:
        """It as a Python expression over a dict ``p`` of parameters."""
        parts = [repr(self.constant)] if self.constant or not self.factors else []
        parts += [
            f"p[{name!r}]" if factor == 1 else f"{factor!r} * p[{name!r}]" for name, factor in self.factors.items()
        ]
        return " + ".join(parts)


@dataclass(frozen=True)
class NewParameter:
    """A figure that a revision brings.

    Attributes:
        name: Name in the revised data and documents.
        value: Value in force.
        neutral: Value at which the revised model has the original's optimum, together with the other neutral ones.
        unit: Unit; never empty.
        meaning: One line.
    """

    name: str
    value: float
    neutral: float
    unit: str
    meaning: str


@dataclass(frozen=True)
class NewRow:
    """A row that a revision adds, or puts in the place of the one with its name.

    Attributes:
        name: Name of the row.
        terms: Coefficient by variable.
        relation: Relation of both sides.
        rhs: Right side.
        sentence: Sentence of the brief that it comes from.
    """

    name: str
    terms: Mapping[str, Coefficient]
    relation: Relation
    rhs: Coefficient
    sentence: str = ""

    def at(self, values: Mapping[str, float]) -> Row:
        """The row where the parameters have these values; terms that vanish are left out."""
        terms = {name: one.at(values) for name, one in self.terms.items()}
        return Row(self.name, {name: value for name, value in terms.items() if value}, self.relation,
                   self.rhs.at(values), self.sentence)  # fmt: skip


@dataclass(frozen=True)
class Patch:
    """All that a revision does to a model.

    Attributes:
        parameters: Figures that it brings.
        variables: Variables that it adds.
        rows: Rows that it adds.
        changed: Rows that take the place of those with their names.
        objective: What is added to the objective's coefficients.
    """

    parameters: tuple[NewParameter, ...] = ()
    variables: tuple[Variable, ...] = ()
    rows: tuple[NewRow, ...] = ()
    changed: tuple[NewRow, ...] = ()
    objective: Mapping[str, Coefficient] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, float]:
        """The parameters as they are in force."""
        return {one.name: one.value for one in self.parameters}

    @property
    def neutral(self) -> dict[str, float]:
        """The parameters at which nothing changes."""
        return {one.name: one.neutral for one in self.parameters}

    @property
    def diff(self) -> Diff:
        """Its operations, counted."""
        counts = {
            RevisionOperation.ADD_VARIABLE: len(self.variables), RevisionOperation.ADD_CONSTRAINT: len(self.rows),
            RevisionOperation.MODIFY_CONSTRAINT: len(self.changed), RevisionOperation.MODIFY_DATA: len(self.parameters),
            RevisionOperation.MODIFY_OBJECTIVE: int(bool(self.objective)),
        }  # fmt: skip
        return Diff(counts)

    def joined(self, other: "Patch") -> "Patch":
        """Both at once; the other's rows that are here already, such as those of a shared indicator, are dropped."""
        names = {one.name for one in self.variables}
        rows = {row.name for row in self.rows}
        known = {one.name for one in self.parameters}
        objective = dict(self.objective)
        for name, figure in other.objective.items():
            before = objective.get(name, Coefficient())
            objective[name] = Coefficient(before.constant + figure.constant, {**before.factors, **figure.factors})
        return replace(
            self,
            parameters=(*self.parameters, *(one for one in other.parameters if one.name not in known)),
            variables=(*self.variables, *(one for one in other.variables if one.name not in names)),
            rows=(*self.rows, *(row for row in other.rows if row.name not in rows)),
            changed=(*self.changed, *other.changed),
            objective=objective,
        )


def apply(patch: Patch, milp: Milp, values: Mapping[str, float]) -> Milp:
    """The revised model where the parameters have these values.

    Raises:
        MilpError: if the patch does not fit the model.
    """
    changed = {row.name: row.at(values) for row in patch.changed}
    rows = [changed.get(row.name, row) for row in milp.rows] + [row.at(values) for row in patch.rows]
    terms = dict(milp.objective.terms)
    for name, figure in patch.objective.items():
        terms[name] = terms.get(name, 0.0) + figure.at(values)
    objective = replace(milp.objective, terms=terms)
    return replace(milp, variables=(*milp.variables, *patch.variables), rows=tuple(rows), objective=objective)


def operations(patch: Patch) -> dict[str, Any]:
    """Each operation by a name, with what shows it in a model: rows, changed rows, and terms of the objective."""
    found: dict[str, Any] = {f"+constraint {row.name}": row for row in patch.rows}
    found |= {f"modify_constraint {row.name}": row for row in patch.changed}
    found |= {f"+variable {one.name}": one for one in patch.variables}
    if patch.diff.uses(RevisionOperation.MODIFY_OBJECTIVE):
        found["modify_objective"] = patch.objective
    return found
