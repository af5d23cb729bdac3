"""Sets of problems with one folder each, in the layout of MIPLIB-NL (Li et al. 2026, arXiv:2602.10450).

A problem's folder has ``instance.json`` with ``abstract_problem`` (the text), ``parameters``, ``files`` (description
and path of each data file below ``data/``) and ``optimal_value``. Its other files are the reference model, which is not
read.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oragent._base.errors import ProblemError
from oragent.formulate.data import DataFile, read_data, read_text, show_path
from oragent.formulate.problem import ProblemText
from oragent_benchmarks.formulate.labelled import Labelled, ProblemSet, label_of, read_figure, slug

INSTANCE, DATA = "instance.json", "data"
# Name of the entry of the parameters in the data, if a file has the name of one of them.
PARAMETERS = "parameters"


def read_folders(path: Path) -> ProblemSet:
    """Read the problems of a folder, of one problem's folder, or of one ``instance.json``.

    Unusable problems are left out and reported.

    Raises:
        ProblemError: The folder has no problem that can be used.
    """
    if path.name == INSTANCE or (path / INSTANCE).is_file():
        files = [path if path.name == INSTANCE else path / INSTANCE]
    else:
        files = sorted(path.glob(f"*/{INSTANCE}"))
    if not files:
        raise ProblemError(f"{show_path(path)}: no problem; expected folders with {INSTANCE}")
    cases, left_out = [], []
    for file in files:
        try:
            cases.append(_read_problem(file))
        except ProblemError as problem:
            left_out.append(f"{slug(file.parent.name)}: {problem}")
    title = f"{len(cases)} problems of {path.name}"
    return ProblemSet(slug(path.stem), title, tuple(cases), tuple(left_out), files[0])


def _read_problem(file: Path) -> Labelled:
    try:
        record = json.loads(read_text(file, "a problem"))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ProblemError(f"{show_path(file)}: not JSON ({type(error).__name__})") from None
    if not isinstance(record, Mapping):
        raise ProblemError(f"{show_path(file)}: expected an object")
    text, answer = record.get("abstract_problem"), read_figure(record.get("optimal_value"))
    if not isinstance(text, str) or not text.strip() or answer is None:
        raise ProblemError(f"{show_path(file)}: expected abstract_problem and optimal_value")
    parameters, files = (_object(record.get(name)) for name in ("parameters", "files"))
    data: dict[str, Any] = {}
    parts = [text]
    notes: list[str] = []
    for name, entry in files.items():
        read = _read_file(file.parent, str(entry.get("path")) if isinstance(entry, Mapping) else str(entry))
        # A file with one table has the name given in the record.
        values = {name: next(iter(read.values.values()))} if len(read.values) == 1 else read.values
        data |= values
        notes += read.notes
        if isinstance(entry, Mapping) and entry.get("description"):
            parts.append(f"Data `{name}`: {entry['description']}")
    if data.keys() & parameters.keys():
        data[PARAMETERS] = dict(parameters)
    else:
        data = {**parameters, **data}
    problem = ProblemText(slug(file.parent.name), "\n\n".join(parts), data, notes=tuple(notes))
    return Labelled(problem, label_of(answer))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _read_file(folder: Path, relative: str) -> DataFile:
    """Read a data file by its path below the problem's folder or its folder of data."""
    for path in (folder / relative, folder / DATA / relative):
        if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
            return read_data(path)
    raise ProblemError(f"{show_path(Path(relative))}: the problem's folder has no such file")
