"""Models as MPS or LP files. Comments contain names that these formats do not allow.

The comment of PuLP that states the sense is read; a constant that PuLP omitted is lost.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from importlib import import_module
from typing import TYPE_CHECKING

from oragent._base.errors import ModellingError
from oragent._base.text_decoding import decode_mixed, find_encoding
from oragent.modelling.data.features import ModelFeatures
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.solving.linearise import linearise_model

if TYPE_CHECKING:
    from oragent.modelling.files.safe_names import SafeNaming

# Characters that begin a comment.
FORMS = {"mps": "*", "lp": "\\"}
# Modules of readers and writers, which are imported when a file of their form is read or written.
FILES = "oragent.modelling.files"
# Fields of ``ModelFeatures`` that a format can express. Others are written as linear rows.
NATIVE = {"mps": {"quadratic", "quadratic_rows", "indicators", "ordered_sets", "semi_continuous", "goals"}}
NATIVE["lp"] = NATIVE["mps"] | {"piecewise", "absolutes", "extremes", "products"}
NOTE = re.compile(r"^[*\\] oragent (variable|row|model|objective) (?:(\S+) )?(\".*\")$", re.MULTILINE)


def to_text(model: IndexedModel, form: str) -> str:
    """Write a model in the form ``mps`` or ``lp``. Meanings and units are lost.

    Nonlinear parts are written as described in ``text_writers``, or else as linear rows.

    Raises:
        ModellingError: A part cannot be written in either way.
    """
    try:
        if model.staged_features:
            model = _split_features(model, form)
        naming: SafeNaming = import_module(f"{FILES}.safe_names").SafeNaming.for_model(model)
        safe = _with_titles(model.rename(naming.variables, naming.rows), naming.rows)
        body: str = getattr(import_module(f"{FILES}.text_writers"), f"write_{form}")(safe)
    except ModellingError as problem:
        raise ModellingError(
            f"a file of form {form} cannot contain this model, but a .json file can: {problem}"
        ) from None
    return "".join(f"{FORMS[form]} oragent {note}\n" for note in _write_notes(model, naming)) + body


def _split_features(model: IndexedModel, form: str) -> IndexedModel:
    """Return the model with only those features that a format can express. The others become linear rows."""
    features = model.named_features
    native = {name: getattr(features, name) for name in NATIVE[form]}
    if any(goal.priority < 0 for goal in features.goals):
        raise ModellingError(
            "another objective has a lower priority than the model's own one, which a file cannot express"
        )
    rest = {part.name: getattr(features, part.name) for part in fields(features) if part.name not in native}
    if any(rest.values()):
        model, _ = linearise_model(model.with_records(features=ModelFeatures(**rest)))
    return model.with_records(features=ModelFeatures(**native))


def from_content(content: bytes, form: str) -> IndexedModel:
    """Read a model as `from_text` does, from the bytes of a file."""
    encoding = find_encoding(content)
    text = decode_mixed(content) if encoding in ("", "cp1252") else content.decode(encoding)
    if not text:
        raise ModellingError("not a text in UTF-8, UTF-16 or Windows-1252: expected a model")
    return from_text(text, form)


def from_text(text: str, form: str) -> IndexedModel:
    """Read a model. A row with two limits becomes two rows.

    Raises:
        ModellingError: The text is not a model of this form; the message names the line.
    """
    model: IndexedModel = getattr(import_module(f"{FILES}.{form}_reader"), f"read_{form}")(text)
    names = _read_notes(text)
    if names["objective"]:
        model = model.with_records(objective=replace(model.objective_record, name=names["objective"][""]))
    if names["variable"] or names["row"]:
        # Each family has the name of its member.
        model = _with_titles(model.rename(names["variable"], names["row"]).with_records(), names["row"])
    return replace(model, name=names["model"].get("", ""))


def _with_titles(model: IndexedModel, names: Mapping[str, str]) -> IndexedModel:
    """Return the model with other names of its objective and of its other parts than rows."""
    features, objective = model.named_features, model.objective_record
    changes = {}
    for field in fields(features):
        parts = getattr(features, field.name)
        if any(getattr(part, "name", "") in names for part in parts):
            changes[field.name] = tuple(replace(part, name=names.get(part.name, part.name)) for part in parts)
    if not changes and objective.name not in names:
        return model
    objective = replace(objective, name=names.get(objective.name, objective.name))
    return model.with_records(objective=objective, features=replace(features, **changes))


def _write_notes(model: IndexedModel, naming: "SafeNaming") -> Iterator[str]:
    if model.name:
        yield f"model {json.dumps(model.name)}"
    if model.objective_record.name:
        yield f"objective {json.dumps(model.objective_record.name)}"
    for what, stand_ins in (("variable", naming.variables), ("row", naming.rows)):
        for name, stand_in in stand_ins.items():
            yield f"{what} {stand_in} {json.dumps(name)}"


def _read_notes(text: str) -> dict[str, dict[str, str]]:
    """Read the own names of variables, rows and the model from the comments, by substitute.

    The substitutes of the model and of the objective are empty.
    """
    names: dict[str, dict[str, str]] = defaultdict(dict)
    # Searching for a word is much faster than matching the beginning of each line.
    for what, stand_in, name in NOTE.findall(text) if " oragent " in text else ():
        try:
            names[what][stand_in] = str(json.loads(name))
        except ValueError:
            raise ModellingError(
                f"a comment gives a {what}'s name in a form that is not JSON: correct or remove the comment"
            ) from None
    return names
