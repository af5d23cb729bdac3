"""Classes of models, and products of variables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from oragent.milp.features import QuadraticRow, QuadraticTerm
from oragent.milp.general_solving import solve_general
from oragent.milp.model import Milp, Relation
from oragent.milp.solution import Solution

# Relation of a check with alternative cases.
ANY = "any"


@dataclass(frozen=True)
class ProductTerms:
    """A linear expression and products of two variables: coefficients by variable, and by sorted pair."""

    terms: Mapping[str, float]
    products: Mapping[tuple[str, str], float]

    @classmethod
    def split(cls, terms: Mapping[str, float], pairs: Mapping[str, Sequence[str]]) -> Self:
        """Split terms into linear ones and columns that represent products."""
        products: dict[tuple[str, str], float] = {}
        for name in terms.keys() & pairs.keys():
            first, second = sorted(pairs[name])
            products[first, second] = products.get((first, second), 0.0) + terms[name]
        return cls({name: value for name, value in terms.items() if name not in pairs}, products)

    @property
    def quadratic(self) -> tuple[QuadraticTerm[str], ...]:
        """Return the products as terms of a model."""
        return tuple(QuadraticTerm(*pair, value) for pair, value in sorted(self.products.items()) if value)

    def row(self, name: str, relation: Relation, rhs: float) -> QuadraticRow[str]:
        """Return a row of a model."""
        return QuadraticRow(name, self.terms, self.quadratic, relation, rhs)


def restore_products(milp: Milp, pairs: Mapping[str, Sequence[str]]) -> Milp:
    """Return the model with products of variables instead of the columns that represent them."""
    used = {variable.name for variable in milp.variables} & pairs.keys()
    if not used:
        return milp
    objective = ProductTerms.split(milp.objective.terms, pairs)
    rows, quadratic_rows = [], []
    for row in milp.rows:
        expression = ProductTerms.split(row.terms, pairs)
        if expression.quadratic:
            quadratic_rows.append(expression.row(row.name, row.relation, row.rhs))
        else:
            rows.append(replace(row, terms=expression.terms))
    return replace(
        milp,
        variables=tuple(variable for variable in milp.variables if variable.name not in used),
        rows=tuple(rows),
        objective=replace(milp.objective, terms=objective.terms),
        features=replace(milp.features, quadratic=objective.quadratic, quadratic_rows=tuple(quadratic_rows)),
    )


def solve_model(milp: Milp, limit_s: float, gap: float = 0.0) -> Solution:
    """Solve a model of any class; see ``oragent.milp.general_solving``."""
    return solve_general(milp, limit_s, gap)


def describe_class(milp: Milp) -> str:
    """Return the class of a model, such as ``mixed-integer linear``."""
    features = milp.features
    if features.quadratic_rows:
        kind = "quadratically constrained"
    elif features.quadratic:
        kind = "quadratic"
    elif features.is_linear:
        kind = "linear"
    else:
        kind = "logical"
    binaries = sum(variable.is_within_binary for variable in milp.variables)
    whole = sum(variable.is_integer for variable in milp.variables)
    if not whole:
        return kind
    if whole == len(milp.variables):
        return f"{'binary' if binaries == whole else 'integer'} {kind}"
    return f"mixed-integer {kind}"
