"""Optimisation models as data: read, solve and explain them without a language model."""

from typing import TYPE_CHECKING

from oragent._base.lazy_names import import_on_use

if TYPE_CHECKING:
    from oragent.modelling.convert.mathematics import to_latex as to_latex
    from oragent.modelling.convert.mathematics import to_mathml as to_mathml
    from oragent.modelling.convert.pulp_models import from_pulp as from_pulp
    from oragent.modelling.convert.pulp_models import from_pulp_dict as from_pulp_dict
    from oragent.modelling.data.builder import IndexedModelBuilder as IndexedModelBuilder
    from oragent.modelling.data.indexed import IndexedModel as IndexedModel
    from oragent.modelling.data.model_records import Objective as Objective
    from oragent.modelling.data.model_records import Row as Row
    from oragent.modelling.data.model_records import Variable as Variable
    from oragent.modelling.data.model_values import Relation as Relation
    from oragent.modelling.data.model_values import Sense as Sense
    from oragent.modelling.data.model_values import VariableKind as VariableKind
    from oragent.modelling.data.solution import TOLERANCES as TOLERANCES
    from oragent.modelling.data.solution import Sensitivity as Sensitivity
    from oragent.modelling.data.solution import Solution as Solution
    from oragent.modelling.data.solution import SolveStatus as SolveStatus
    from oragent.modelling.data.solution import SolveVerdict as SolveVerdict
    from oragent.modelling.data.solution import Source as Source
    from oragent.modelling.data.solution import Tolerance as Tolerance
    from oragent.modelling.data.solution import ValueRange as ValueRange
    from oragent.modelling.files.model_files import read as read
    from oragent.modelling.files.model_files import write as write
    from oragent.modelling.files.model_json import from_json as from_json
    from oragent.modelling.files.model_json import to_json as to_json
    from oragent.modelling.files.solution_json import solution_dict as solution_dict
    from oragent.modelling.solving.model_solving import Breach as Breach
    from oragent.modelling.solving.model_solving import breaches as breaches
    from oragent.modelling.solving.model_solving import ray as ray
    from oragent.modelling.solving.model_solving import solve as solve

__all__ = [
    "TOLERANCES",
    "Breach",
    "IndexedModel",
    "IndexedModelBuilder",
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
    "ValueRange",
    "Variable",
    "VariableKind",
    "breaches",
    "from_json",
    "from_pulp",
    "from_pulp_dict",
    "ray",
    "read",
    "solution_dict",
    "solve",
    "to_json",
    "to_latex",
    "to_mathml",
    "write",
]

_MODULES = {
    "Breach": "oragent.modelling.solving.model_solving",
    "IndexedModel": "oragent.modelling.data.indexed",
    "IndexedModelBuilder": "oragent.modelling.data.builder",
    "Objective": "oragent.modelling.data.model_records",
    "Relation": "oragent.modelling.data.model_values",
    "Row": "oragent.modelling.data.model_records",
    "Sense": "oragent.modelling.data.model_values",
    "Sensitivity": "oragent.modelling.data.solution",
    "Solution": "oragent.modelling.data.solution",
    "SolveStatus": "oragent.modelling.data.solution",
    "SolveVerdict": "oragent.modelling.data.solution",
    "Source": "oragent.modelling.data.solution",
    "TOLERANCES": "oragent.modelling.data.solution",
    "Tolerance": "oragent.modelling.data.solution",
    "ValueRange": "oragent.modelling.data.solution",
    "Variable": "oragent.modelling.data.model_records",
    "VariableKind": "oragent.modelling.data.model_values",
    "breaches": "oragent.modelling.solving.model_solving",
    "from_json": "oragent.modelling.files.model_json",
    "from_pulp": "oragent.modelling.convert.pulp_models",
    "from_pulp_dict": "oragent.modelling.convert.pulp_models",
    "ray": "oragent.modelling.solving.model_solving",
    "read": "oragent.modelling.files.model_files",
    "solution_dict": "oragent.modelling.files.solution_json",
    "solve": "oragent.modelling.solving.model_solving",
    "to_json": "oragent.modelling.files.model_json",
    "to_latex": "oragent.modelling.convert.mathematics",
    "to_mathml": "oragent.modelling.convert.mathematics",
    "write": "oragent.modelling.files.model_files",
}
__getattr__ = import_on_use(__name__, _MODULES)
