"""Read and write indexed models. Models in flat files get families from their names."""

from pathlib import Path

from oragent._base.errors import ModellingError
from oragent._base.files import replace_file
from oragent.modelling.data.display import plain
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.names import from_milp, read_corrections
from oragent.modelling.files.indexed_json import indexed_from_json, indexed_to_json
from oragent.modelling.files.model_files import read, read_bytes


def read_indexed(path: Path) -> IndexedModel:
    """Read a model of any form. A flat model gets families from its names and from the file of corrections next to it.

    Raises:
        ModellingError: The file contains no model. The message begins with its name.
    """
    if path.suffix.lower() != ".json":
        return from_milp(read(path), read_corrections(path))
    content = read_bytes(path, "a model")
    try:
        return indexed_from_json(content, read_corrections(path))
    except ModellingError as problem:
        raise ModellingError(f"{plain(str(path), 200)}: {problem}") from None


def write_indexed(model: IndexedModel, path: Path) -> None:
    """Write a model as JSON, version 2."""
    replace_file(path, indexed_to_json(model))
