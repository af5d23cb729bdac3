"""Optimisation models as data: read, solve and explain them without a language model."""

from typing import TYPE_CHECKING

from oragent._base.lazy_names import import_on_use

if TYPE_CHECKING:
    from oragent.modelling.convert.mathematics import to_latex as to_latex
    from oragent.modelling.convert.mathematics import to_mathml as to_mathml
    from oragent.modelling.convert.pulp_models import from_pulp as from_pulp
    from oragent.modelling.convert.pulp_models import from_pulp_dict as from_pulp_dict
    from oragent.modelling.convert.pulp_models import to_pulp as to_pulp
    from oragent.modelling.data.builder import IndexedModelBuilder as IndexedModelBuilder
    from oragent.modelling.data.flat_model import Milp as Milp
    from oragent.modelling.data.flat_model import Objective as Objective
    from oragent.modelling.data.flat_model import Relation as Relation
    from oragent.modelling.data.flat_model import Row as Row
    from oragent.modelling.data.flat_model import Sense as Sense
    from oragent.modelling.data.flat_model import Variable as Variable
    from oragent.modelling.data.flat_model import VariableKind as VariableKind
    from oragent.modelling.data.indexed import IndexedModel as IndexedModel
    from oragent.modelling.data.solution import TOLERANCES as TOLERANCES
    from oragent.modelling.data.solution import Sensitivity as Sensitivity
    from oragent.modelling.data.solution import Solution as Solution
    from oragent.modelling.data.solution import SolveStatus as SolveStatus
    from oragent.modelling.data.solution import SolveVerdict as SolveVerdict
    from oragent.modelling.data.solution import Source as Source
    from oragent.modelling.data.solution import Tolerance as Tolerance
    from oragent.modelling.data.solution import ValueRange as ValueRange
    from oragent.modelling.files.flat_json import from_json as from_json
    from oragent.modelling.files.flat_json import solution_dict as solution_dict
    from oragent.modelling.files.flat_json import to_json as to_json
    from oragent.modelling.files.model_files import read as read
    from oragent.modelling.files.model_files import write as write
    from oragent.modelling.operations.flat_changes import ChangedPart as ChangedPart
    from oragent.modelling.operations.flat_changes import ModelChange as ModelChange
    from oragent.modelling.operations.flat_changes import apply_changes as apply_changes
    from oragent.modelling.operations.flat_conflicts import InfeasibleSubset as InfeasibleSubset
    from oragent.modelling.operations.flat_conflicts import Nearest as Nearest
    from oragent.modelling.operations.flat_conflicts import conflict as conflict
    from oragent.modelling.operations.flat_conflicts import nearest as nearest
    from oragent.modelling.operations.flat_explanation import ModelRemark as ModelRemark
    from oragent.modelling.operations.flat_explanation import Topic as Topic
    from oragent.modelling.operations.flat_explanation import explain as explain
    from oragent.modelling.operations.inverse_objectives import Inverse as Inverse
    from oragent.modelling.operations.inverse_objectives import inverse as inverse
    from oragent.modelling.operations.inverse_objectives import marginal as marginal
    from oragent.modelling.solving.flat_solving import Breach as Breach
    from oragent.modelling.solving.flat_solving import breaches as breaches
    from oragent.modelling.solving.flat_solving import ray as ray
    from oragent.modelling.solving.flat_solving import solve as solve

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

_MODULES = {
    "Breach": "oragent.modelling.solving.flat_solving",
    "ChangedPart": "oragent.modelling.operations.flat_changes",
    "IndexedModel": "oragent.modelling.data.indexed",
    "IndexedModelBuilder": "oragent.modelling.data.builder",
    "InfeasibleSubset": "oragent.modelling.operations.flat_conflicts",
    "Inverse": "oragent.modelling.operations.inverse_objectives",
    "Milp": "oragent.modelling.data.flat_model",
    "ModelChange": "oragent.modelling.operations.flat_changes",
    "ModelRemark": "oragent.modelling.operations.flat_explanation",
    "Nearest": "oragent.modelling.operations.flat_conflicts",
    "Objective": "oragent.modelling.data.flat_model",
    "Relation": "oragent.modelling.data.flat_model",
    "Row": "oragent.modelling.data.flat_model",
    "Sense": "oragent.modelling.data.flat_model",
    "Sensitivity": "oragent.modelling.data.solution",
    "Solution": "oragent.modelling.data.solution",
    "SolveStatus": "oragent.modelling.data.solution",
    "SolveVerdict": "oragent.modelling.data.solution",
    "Source": "oragent.modelling.data.solution",
    "TOLERANCES": "oragent.modelling.data.solution",
    "Tolerance": "oragent.modelling.data.solution",
    "Topic": "oragent.modelling.operations.flat_explanation",
    "ValueRange": "oragent.modelling.data.solution",
    "Variable": "oragent.modelling.data.flat_model",
    "VariableKind": "oragent.modelling.data.flat_model",
    "apply_changes": "oragent.modelling.operations.flat_changes",
    "breaches": "oragent.modelling.solving.flat_solving",
    "conflict": "oragent.modelling.operations.flat_conflicts",
    "explain": "oragent.modelling.operations.flat_explanation",
    "from_json": "oragent.modelling.files.flat_json",
    "from_pulp": "oragent.modelling.convert.pulp_models",
    "from_pulp_dict": "oragent.modelling.convert.pulp_models",
    "inverse": "oragent.modelling.operations.inverse_objectives",
    "marginal": "oragent.modelling.operations.inverse_objectives",
    "nearest": "oragent.modelling.operations.flat_conflicts",
    "ray": "oragent.modelling.solving.flat_solving",
    "read": "oragent.modelling.files.model_files",
    "solution_dict": "oragent.modelling.files.flat_json",
    "solve": "oragent.modelling.solving.flat_solving",
    "to_json": "oragent.modelling.files.flat_json",
    "to_latex": "oragent.modelling.convert.mathematics",
    "to_mathml": "oragent.modelling.convert.mathematics",
    "to_pulp": "oragent.modelling.convert.pulp_models",
    "write": "oragent.modelling.files.model_files",
}
__getattr__ = import_on_use(__name__, _MODULES)
