"""Grading of submitted programs and scoring of answers. Results are plain data."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from oragent.evals.workspace.exact_instances import ExactInstance
from oragent.evals.workspace.grading import AttemptOutcome, Grade, Reference, grade_attempt, release_label
from oragent.evals.workspace.judging import RubricJudgement, score_answer
from oragent.evals.workspace.printed import Backing, attempt_of, graded_model, parse_run
from oragent.evals.workspace.rubric import Rubric
from oragent.evals.workspace.views import PROGRAM, WorkspaceTask
from oragent.milp.model import Milp
from oragent.workspace import tables
from oragent.workspace.comparing import ModelDifference, compare_models, rule_of
from oragent.workspace.layout import Mode
from oragent.workspace.objective import is_within_tolerance
from oragent.workspace.reading import list_files, read_text
from oragent.workspace.runner import ProgramRun, ProgramRunner
from oragent.workspace.tables import CsvTable, locate_cell

FUNCTION = re.compile(r"^def (\w+)\(.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
# Relative tolerance for the original's optimum at the neutral values of the revision.
PRESERVED = 1e-4
# Maximum number of stored differences.
MOST = 12
# Maximum number of perturbed data sets that are tried until one changes the optimum.
MOST_TRIALS = 6


@dataclass(frozen=True)
class InstanceLabels:
    """Labels of an instance, which no agent sees."""

    # Reference of a build or revision. None for a question.
    reference: Reference | None = None
    # Reference of the version before the revision. None if it does not exist.
    original: float | None = None
    # Rubric of a question. None for other modes.
    rubric: Rubric | None = None
    # Exact models. None if they are unknown, as in the public release.
    instance: ExactInstance | None = None


def grade_program(
    task: WorkspaceTask, folder: Path, path: str, labels: InstanceLabels, runner: ProgramRunner
) -> dict[str, Any]:
    """Run and grade a program in a folder."""
    assert labels.reference is not None
    if not path:
        nothing = Grade(task.name, AttemptOutcome.NO_ATTEMPT, False, None, None, "no program")
        return _make_record(task, nothing, "ApiException", labels)
    ran = runner.run(folder, path)
    attempt = attempt_of(ran)
    graded = grade_attempt(attempt, labels.reference, labels.original)
    record = _make_record(task, graded, release_label(attempt, graded), labels)
    differences = _compare_with_exact(task, ran, labels)
    record["differences"] = [str(difference) for difference in differences[:MOST]]
    if graded.is_passed:
        record["equivalent"] = is_equivalent(task, folder, ran, path, labels, runner)
    else:
        record["equivalent"] = None
    record["missing_operations"] = _missing_operations(task, ran, labels)
    if task.mode is Mode.REVISE:
        if labels.instance:
            record["preserved"] = check_preserved(folder, path, labels, runner)
        else:
            record["preserved"] = None
        record["kept"] = _kept_share(folder, path)
    record["seconds_run"] = ran.cpu_s
    return record


def is_equivalent(
    task: WorkspaceTask, folder: Path, ran: ProgramRun, path: str, labels: InstanceLabels, runner: ProgramRunner
) -> bool | None:
    """Return True if a program models the problem, and does not only reach its optimal value.

    This holds if its model has the rows and figures of the exact one, or if on perturbed data it reaches the optimum of
    the planning team's own program. None without exact models or without noise-free tables.
    """
    known = labels.instance
    if known is None:
        return None
    last = graded_model(ran)
    if last is not None and last.milp is not None and not compare_models(last.milp, _exact_model(task, known)):
        return True
    if task.mode is Mode.REVISE:
        prefix, source = ("revised/", known.programs[1])
    else:
        prefix, source = ("", known.programs[0])
    whole, shown = _figure_tables(task, known), list_files(folder)
    clean = {name: table for name, table in whole.items() if _is_shown(shown, f"{prefix}data/{name}", table)}
    for changed in _perturb(clean):
        texts = {name: tables.write_table(table) for name, table in changed.items()}
        data = {name: tables.write_table(table) for name, table in whole.items()} | texts
        exact = {f"exact/data/{name}": text for name, text in data.items()} | {"exact/src/program.py": source}
        reference = parse_run(runner.run(task.view, "exact/src/program.py", exact)).value
        if task.mode is Mode.REVISE:
            before = known.revised_optimum
        else:
            before = known.optimum
        if reference is None or is_within_tolerance(reference, before, 10 * PRESERVED):
            continue
        after = runner.run(folder, path, {f"{prefix}data/{name}": text for name, text in texts.items()})
        value = parse_run(after).value
        return value is not None and is_within_tolerance(value, reference, PRESERVED)
    return None


def _is_shown(files: Mapping[str, Path], path: str, table: CsvTable) -> bool:
    """Return True if a file contains the table without noise."""
    return path in files and tables.read_table(read_text(files[path])).table == table


def _perturb(clean: Mapping[str, CsvTable]) -> list[dict[str, CsvTable]]:
    """Return perturbed data: first all columns of figures scaled by different factors, then one column at a time."""
    columns = [
        (name, at)
        for name, table in clean.items()
        for at in range(len(table.header))
        if table.rows and all(tables.parse_number(row[at]) is not None for row in table.rows)
    ]
    factors = {column: 1.02 + 0.013 * (number % 5) for number, column in enumerate(columns)}
    trials = [factors, *({column: 1.1} for column in columns)]
    return [
        {
            name: _scale(clean[name], {at: by for (file, at), by in trial.items() if file == name})
            for name in dict.fromkeys(file for file, _ in trial)
        }
        for trial in trials[:MOST_TRIALS]
        if trial
    ]


def _scale(table: CsvTable, factors: Mapping[int, float]) -> CsvTable:
    rows = [
        tuple(
            f"{factors[at] * (tables.parse_number(cell) or 0.0):.10g}" if at in factors else cell
            for at, cell in enumerate(row)
        )
        for row in table.rows
    ]
    return CsvTable(table.header, tuple(rows))


def grade_answer(
    task: WorkspaceTask, answer: str, labels: InstanceLabels, judged: RubricJudgement | None
) -> dict[str, Any]:
    """Score an answer. Without a judgement, semantic criteria count as missed, and the record says so."""
    assert labels.rubric is not None
    missed = RubricJudgement({criterion.id: False for criterion in labels.rubric.semantic}, {}, None)
    scored = score_answer(labels.rubric, answer, judged or missed)
    if scored.marks is None:
        marks = None
    else:
        marks = vars(scored.marks)
    return {
        "mode": str(task.mode),
        "number": task.number,
        "dimension": labels.rubric.dimension,
        "family": labels.instance.domain if labels.instance else "",
        "coverage": scored.coverage,
        "total": scored.total,
        "marks": marks,
        "exact": dict(scored.exact),
        "semantic": dict(scored.semantic),
        "judged": judged is not None,
        "passed": scored.coverage >= 35.0 - 1e-9,
        "outcome": f"{scored.coverage:.1f} of 35",
    }


def check_preserved(folder: Path, path: str, labels: InstanceLabels, runner: ProgramRunner) -> bool | None:
    """Return True if a revised program reaches the original optimum at the neutral values; None if unknown."""
    instance = labels.instance
    if instance is None:
        return None
    files = list_files(folder)
    table_path = f"{PROGRAM[Mode.REVISE].partition('/')[0]}/data/{tables.PARAMETERS_FILE}"
    if table_path not in files:
        return None
    table = tables.read_table(read_text(files[table_path])).table
    if table is None:
        return None
    neutral = {figure.name: figure.neutral for figure in instance.figures}
    ran = runner.run(folder, path, {table_path: tables.write_table(_with_values(table, neutral))})
    value = parse_run(ran).value
    return value is not None and is_within_tolerance(value, instance.optimum, PRESERVED)


def _with_values(table: CsvTable, values: Mapping[str, float]) -> CsvTable:
    rows = [
        (row[0], f"{values[row[0].strip()]:.10g}", *row[2:]) if row and row[0].strip() in values else row
        for row in table.rows
    ]
    return CsvTable(table.header, tuple(rows))


def _make_record(task: WorkspaceTask, grading: Grade, label: str, labels: InstanceLabels) -> dict[str, Any]:
    instance = labels.instance
    return {
        "mode": str(task.mode),
        "number": task.number,
        "outcome": str(grading.outcome),
        "passed": grading.is_passed,
        "strict": grading.strict,
        "objective": grading.objective,
        "error": grading.error,
        "note": grading.note,
        "backing": None if grading.backing is None else str(grading.backing),
        "label": label,
        "unbacked": grading.backing in (Backing.OTHER, Backing.NONE),
        "family": instance.domain if instance else "",
        "operator": instance.revision if instance else "",
        "depth": instance.depth if instance else "",
        "differences": [],
        "missing_operations": [],
        "preserved": None,
        "kept": None,
        "equivalent": None,
    }


def _compare_with_exact(task: WorkspaceTask, ran: ProgramRun, labels: InstanceLabels) -> tuple[ModelDifference, ...]:
    """Compare the submitted model with the exact one, if it is known."""
    instance, last = labels.instance, graded_model(ran)
    if instance is None or last is None or last.milp is None:
        return ()
    locate = partial(locate_cell, _figure_tables(task, instance))
    return compare_models(last.milp, _exact_model(task, instance), locate)


def _exact_model(task: WorkspaceTask, instance: ExactInstance) -> Milp:
    if task.mode is Mode.REVISE:
        return instance.revised
    return instance.milp


def _figure_tables(task: WorkspaceTask, instance: ExactInstance) -> dict[str, CsvTable]:
    """Return the tables that may contain a figure, and the new figures of a revision."""
    grid = dict(instance.tables)
    if task.mode is Mode.REVISE:
        rows = tuple(figure.row for figure in instance.figures)
        base = grid.get(tables.PARAMETERS_FILE)
        grid[tables.PARAMETERS_FILE] = CsvTable(tables.PARAMETERS_HEADER, (*(base.rows if base else ()), *rows))
    return grid


def _missing_operations(task: WorkspaceTask, ran: ProgramRun, labels: InstanceLabels) -> list[str]:
    """List the operations of a revision that the submitted model lacks."""
    instance, last = labels.instance, graded_model(ran)
    if task.mode is not Mode.REVISE or instance is None or last is None or last.milp is None:
        return []
    differences = compare_models(last.milp, instance.revised)
    wrong = {rule_of(difference.name) for difference in differences if difference.name}
    objective = any("objective" in difference.text for difference in differences)
    return [
        name
        for name in instance.operations
        if name.partition(" ")[2] in wrong or (name == "modify_objective" and objective)
    ]


def _split_functions(source: str) -> dict[str, str]:
    """Return the top-level functions of a program by name, without white space. The program is not parsed."""
    return {match[1]: " ".join(match[0].split()) for match in FUNCTION.finditer(source)}


def _kept_share(folder: Path, path: str) -> float | None:
    """Return the share of the original's functions that the revised program keeps unchanged; None without functions."""
    files = list_files(folder)
    functions: dict[str, str] = {}
    for name, file in files.items():
        if name.startswith("original/src/") and name.endswith(".py"):
            functions |= _split_functions(read_text(file))
    if not functions or path not in files:
        return None
    after = _split_functions(read_text(files[path]))
    return sum(after.get(name) == text for name, text in functions.items()) / len(functions)
