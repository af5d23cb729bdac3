"""Operators of revision: what a change of the business does to a model, its sentences, and its neutral values.

Each draws a few candidates, the mildest first; the first whose optimum moves far enough is taken.
"""

from oragent.evals.workspace.generating import charges, limits, scenarios
from oragent.evals.workspace.generating.sketching import Operator

OPERATORS: dict[str, Operator] = {
    "perturbation": limits.perturbation, "weighted objective": charges.weighted, "max-min": charges.max_min,
    "mutual exclusion": limits.exclusion, "shared resource": limits.shared, "dependency": limits.dependency,
    "minimum lot": limits.lot, "fixed cost": charges.fixed_cost, "soft bound": charges.soft_bound,
    "new site": scenarios.new_site, "cardinality": scenarios.cardinality, "carry-over": scenarios.carry_over,
}  # fmt: skip
