"""A solution written to a file: for a spreadsheet, a program, or another solver."""

import csv
import io
import json
from pathlib import Path

from oragent._base import files
from oragent._base.errors import MilpError
from oragent.milp.as_json import solution_dict
from oragent.milp.model import Milp
from oragent.milp.naming import SafeNaming
from oragent.milp.plain import number, plain
from oragent.milp.solution import Solution

ENDINGS = (".csv", ".json", ".sol")


def check_ending(path: Path) -> None:
    """Refuse a file whose name does not end in a form that can be written; to be called before a long search."""
    if path.suffix.lower() not in ENDINGS:
        raise MilpError(f"{plain(str(path), 200)}: expected a file that ends in {', '.join(ENDINGS)} for the solution")


def write_solution(milp: Milp, solution: Solution, path: Path) -> None:
    """Write a solution as ``.csv`` (variable, value, unit), ``.json`` (everything) or ``.sol`` (as MIPLIB has it).

    In a ``.sol`` file, names that an LP file cannot hold are those that stand in for them there; comments name them.

    Raises:
        MilpError: The name has another ending, there is no point to write, or the file cannot be written.
    """
    check_ending(path)
    form = path.suffix.lower()
    if form != ".json" and not solution.status.has_point:
        raise MilpError(f"{plain(str(path), 200)} not written: the model is {solution.status}, there are no values")
    write = {".csv": _csv, ".json": _json, ".sol": _sol}[form]
    try:
        files.replace(path, write(milp, solution))
    except OSError as problem:
        raise MilpError(f"cannot write {plain(str(path), 200)}: {problem.strerror or problem}") from None


def _csv(milp: Milp, solution: Solution) -> str:
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["variable", "value", "unit"])
    lines.writerows([one.name, repr(solution.values[one.name]), one.unit] for one in milp.variables)
    return out.getvalue()


def _json(milp: Milp, solution: Solution) -> str:
    return json.dumps(solution_dict(solution), ensure_ascii=False, indent=1) + "\n"


def _sol(milp: Milp, solution: Solution) -> str:
    names = SafeNaming.of(milp).variables
    notes = [f"# oragent variable {stand_in} {json.dumps(name)}" for name, stand_in in names.items()]
    head = "" if solution.objective is None else f"=obj= {number(solution.objective)}"
    values = [f"{names.get(one.name, one.name)} {solution.values[one.name]!r}" for one in milp.variables]
    return "\n".join([*notes, head, *values]) + "\n"
