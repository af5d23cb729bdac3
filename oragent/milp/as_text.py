"""A model as an MPS or LP file, written and read by HiGHS.

Names that these forms cannot hold stand in comments. Of PuLP's files the comment that gives the sense is honoured; a
constant that PuLP left out of one cannot be told.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import highspy
import numpy as np

from oragent._base.errors import MilpError
from oragent.milp.arrays import Arrays, Sparse
from oragent.milp.highs import as_highs, quiet_engine
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.milp.mps_check import check_mps
from oragent.milp.naming import SafeNaming, free_name, rename_milp

FORMS = {"mps": "*", "lp": "\\"}  # how a comment begins
NOTE = re.compile(r"^[*\\] oragent (variable|row|model|objective) (?:(\S+) )?(\".*\")$", re.MULTILINE)
OBJECTIVE_NAMES = {
    "lp": re.compile(
        r"^[ \t]*(?:maximi[sz]e|maximum|max|minimi[sz]e|minimum|min)\b(?:\s|\\[^\n]*\n)*([^\s:\\]+)[ \t]*:",
        re.MULTILINE | re.IGNORECASE,
    ),
    "mps": re.compile(r"^[ \t]+N[ \t]+(\S+)[ \t]*$", re.MULTILINE),
}
UNNAMED = re.compile(r"obj(?:ective)?|of|r0|z|_*", re.IGNORECASE)  # names that solvers give by themselves
PULP_SENSE = re.compile(r"^\*SENSE:Maximize\s*$", re.MULTILINE | re.IGNORECASE)
LP_ROWS = re.compile(r"^\s*(?:st|s\.t\.|subject\s+to|such\s+that)\s*$", re.MULTILINE | re.IGNORECASE)
LP_REST = re.compile(r"^\s*(?:bounds?|gen\w*|int\w*|bin\w*|semi\w*|sos\d?|end)\s*$", re.MULTILINE | re.IGNORECASE)
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
LP_RANGE = re.compile(
    rf"^[ \t]*(?:(?P<name>[^\s:<>=]+)[ \t]*:)?[ \t]*(?P<low>{NUMBER})[ \t]*<=?"
    rf"(?P<terms>[^<>=:\n]+)<=?[ \t]*(?P<high>{NUMBER})[ \t]*$",
    re.MULTILINE,
)
SECOND = "  \t"  # begins a line that the file itself does not have
MPS_SENSE = re.compile(r"^OBJSENSE", re.MULTILINE)
COMPLAINT = re.compile(r"^ERROR:\s*(?P<what>.*)\n\s*--> .*:(?P<line>\d+):\d+\s*$", re.MULTILINE)
_KINDS = highspy.HighsVarType


def to_text(milp: Milp, form: str) -> str:
    """Write a model; meanings and units are lost.

    Args:
        milp: The model.
        form: ``mps`` or ``lp``.
    """
    naming = SafeNaming.for_milp(milp)
    safe = naming.apply(milp)
    lp = as_highs(_without_idle_columns(Arrays.from_milp(safe)))
    lp.col_names_ = [variable.name for variable in safe.variables]
    lp.row_names_ = [row.name for row in safe.rows] + ["idle_row"] * (
        lp.num_row_ - len(safe.rows)
    )  # it has no limits: dropped when read
    engine = quiet_engine()
    engine.passModel(lp)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"model.{form}"
        engine.writeModel(str(path))
        body = path.read_text()
    return "".join(f"{FORMS[form]} oragent {note}\n" for note in _write_notes(milp, naming, form)) + body


def from_text(text: str, form: str) -> Milp:
    """Read a model; a row with two limits becomes two.

    A broken file may keep the reader busy for ever or bring it down: what comes from elsewhere is read by
    ``oragent.milp.files``, in a process of its own.

    Args:
        text: Of the file.
        form: ``mps`` or ``lp``.

    Raises:
        MilpError: HiGHS cannot read it, or it holds what is no linear model.
    """
    if form == "mps":
        check_mps(text)
    engine = quiet_engine()
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"model.{form}"
        sent = _split_ranges(text) if form == "lp" else text
        path.write_text(sent)
        engine.setOptionValue("log_file", f"{folder}/log")
        engine.setOptionValue("log_to_console", False)
        engine.setOptionValue("output_flag", True)
        status = engine.readModel(str(path))
        log = (Path(folder) / "log").read_text(errors="replace") if (Path(folder) / "log").exists() else ""
    if status == highspy.HighsStatus.kError:
        raise MilpError(
            f"{_describe_failure(log, sent)}not a model in {form.upper()} form: expected linear rows, continuous and "
            "integer variables; no indicators, no special-ordered sets"
        )
    if engine.getModel().hessian_.dim_:
        raise MilpError("the objective is quadratic: expected a linear one")
    names = _read_notes(text)
    milp = _build_milp(engine.getLp(), names["variable"], form)
    if form == "mps" and PULP_SENSE.search(text) and not MPS_SENSE.search(text):
        milp = replace(milp, sense=Sense.MAXIMIZE)
    objective = replace(milp.objective, name=names["objective"].get("", "") or _objective_name(text, form))
    milp = replace(milp, name=names["model"].get("", ""), objective=objective)
    return rename_milp(milp, names["variable"], names["row"])


def _objective_name(text: str, form: str) -> str:
    """The name of the objective in a file, which HiGHS keeps to itself; empty where it says nothing."""
    match = OBJECTIVE_NAMES[form].search(text)
    return match[1] if match and not UNNAMED.fullmatch(match[1]) else ""


def _describe_failure(log: str, sent: str) -> str:
    """What HiGHS says of a file, with the line; empty where it says none, as versions before 1.16 do."""
    match = COMPLAINT.search(log)
    if match is None:
        return ""
    added = sum(text.startswith(SECOND) for text in sent.split("\n")[: int(match["line"]) - 1])
    return f"line {int(match['line']) - added}: {match['what'].strip()}; "


def _without_idle_columns(arrays: Arrays) -> Arrays:
    """A model with a row more, without limits, for variables that are in no row: HiGHS writes them wrongly, or not."""
    idle = np.flatnonzero(np.ones(len(arrays.row_low)) @ abs(arrays.matrix) == 0)
    if not len(idle):
        return arrays
    row = Sparse.from_entries(np.zeros_like(idle), idle, np.ones(len(idle)), (1, len(arrays.cost)))
    return replace(
        arrays,
        matrix=arrays.matrix.stack_rows(row),
        row_low=np.append(arrays.row_low, -np.inf),
        row_high=np.append(arrays.row_high, np.inf),
    )


def _split_ranges(text: str) -> str:
    """An LP file whose rows with two limits, on lines of their own, are split: HiGHS refuses them."""
    start = LP_ROWS.search(text)
    end = LP_REST.search(text, start.end()) if start else None
    if start is None or end is None:
        return text

    def split_row(row: re.Match[str]) -> str:
        label = [f"{row['name']}_{side}: " if row["name"] else "" for side in ("least", "most")]
        return f" {label[0]}{row['terms']} >= {row['low']}\n{SECOND}{label[1]}{row['terms']} <= {row['high']}"

    return text[: start.end()] + LP_RANGE.sub(split_row, text[start.end() : end.start()]) + text[end.start() :]


def _write_notes(milp: Milp, naming: SafeNaming, form: str) -> Iterator[str]:
    if milp.name:
        yield f"model {json.dumps(milp.name)}"
    if milp.objective.name:
        yield f"objective {json.dumps(milp.objective.name)}"
    every = [milp.objective.terms, *(row.terms for row in milp.rows)]
    used = {name for terms in every for name, value in terms.items() if value}
    for variable in milp.variables:
        own = variable.name
        if own in naming.variables or (
            form == "lp" and own not in used
        ):  # LP has no place for a variable without terms
            yield f"variable {naming.variables.get(own, own)} {json.dumps(own)}"
    for own, stand_in in naming.rows.items():
        yield f"row {stand_in} {json.dumps(own)}"


def _read_notes(text: str) -> dict[str, dict[str, str]]:
    """What the comments say: own names by stand-in, of variables, rows, and the model (whose stand-in is empty)."""
    names: dict[str, dict[str, str]] = {"variable": {}, "row": {}, "model": {}, "objective": {}}
    for what, stand_in, name in NOTE.findall(text):
        try:
            names[what][stand_in] = str(json.loads(name))
        except ValueError:
            raise MilpError(f"a comment gives a {what}'s name in a form that is not JSON: mend or remove it") from None
    return names


def _build_milp(lp: Any, noted: Iterable[str], form: str) -> Milp:
    """The model that HiGHS read, and the variables without any term that only comments know of."""
    try:
        columns, rows = list(lp.col_names_), list(lp.row_names_)
    except UnicodeDecodeError:
        raise MilpError("a name is no text in UTF-8: rename it") from None
    kinds = list(lp.integrality_) or [_KINDS.kContinuous] * lp.num_col_
    if any(kind not in (_KINDS.kContinuous, _KINDS.kInteger) for kind in kinds):
        raise MilpError("a variable is semi-continuous: expected continuous and integer ones; add a binary variable")
    variables = tuple(
        Variable(name, low, high, VariableKind.INTEGER if kind == _KINDS.kInteger else VariableKind.CONTINUOUS)
        for name, low, high, kind in zip(columns, lp.col_lower_, lp.col_upper_, kinds, strict=True)
    )
    variables += tuple(Variable(name) for name in noted if name not in columns)
    if not variables:
        raise MilpError(f"not a model in {form.upper()} form: no variable was found in it")
    costs = {name: cost for name, cost in zip(columns, lp.col_cost_, strict=True) if cost}
    sense = Sense.MAXIMIZE if lp.sense_ == highspy.ObjSense.kMaximize else Sense.MINIMIZE
    return Milp(variables, tuple(_build_rows(lp, columns, rows)), Objective(costs, lp.offset_), sense)


def _build_rows(lp: Any, columns: list[str], names: list[str]) -> Iterator[Row]:
    matrix = lp.a_matrix_
    rowwise = matrix.format_ == highspy.MatrixFormat.kRowwise
    width = lp.num_col_ if rowwise else lp.num_row_
    lines = Sparse(np.array(matrix.start_), np.array(matrix.index_), np.array(matrix.value_), width)
    lines = lines if rowwise else lines.transpose()
    taken = set(names)
    for index, (name, low, high) in enumerate(zip(names, lp.row_lower_, lp.row_upper_, strict=True)):
        ends = slice(lines.starts[index], lines.starts[index + 1])
        terms = {columns[i]: float(v) for i, v in zip(lines.columns[ends], lines.values[ends], strict=True)}
        if low == high:
            yield Row(name, terms, Relation.EQUAL, low)
            continue
        both = np.isfinite(low) and np.isfinite(high)
        for limit, relation, suffix in ((low, Relation.AT_LEAST, "least"), (high, Relation.AT_MOST, "most")):
            if np.isfinite(limit):
                yield Row(free_name(f"{name} {suffix}", taken) if both else name, terms, relation, limit)
