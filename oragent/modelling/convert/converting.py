"""Write an indexed model as a file or as source that runs and has the same optimum."""

from dataclasses import replace
from pathlib import Path

from oragent._base.errors import ModellingError
from oragent._base.files import replace_file
from oragent.modelling.convert.dialects import GurobiWriter, MathOptWriter, PulpWriter, PyomoWriter
from oragent.modelling.convert.feature_source import FeatureWriter, check_features, used_features
from oragent.modelling.convert.structure import StructureReader
from oragent.modelling.convert.writer import SourceWriter
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.files.model_files import write
from oragent.modelling.files.model_json import to_json

SOURCES: dict[str, type[SourceWriter]] = {
    "pulp": PulpWriter,
    "pyomo": PyomoWriter,
    "gurobipy": GurobiWriter,
    "mathopt": MathOptWriter,
}
FILES = {".json": "json", ".lp": "lp", ".mps": "mps"}
FORMS = (*FILES.values(), *SOURCES)


def form_of(path: Path, form: str = "") -> str:
    """Return the form to write: the given one, or the one of the file's ending.

    Raises:
        ModellingError: The form is unknown, or neither the form nor the ending names one.
    """
    chosen = form or FILES.get(path.suffix.lower(), "")
    if chosen not in FORMS:
        complaint = f"{form!r} is no form" if form else f"the ending of {path.name!r} tells no form"
        raise ModellingError(f"{complaint}: expected one of {', '.join(FORMS)}")
    return chosen


def convert_model(model: IndexedModel, path: Path, form: str = "") -> None:
    """Write a model to a file.

    Args:
        model: The model.
        path: The file.
        form: One of ``FORMS``; by default the one of the file's ending.

    Raises:
        ModellingError: The form is unknown, or cannot contain a part of the model.
    """
    chosen = form_of(path, form)
    if chosen in SOURCES:
        replace_file(path, write_source(model, chosen))
    elif chosen == "json":
        replace_file(path, to_json(model))
    else:
        if path.suffix.lower() != f".{chosen}":
            raise ModellingError(f"{path.name!r}: expected a file that ends in .{chosen}")
        write(model, path)


def write_source(model: IndexedModel, form: str) -> str:
    """Return Python source for a modelling library, with loops over sets and data if the families allow it.

    Raises:
        ModellingError: The form is not a library of ``SOURCES``, or the library does not support a part of the model.
    """
    if form not in SOURCES:
        raise ModellingError(f"{form!r} is not a modelling library that can be written; expected {', '.join(SOURCES)}")
    check_features(model, form)
    # Further objectives are statements after the rows.
    first = replace(model, objectives=model.objectives[:1])
    writer = SOURCES[form](StructureReader(first).read())
    if used_features(model):
        features = FeatureWriter(model, form, writer)
        writer.objective_terms += features.objective_terms()
        writer.statements += features.lines()
        writer.has_features = True
    return writer.write()
