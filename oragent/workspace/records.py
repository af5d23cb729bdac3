"""Record of the last run: the result of its model, and the files that the program used."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from oragent._base.errors import WorkspaceError
from oragent._base.files import replace_file
from oragent.modelling.data.display import number, quoted, rounded
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Variable
from oragent.modelling.data.names import with_families
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.operations.explanation import explain
from oragent.modelling.operations.outcomes import Outcome, SolveLimits
from oragent.modelling.references.figures import format_figure
from oragent.workspace.reading import read_bytes, read_json, refuse_links, shorten_path
from oragent.workspace.runner import ProgramRun

# Path below the workspace.
RECORD = ".oragent/run.json"
CONFLICT_S = 20.0
# Maximum number of lines of a remedy and of a conflict.
MAX_PARTS = 20


def hash_inputs(files: Mapping[str, Path], opened: Collection[str]) -> dict[str, str]:
    """Return the hash of each file that a program opened. The entry with an empty path is the hash of all file names.

    These tie the record of a run to the present files. Documents and answers do not count as inputs.
    """
    inputs = [path for path in files if not path.startswith(("docs/", "answers/", "requests/"))]
    hashes = {"": hashlib.sha256("\n".join(sorted(inputs)).encode(errors="surrogateescape")).hexdigest()}
    for path in inputs:
        if path in opened:
            hashes[path] = hashlib.sha256(read_bytes(files[path])).hexdigest()
    return hashes


def read_record(folder: Path, files: Mapping[str, Path]) -> dict[str, Any]:
    """Read the record of the present code and data; empty if there is none, or if code or data have changed since."""
    if not (folder / RECORD).is_file():
        return {}
    record = read_json(folder / RECORD)
    inputs = record.get("inputs")
    return record if isinstance(inputs, dict) and inputs == hash_inputs(files, inputs) else {}


def write_record(folder: Path, ran: ProgramRun, files: Mapping[str, Path]) -> None:
    """Write the record of a run in a workspace with these files."""
    refuse_links(folder)
    text = json.dumps(make_record(ran) | {"inputs": hash_inputs(files, ran.opened)}, ensure_ascii=False)
    try:
        (folder / RECORD).parent.mkdir(exist_ok=True)
        replace_file(folder / RECORD, text)
    except OSError as error:
        where = shorten_path(folder / RECORD)
        raise WorkspaceError(f"cannot write {where}: {error.strerror}; make room for it") from None


def make_record(ran: ProgramRun) -> dict[str, Any]:
    """Return the result of the last model of a run; empty without one."""
    last = ran.last_model
    if last is None or last.milp is None or last.solution is None:
        return {}
    milp, solution = last.milp, last.solution
    names = milp.column_names
    return {
        "status": solution.status,
        "objective": solution.objective,
        "unit": milp.objective_record.unit,
        "bound": solution.bound,
        "gap": solution.gap,
        "conflict": list(describe_conflict(milp)) if solution.status is SolveStatus.INFEASIBLE else [],
        "variables": {
            name: {"value": solution.values.get(variable.name), "unit": variable.unit}
            for variable, name in _sort_columns(zip(milp.variable_records, names, strict=True), milp)
        },
    }


def _sort_columns(columns: Iterable[tuple[Variable, str]], milp: IndexedModel) -> list[tuple[Variable, str]]:
    """Return columns in the order in which rows name them, the shortest rows first.

    Libraries may sort variables by name; rows have the order of the program, such as that of its months.
    """
    order: dict[str, int] = {}
    for row in sorted(milp.row_records, key=lambda row: len(row.terms)):
        for name in row.terms:
            order.setdefault(name, len(order))
    return sorted(columns, key=lambda column: order.get(column[0].name, len(order)))


def describe_conflict(milp: IndexedModel) -> Iterator[str]:
    """Describe sufficient changes of right-hand sides, and the rows and bounds that conflict."""
    limits = SolveLimits(seconds=CONFLICT_S)
    explained = explain(with_families(milp), limits, Outcome(SolveStatus.INFEASIBLE))
    remedy, parts = [], []
    if explained.least_total_change is not None:
        least = "The least total change" if explained.proven else "A change, perhaps not the least,"
        total = format_figure(explained.least_total_change)
        remedy.append(f"{least} of right-hand sides that would do: {total} in all.")
    remedy += [
        f"{quoted(change.row)} would have to be {rounded(change.after)}, not {number(change.before)}."
        for change in explained.changes
    ]
    remedy += [f"Alone, {quoted(each.row)} would have to be {rounded(each.after)}." for each in explained.each_alone]
    if explained.conflict:
        count = sum(family.members for family in explained.conflict)
        sure = "without any one of them the rest can" if explained.irreducible else "one of them may be too many"
        parts.append(f"{'This' if count == 1 else f'These {count}'} cannot hold together; {sure}.")
    for family in explained.conflict:
        more = f" and {family.members - len(family.names)} more" if family.members > len(family.names) else ""
        parts.append(f"{family.part}: {', '.join(map(quoted, family.names))}{more}.")
    for texts, word in ((remedy, "changes"), ([*parts, *explained.notes], "parts of the conflict")):
        yield from (f"- {text}" for text in texts[:MAX_PARTS])
        if len(texts) > MAX_PARTS:
            yield f"- and {len(texts) - MAX_PARTS} more {word}"
