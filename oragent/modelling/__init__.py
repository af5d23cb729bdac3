"""Optimisation models as data: read, solve and explain them without a language model."""

from oragent.modelling.convert.mathematics import to_latex, to_mathml
from oragent.modelling.convert.pulp_models import from_pulp, from_pulp_dict, to_pulp
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.flat_model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import (
    TOLERANCES,
    Sensitivity,
    Solution,
    SolveStatus,
    SolveVerdict,
    Source,
    Tolerance,
    ValueRange,
)
from oragent.modelling.files.flat_json import from_json, solution_dict, to_json
from oragent.modelling.files.model_files import read, write
from oragent.modelling.operations.flat_changes import ChangedPart, ModelChange, apply_changes
from oragent.modelling.operations.flat_conflicts import InfeasibleSubset, Nearest, conflict, nearest
from oragent.modelling.operations.flat_explanation import ModelRemark, Topic, explain
from oragent.modelling.operations.inverse_objectives import Inverse, inverse, marginal
from oragent.modelling.solving.flat_solving import Breach, breaches, ray, solve

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
