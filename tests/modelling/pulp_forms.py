"""Models as problems of PuLP, written here only to read them back."""

import math
from dataclasses import dataclass
from typing import Any

import pulp

from oragent.modelling.convert.pulp_models import RELATIONS, SENSES, from_pulp
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.files.safe_names import SafeNaming


@dataclass(frozen=True)
class PulpForm:
    """A model in PuLP, with substitutes for names that PuLP would change."""

    problem: Any
    naming: SafeNaming

    def to_model(self) -> IndexedModel:
        """Return the model with its own names."""
        back = [{theirs: name for name, theirs in names.items()} for names in (self.naming.variables, self.naming.rows)]
        return from_pulp(self.problem).rename(*back).with_records()


def to_pulp(milp: IndexedModel) -> PulpForm:
    """Build the problem. Names with spaces or signs get substitutes, because PuLP would change them."""
    naming = SafeNaming.for_model(milp)
    safe = milp.rename(naming.variables, naming.rows)
    title = "".join(letter if letter.isalnum() else "_" for letter in milp.name) or "model"
    problem = pulp.LpProblem(title, {ours: theirs for theirs, ours in SENSES.items()}[milp.sense])
    columns = {}
    for variable in safe.variable_records:
        bounds = (bound if math.isfinite(bound) else None for bound in (variable.low, variable.high))
        category = pulp.LpInteger if variable.is_integer else pulp.LpContinuous
        columns[variable.name] = problem.add_variable(variable.name, *bounds, cat=category)
    terms = safe.objective_record.terms
    # Zero costs are included, because PuLP drops variables that occur nowhere.
    costs = {column: terms.get(name, 0.0) for name, column in columns.items()}
    problem += pulp.LpAffineExpression(costs, safe.objective_record.constant)
    relations = {ours: theirs for theirs, ours in RELATIONS.items()}
    for row in safe.row_records:
        expression = pulp.LpAffineExpression({columns[name]: value for name, value in row.terms.items()})
        problem += pulp.LpConstraint(expression, relations[row.relation], row.name, row.rhs)
    return PulpForm(problem, naming)
