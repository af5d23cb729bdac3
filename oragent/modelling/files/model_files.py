"""Readers of models and points from untrusted files, and writers of models and solutions."""

import bz2
import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from oragent._base import files
from oragent._base.errors import ModellingError
from oragent._base.text_decoding import decode_leniently, find_encoding
from oragent.modelling.data.display import plain
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.names import read_corrections, with_families
from oragent.modelling.data.solution import Solution
from oragent.modelling.files.nl_text import ENDINGS
from oragent.modelling.files.text_forms import FORMS, from_content, to_text

# Maximum size of a file, in bytes.
MAX_BYTES = 64 << 20
# Endings of job shops as text.
JOB_SHOPS = (".jsp", ".jss", ".txt")
SOLUTION_ENDINGS = (".csv", ".json", ".sol")
PACKED = (".gz", ".bz2")
# LP files that Gurobi writes: with names of its own, and of an irreducible infeasible subset.
LP_ENDINGS = {"rlp": "lp", "ilp": "lp"}
EXPECTED = ".json, .mps, .lp, .rlp or .ilp, the last four also with .gz or .bz2, or .nl to read"
LP_OR_MPS = re.compile(r"\.(lp|rlp|ilp|mps)(\.gz|\.bz2)?$", re.IGNORECASE)
# Beginning of the comments in which oragent keeps names that a form does not allow.
OWN_NAMES = b" oragent variable "
# Window size that makes zlib expect a gzip header.
GZIP = 31


def read(path: Path) -> IndexedModel:
    """Read a model from ``.json``, ``.mps``, ``.lp``, ``.rlp``, ``.ilp``, also packed but JSON, or from ``.nl``.

    Each variable and row of a flat file is a family of its own.

    Raises:
        ModellingError: The file is missing, empty, too large, binary, or not a model. The message starts with its name.
    """
    if path.suffix.lower() == ".nl":
        return _read_nl(path)
    form, content = _form_of(path), read_bytes(path, "a model")
    with naming_file(path):
        if form != "json":
            return from_content(content, form)
        model: IndexedModel = _module("model_json").from_json(content)
        return model


def _module(name: str) -> Any:
    """Import a module of this package, most of which a command does not need."""
    return import_module(f"oragent.modelling.files.{name}")


def _read_nl(path: Path) -> IndexedModel:
    parts = {ending: path.with_suffix(ending) for ending in ENDINGS}
    content = {
        ending: read_bytes(part, "a model").decode("latin-1")
        for ending, part in parts.items()
        if ending == ".nl" or part.is_file()
    }
    reader = "oragent.modelling.files.nl_text:nl_as_lp"
    with naming_file(path):
        try:
            # Few models are in such files, and the sandbox is slow to import.
            sandbox = import_module("oragent.sandbox.reading")
            text = sandbox.read_in_child(reader, json.dumps(content).encode(), "nl", ModellingError)
        except ModellingError as problem:
            # SCIP prints lines of its own before.
            raise ModellingError(str(problem).splitlines()[-1]) from None
        return from_content(text, "lp")


def read_indexed(path: Path) -> IndexedModel:
    """Read a model as ``read`` does. A flat model gets families from its names, with the corrections next to the file.

    Raises:
        ModellingError: The file contains no model. The message begins with its name.
    """
    return with_families(read(path), read_corrections(path))


def read_point(path: Path) -> dict[str, float]:
    """Read the values of a point by variable from a ``.sol`` file, JSON numbers by name, or a ``solution.json``."""
    content = read_bytes(path, "a point")
    with naming_file(path):
        if path.suffix.lower() == ".sol":
            return dict(_module("sol_files").read_sol(decode_leniently(content)).values)
        point: dict[str, float] = _module("solution_json").point_from_json(content)
        return point


@contextmanager
def naming_file(path: Path | str) -> Iterator[None]:
    """Add the name of the file to the beginning of error messages."""
    try:
        yield
    except ModellingError as problem:
        raise ModellingError(f"{plain(str(path), 200)}: {problem}") from None


def _form_of(path: Path) -> str:
    is_packed = path.suffix.lower() in PACKED
    form = Path(path.stem if is_packed else path.name).suffix.lower().lstrip(".")
    form = LP_ENDINGS.get(form, form)
    if form not in FORMS and (form != "json" or is_packed):
        raise ModellingError(f"{plain(str(path), 200)}: expected a file that ends in {EXPECTED}")
    return form


def read_bytes(path: Path, what: str) -> bytes:
    """Read a text file of limited size. A missing, empty, too large or binary file raises ``ModellingError``."""
    with naming_file(path):
        try:
            # Reading a pipe may never end.
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise ModellingError("not a regular file; expected a file to read")
            if path.stat().st_size > MAX_BYTES:
                raise ModellingError(f"{path.stat().st_size:,} bytes; expected at most {MAX_BYTES:,}")
            content = path.read_bytes()
            if path.suffix.lower() in PACKED:
                content = _unpack(content, path.suffix.lower())
        except OSError as problem:
            raise ModellingError(f"{problem.strerror or problem}; expected a file to read") from None
        if not content.strip():
            raise ModellingError(f"empty; expected {what}")
        if b"\0" in content and not find_encoding(content):
            raise ModellingError("binary; expected a text")
    return content


def is_schedule(path: Path) -> bool:
    """Return True for a job shop as text, and for JSON with intervals."""
    if path.is_dir():
        return False
    ending = path.suffix.lower()
    return ending in JOB_SHOPS or (
        ending == ".json" and path.is_file() and b'"intervals"' in read_bytes(path, "a model")
    )


def _unpack(content: bytes, ending: str) -> bytes:
    """Decompress a file by the ending of its name, up to the maximum size of a model."""
    unpacker = bz2.BZ2Decompressor() if ending == ".bz2" else zlib.decompressobj(wbits=GZIP)
    try:
        text = unpacker.decompress(content, MAX_BYTES + 1)
    except (zlib.error, OSError) as problem:
        raise ModellingError(f"damaged, or not a {ending} file: {plain(str(problem))}") from None
    if len(text) > MAX_BYTES:
        raise ModellingError(f"too large once unpacked; expected at most {MAX_BYTES:,} bytes")
    if not unpacker.eof:
        raise ModellingError("damaged: the packed file ends early")
    return text


def write(model: IndexedModel, path: Path) -> None:
    """Write a model as ``.json``, ``.mps``, ``.lp``, or compressed. Only JSON keeps units and meanings.

    Raises:
        ModellingError: The ending of the file's name is unknown.
        OSError: The file cannot be written.
    """
    form = _form_of(path)
    text = _module("model_json").to_json(model) if form == "json" else to_text(model, form)
    pack = {".gz": lambda content: gzip.compress(content, mtime=0), ".bz2": bz2.compress}.get(path.suffix.lower())
    files.replace_file(path, pack(text.encode()) if pack else text)


def check_ending(path: Path) -> None:
    """Raise an error if the ending of a file's name is unknown. Call it before a long search."""
    if path.suffix.lower() not in SOLUTION_ENDINGS:
        raise ModellingError(
            f"{plain(str(path), 200)}: expected a file that ends in {', '.join(SOLUTION_ENDINGS)} for the solution"
        )


def write_solution(model: IndexedModel, solution: Solution, path: Path, source: Path | None = None) -> None:
    """Write a solution as ``.csv`` (variable, value, unit), ``.json`` (all fields) or ``.sol`` (as in MIPLIB).

    A ``.sol`` file contains the names and the encoding of the model's file, except names that look like comments. If
    ``source`` is no LP or MPS file, or was written by oragent, it contains substitutes for all names that LP files do
    not allow. Comments contain the own names.

    Raises:
        ModellingError: The ending is unknown, the solution has no point, or the file cannot be written.
    """
    check_ending(path)
    form = path.suffix.lower()
    if form != ".json" and not solution.status.has_point:
        raise ModellingError(f"{plain(str(path), 200)} not written: the model is {solution.status} and has no values")
    if form == ".sol":
        stand_ins, encoding = _names_for_sol(model, source)
        values = {name: solution.values[name] for name in model.flat_variable_names}
        text: str = _module("sol_files").write_sol(values, solution.objective, stand_ins=stand_ins)
        try:
            content = text.encode(encoding)
        except UnicodeEncodeError:
            content = text.encode()
    elif form == ".csv":
        content = _csv_text(model, solution).encode()
    else:
        fields = _module("solution_json").solution_dict(solution)
        content = (json.dumps(fields, ensure_ascii=False, indent=1) + "\n").encode()
    try:
        files.replace_file(path, content)
    except OSError as problem:
        raise ModellingError(f"cannot write {plain(str(path), 200)}: {problem.strerror or problem}") from None


def _csv_text(model: IndexedModel, solution: Solution) -> str:
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["variable", "value", "unit"])
    for variable in model.variable_records:
        lines.writerow([variable.name, repr(solution.values[variable.name]), variable.unit])
    return out.getvalue()


def _names_for_sol(model: IndexedModel, source: Path | None) -> tuple[Mapping[str, str], str]:
    """Return the substitutes for names in a ``.sol`` file, and its encoding, for a model that was read from a file."""
    stand_ins: Mapping[str, str] = _module("safe_names").SafeNaming.for_model(model).variables
    if source is not None and not source.is_dir() and LP_OR_MPS.search(source.name):
        content = read_bytes(source, "a model")
        if OWN_NAMES not in content:
            # Readers take other lines with these beginnings as comments.
            skipped = {name: stand_in for name, stand_in in stand_ins.items() if name.startswith(("#", "=obj="))}
            return skipped, (find_encoding(content) or "cp1252").removesuffix("-sig")
    return stand_ins, "utf-8"
