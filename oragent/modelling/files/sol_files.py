"""Solution files: readers for HiGHS, Gurobi, CPLEX, SCIP, CBC and MIPLIB, and a writer for the last.

Files are untrusted. They are read line by line with a limit on their size, without an XML parser.
"""

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import quoted
from oragent.modelling.data.solution import SolveStatus

NUMBER = r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?)"
PAIR = re.compile(rf"^\s*(?P<name>.+?)\s+(?P<value>{NUMBER})(?:\s+\(obj:.*\))?\s*$", re.IGNORECASE)
CBC_LINE = re.compile(rf"^\s*(?:\*\*)?\s*\d+\s+(?P<name>.+?)\s+(?P<value>{NUMBER})\s+{NUMBER}\s*$", re.IGNORECASE)
CPLEX_VARIABLE = re.compile(r"<variable\b(?P<attributes>[^<>]*)/>")
CPLEX_HEADER = re.compile(r"<header\b(?P<attributes>[^<>]*)/>", re.DOTALL)
ATTRIBUTE = re.compile(r"""([A-Za-z]+)\s*=\s*("[^"]*"|'[^']*')""")
NOTE = re.compile(r"^# oragent variable (\S+) (\".*\")$", re.MULTILINE)
OBJECTIVE = re.compile(rf"(?:=obj=|objective value\s*[:=]?|^Objective)\s*(?P<value>{NUMBER})\s*$", re.MULTILINE | re.I)
# Status words of all these formats.
STATUSES = (
    ("infeasible or unbounded", SolveStatus.UNKNOWN),
    ("infeasible", SolveStatus.INFEASIBLE),
    ("unbounded", SolveStatus.UNBOUNDED),
    ("optimal", SolveStatus.OPTIMAL),
)


@dataclass(frozen=True)
class SolutionFile:
    """Values of a solution file, which are not yet checked against a model."""

    # Values by variable, with the names in the file's comments if there are any.
    values: Mapping[str, float]
    objective: float | None = None
    # Status that the file claims. Unknown without a claim.
    status: SolveStatus = SolveStatus.UNKNOWN
    # True if variables that are not listed are 0, as in SCIP's files.
    is_sparse: bool = False


def read_sol(text: str) -> SolutionFile:
    """Read a solution file of any of the known formats.

    Raises:
        ModellingError: A line has an unknown form, or the file has neither values nor a status.
    """
    own_names = {stand_in: str(_json_name(name)) for stand_in, name in NOTE.findall(text)}
    if text.lstrip().startswith("<?xml") or "<CPLEXSolution" in text:
        values, status, is_sparse = _read_cplex(text), _status_in(_cplex_header(text)), False
    elif "# Primal solution values" in text:
        values, status, is_sparse = _read_highs(text), _status_in(text.partition("# Primal")[0]), False
    else:
        values, status, is_sparse = _read_lines(text)
    match = OBJECTIVE.search(text)
    if not values and status is SolveStatus.UNKNOWN and not is_sparse:
        raise ModellingError("not a solution: expected lines with a variable and a number, or CPLEX's XML")
    named = {own_names.get(name, name): value for name, value in values.items()}
    return SolutionFile(named, float(match["value"]) if match else None, status, is_sparse)


def write_sol(values: Mapping[str, float], objective: float | None, stand_ins: Mapping[str, str]) -> str:
    """Write a solution file in the form of MIPLIB.

    Args:
        values: Values by variable.
        objective: Value of the objective. None omits it.
        stand_ins: Name in the file by original name, for names that the format does not allow. Comments contain the
            original names.
    """
    notes = "".join(f"# oragent variable {stand_in} {json.dumps(name)}\n" for name, stand_in in stand_ins.items())
    head = "" if objective is None else f"=obj= {objective:.10g}"
    lines = (f"{stand_ins.get(name, name)} {value!r}" for name, value in values.items())
    return notes + "\n".join([head, *lines]) + "\n"


def _json_name(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        raise ModellingError(
            "a comment gives a variable's name in a form that is not JSON: repair or remove it"
        ) from None


def _status_in(text: str) -> SolveStatus:
    lowered = text.lower()
    return next((status for word, status in STATUSES if word in lowered), SolveStatus.UNKNOWN)


def _number(text: str, line: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ModellingError(f"{quoted(line)} contains no number: the solution file is damaged") from None


def _read_lines(text: str) -> tuple[dict[str, float], SolveStatus, bool]:
    """Read lines of a name and a value. A first line of another form is a status."""
    values: dict[str, float] = {}
    status, is_sparse, is_cbc = SolveStatus.UNKNOWN, False, False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        lowered = stripped.lower()
        if not stripped or stripped.startswith(("#", "=obj=", "=infeas=")):
            continue
        if lowered.startswith(("solution status", "objective value", "no solution available")):
            is_sparse = True
            if lowered.startswith("solution status"):
                status = _status_in(stripped)
            continue
        if number == 1 and ("objective value" in lowered or lowered.startswith(("infeasible", "unbounded"))):
            status, is_cbc, is_sparse = _status_in(stripped), True, True
            continue
        match = CBC_LINE.match(line) if is_cbc else PAIR.match(line)
        if not match:
            raise ModellingError(f"line {number} of the solution is not a variable and a number: {quoted(stripped)}")
        if match["name"] in values:
            raise ModellingError(f"line {number} of the solution has a second value for {quoted(match['name'])}")
        values[match["name"]] = _number(match["value"], stripped)
    return values, status, is_sparse


def _read_highs(text: str) -> dict[str, float]:
    lines = iter(text.partition("# Primal solution values")[2].splitlines())
    values: dict[str, float] = {}
    for line in lines:
        if not line.startswith("# Columns"):
            continue
        count = int(_number(line.split()[-1], line))
        for _ in range(count):
            pair = next(lines, "")
            match = PAIR.match(pair)
            if not match:
                raise ModellingError(
                    f"the solution file ends or is damaged at {quoted(pair)}: expected {count} columns"
                )
            values[match["name"]] = _number(match["value"], pair)
        break
    return values


def _cplex_header(text: str) -> str:
    match = CPLEX_HEADER.search(text)
    return match["attributes"] if match else ""


def _read_cplex(text: str) -> dict[str, float]:
    values: dict[str, float] = {}
    for match in CPLEX_VARIABLE.finditer(text):
        attributes = {key: html.unescape(value[1:-1]) for key, value in ATTRIBUTE.findall(match["attributes"])}
        if "name" not in attributes or "value" not in attributes:
            raise ModellingError(f"{quoted(match[0])} lacks a name or a value: the solution file is damaged")
        values[attributes["name"]] = _number(attributes["value"], match[0])
    if text.count("<variable ") != len(values) or "</CPLEXSolution" not in text:
        raise ModellingError("the solution file is damaged: it ends early or has a variable twice")
    return values
