"""What a submitted program or answer comes to, as one record of plain data: graded, compared, preserved, scored."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent.evals.workspace.grading import AttemptOutcome, Grade, grade, release_label
from oragent.evals.workspace.instances import GeneratedInstance
from oragent.evals.workspace.judging import Judgement, score
from oragent.evals.workspace.references import Reference
from oragent.evals.workspace.rubric import Rubric
from oragent.evals.workspace.tasks import PROGRAM, WorkspaceTask
from oragent.milp.model import Milp
from oragent.workspace import parameters, tables
from oragent.workspace.comparing import ModelDifference, compare_models, rule_of
from oragent.workspace.layout import Mode
from oragent.workspace.objective import Backing, is_within_tolerance
from oragent.workspace.parameters import locate_cell
from oragent.workspace.reading import list_files, read_text
from oragent.workspace.runner import ProgramRun, ProgramRunner
from oragent.workspace.tables import CsvTable

FUNCTION = re.compile(r"^def (\w+)\(.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
PRESERVED = 1e-4  # relative, of the original's optimum at the revision's neutral values
MOST = 12  # differences that are kept


@dataclass(frozen=True)
class InstanceLabels:
    """What is known of an instance, and by no agent.

    Attributes:
        reference: Reference of a build or revision; None for a question.
        original: Reference of the version before; None where there is none.
        rubric: Rubric of a question; None for any other.
        known: Exact models; None where they are not known, as in the public release.
    """

    reference: Reference | None = None
    original: float | None = None
    rubric: Rubric | None = None
    known: GeneratedInstance | None = None


def programmed(
    task: WorkspaceTask, folder: Path, path: str, labels: InstanceLabels, runner: ProgramRunner
) -> dict[str, Any]:
    """Run and grade a program that was left in a folder.

    Args:
        task: The task.
        folder: Folder in which the agent worked.
        path: Path of the program; empty where there is none.
        labels: Labels of the instance.
        runner: Runner of programs.
    """
    assert labels.reference is not None
    if not path:
        nothing = Grade(task.name, AttemptOutcome.NO_ATTEMPT, False, None, None, "no program")
        return _record(task, nothing, "ApiException", labels)
    ran = runner.run(folder, path)
    found = grade(ran.attempt, labels.reference, labels.original)
    record = _record(task, found, release_label(ran.attempt, found), labels)
    record["differences"] = [str(one) for one in _differences(task, ran, labels)[:MOST]]
    record["missing_operations"] = _missing(task, ran, labels)
    if task.mode is Mode.REVISE:
        record["preserved"] = preserved(folder, path, labels, runner) if labels.known else None
        record["kept"] = _kept(folder, path)
    record["seconds_run"] = ran.wall_s
    return record


def answered(task: WorkspaceTask, answer: str, labels: InstanceLabels, judged: Judgement | None) -> dict[str, Any]:
    """Score an answer.

    Args:
        task: The task.
        answer: The answer; may be empty.
        labels: Labels of the instance.
        judged: Judgement on it; None where nobody judged: then semantic criteria count as missed, and that is said.
    """
    assert labels.rubric is not None
    missed = Judgement({one.id: False for one in labels.rubric.semantic}, {}, None)
    found = score(labels.rubric, answer, judged or missed)
    marks = None if found.marks is None else vars(found.marks)
    return {
        "mode": str(task.mode), "number": task.number, "dimension": labels.rubric.dimension,
        "family": labels.known.domain if labels.known else "", "coverage": found.coverage, "total": found.total,
        "marks": marks, "exact": dict(found.exact), "semantic": dict(found.semantic), "judged": judged is not None,
        "passed": found.coverage >= 35.0 - 1e-9, "outcome": f"{found.coverage:.1f} of 35",
    }  # fmt: skip


def preserved(folder: Path, path: str, labels: InstanceLabels, runner: ProgramRunner) -> bool | None:
    """Whether a revised program at the revision's neutral values gives the original's optimum; None where unknown."""
    known = labels.known
    if known is None:
        return None
    files = list_files(folder)
    place = f"{PROGRAM[Mode.REVISE].partition('/')[0]}/data/{parameters.FILE}"
    if place not in files:
        return None
    table = tables.read_table(read_text(files[place])).table
    if table is None:
        return None
    neutral = {one.name: one.neutral for one in known.figures}
    ran = runner.run(folder, path, {place: tables.write_table(_with(table, neutral))})
    value = ran.printed_objective.value
    return value is not None and is_within_tolerance(value, known.optimum, PRESERVED)


def _with(table: CsvTable, values: Mapping[str, float]) -> CsvTable:
    rows = [
        (row[0], f"{values[row[0].strip()]:.10g}", *row[2:]) if row and row[0].strip() in values else row
        for row in table.rows
    ]
    return CsvTable(table.header, tuple(rows))


def _record(task: WorkspaceTask, found: Grade, label: str, labels: InstanceLabels) -> dict[str, Any]:
    known = labels.known
    return {
        "mode": str(task.mode), "number": task.number, "outcome": str(found.outcome), "passed": found.passed,
        "strict": found.strict, "objective": found.objective, "error": found.error, "note": found.note,
        "backing": None if found.backing is None else str(found.backing), "label": label,
        "unbacked": found.backing in (Backing.OTHER, Backing.NONE),
        "family": known.domain if known else "", "operator": known.revision if known else "",
        "depth": known.depth if known else "", "differences": [], "missing_operations": [], "preserved": None,
        "kept": None,
    }  # fmt: skip


def _differences(task: WorkspaceTask, ran: ProgramRun, labels: InstanceLabels) -> tuple[ModelDifference, ...]:
    """How the submitted model differs from the exact one, where that is known."""
    known, last = labels.known, ran.last_model
    if known is None or last is None or last.milp is None:
        return ()
    return compare_models(
        last.milp, _exact(task, known), lambda hint, value: locate_cell(_grid(task, known), hint, value)
    )


def _exact(task: WorkspaceTask, known: GeneratedInstance) -> Milp:
    return known.revised if task.mode is Mode.REVISE else known.milp


def _grid(task: WorkspaceTask, known: GeneratedInstance) -> dict[str, CsvTable]:
    """The tables in which a figure may stand; of a revision, with the figures that it brings."""
    found = dict(known.tables)
    if task.mode is Mode.REVISE:
        rows = tuple((one.name, f"{one.value:.10g}", one.unit, one.meaning) for one in known.figures)
        base = found.get(parameters.FILE)
        found[parameters.FILE] = CsvTable(parameters.HEADER, (*(base.rows if base else ()), *rows))
    return found


def _missing(task: WorkspaceTask, ran: ProgramRun, labels: InstanceLabels) -> list[str]:
    """Operations of the revision that the submitted model lacks: an incomplete revision names them."""
    known, last = labels.known, ran.last_model
    if task.mode is not Mode.REVISE or known is None or last is None or last.milp is None:
        return []
    differences = compare_models(last.milp, known.revised)
    wrong = {rule_of(one.name) for one in differences if one.name}
    objective = any("objective" in one.text for one in differences)
    return [
        name for name in known.operations
        if name.partition(" ")[2] in wrong or (name == "modify_objective" and objective)
    ]  # fmt: skip


def _functions(source: str) -> dict[str, str]:
    """Return the functions at the top of a program by name, white space aside; nothing is parsed."""
    return {match[1]: " ".join(match[0].split()) for match in FUNCTION.finditer(source)}


def _kept(folder: Path, path: str) -> float | None:
    """Share of the original program's functions that the revised one still has, word for word; None without one."""
    files = list_files(folder)
    before: dict[str, str] = {}
    for name, place in files.items():
        if name.startswith("original/src/") and name.endswith(".py"):
            before |= _functions(read_text(place))
    if not before or path not in files:
        return None
    after = _functions(read_text(files[path]))
    return sum(after.get(name) == text for name, text in before.items()) / len(before)
