"""Optimisation models as data: read, solve and explain them without a language model."""

from oragent.milp.as_json import from_json, solution_dict, to_json
from oragent.milp.as_pulp import from_pulp, from_pulp_dict, to_pulp
from oragent.milp.changes import ChangedPart, ModelChange, apply_changes
from oragent.milp.conflicts import InfeasibleSubset, Nearest, conflict, nearest
from oragent.milp.explanation import ModelRemark, Topic, explain
from oragent.milp.files import read, write
from oragent.milp.indexed import IndexedModel
from oragent.milp.indexed_builder import IndexedModelBuilder
from oragent.milp.inverses import Inverse, inverse, marginal
from oragent.milp.mathematics import to_latex, to_mathml
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.milp.solution import (
    TOLERANCES,
    Sensitivity,
    Solution,
    SolveStatus,
    SolveVerdict,
    Source,
    Tolerance,
    ValueRange,
)
from oragent.milp.solving import Breach, breaches, ray, solve

__all__ = [
    "TOLERANCES",
    "Breach",
    "ChangedPart",
    "IndexedModel",
    "IndexedModelBuilder",
    "InfeasibleSubset",
    "Inverse",
    "Milp",
    "ModelChange",
    "ModelRemark",
    "Nearest",
    "Objective",
    "Relation",
    "Row",
    "Sense",
    "Sensitivity",
    "Solution",
    "SolveStatus",
    "SolveVerdict",
    "Source",
    "Tolerance",
    "Topic",
    "ValueRange",
    "Variable",
    "VariableKind",
    "apply_changes",
    "breaches",
    "conflict",
    "explain",
    "from_json",
    "from_pulp",
    "from_pulp_dict",
    "inverse",
    "marginal",
    "nearest",
    "ray",
    "read",
    "solution_dict",
    "solve",
    "to_json",
    "to_latex",
    "to_mathml",
    "to_pulp",
    "write",
]
