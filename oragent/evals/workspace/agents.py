"""Agents that need no model, by their names: ``oracle``, ``copy``, ``planted``, ``records``.

They know the exact models of a set, or nothing; in a benchmark they show what the scorers, and nothing else, can tell.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.generating import has_moved
from oragent.evals.workspace.instances import GeneratedInstance
from oragent.evals.workspace.tasks import PROGRAM, WorkspaceTask
from oragent.milp.model import Milp
from oragent.milp.solving import solve
from oragent.workspace.citations import check_citations
from oragent.workspace.comparing import rule_of
from oragent.workspace.explaining import answer_question
from oragent.workspace.facts import read_facts as known_facts
from oragent.workspace.layout import Mode
from oragent.workspace.program_codegen import write_program
from oragent.workspace.reading import list_files
from oragent.workspace.roles import AgentWork
from oragent.workspace.runner import ProgramRunner

AGENTS = ("oracle", "copy", "planted", "records")


@dataclass(frozen=True)
class Plant:
    """An error that was put into an exact model.

    Attributes:
        kind: ``row``, ``cell`` or ``operation``.
        name: Name of the row, or of the operation of the revision.
        milp: Model with the error.
    """

    kind: str
    name: str
    milp: Milp


def attempt(
    name: str, task: WorkspaceTask, folder: Path, known: GeneratedInstance | None, runner: ProgramRunner
) -> AgentWork:
    """Do a task by an agent without a model.

    Args:
        name: One of ``AGENTS``.
        task: The task.
        folder: Folder in which it is done.
        known: Exact models of the instance.
        runner: Runner of programs.

    Raises:
        WorkspaceError: if the agent has to know exact models, and the set has none.
    """
    if task.mode is Mode.EXPLAIN:
        if name == "copy":
            return AgentWork(answer=task.question, end="the question, given back")
        files = list_files(folder)
        said = answer_question(known_facts(folder, files, runner), task.question, runner)
        return AgentWork(
            answer=said, broken=tuple(str(one) for one in check_citations(said, files)), end="answered from records"
        )
    if name == "copy":
        return _copied(task, folder)
    if name == "records":
        return AgentWork(end="no program: this agent answers questions")
    if known is None:
        raise WorkspaceError(f"the agent {name} has to know exact models, and this set has none; use a generated set")
    path, revised = f"{PROGRAM[task.mode]}/optimization_model.py", task.mode is Mode.REVISE
    if name == "oracle":
        source = known.programs[1] if revised else write_program(known.milp, known.title)  # build tables have noise
        (folder / path).write_text(source, encoding="utf-8")
        return AgentWork(path, end="the exact model")
    plant = plants(known, revised)[(task.number - 1) % len(plants(known, revised))]
    (folder / path).write_text(write_program(plant.milp, known.title), encoding="utf-8")
    return AgentWork(path, planted=f"{plant.kind}: {plant.name}", end="the exact model with one error")


def plants(known: GeneratedInstance, revised: bool) -> list[Plant]:
    """One error of each kind that is possible, each moving the optimum far enough to fail.

    Raises:
        WorkspaceError: if there is none.
    """
    exact = known.revised if revised else known.milp
    optimum = known.revised_optimum if revised else known.optimum
    kinds = [_operations(known), _rows(exact), _cells(exact)] if revised else [_rows(exact), _cells(exact)]
    found = [one for kind in kinds if (one := _first(kind, optimum)) is not None]
    if not found:
        raise WorkspaceError(f"instance {known.number}: no error that moves the optimum; take another set")
    return found


def _first(candidates: Iterator[Plant], optimum: float) -> Plant | None:
    for plant in candidates:
        value = solve(plant.milp, 20.0, duals=False).objective
        if value is not None and has_moved(value, optimum):
            return plant
    return None


def _rows(milp: Milp) -> Iterator[Plant]:
    """Omit a whole rule, such as all limits of machines."""
    for rule in dict.fromkeys(rule_of(row.name) for row in milp.rows):
        yield Plant("row", rule, _without(milp, rule))


def _without(milp: Milp, rule: str) -> Milp:
    return replace(milp, rows=tuple(row for row in milp.rows if rule_of(row.name) != rule))


def _cells(milp: Milp) -> Iterator[Plant]:
    """One figure of a row, or of the objective, is read wrongly."""
    rng = np.random.default_rng(0)
    for place in rng.permutation(len(milp.rows))[:20]:
        row = milp.rows[int(place)]
        if row.rhs:
            yield _with_row(milp, row.name, replace(row, rhs=3.0 * row.rhs))
    for name, value in list(milp.objective.terms.items())[:20]:
        terms = {**milp.objective.terms, name: 30.0 * value}
        yield Plant("cell", f"objective {name}", replace(milp, objective=replace(milp.objective, terms=terms)))


def _with_row(milp: Milp, name: str, row: object) -> Plant:
    rows = tuple(row if one.name == name else one for one in milp.rows)
    return Plant("cell", name, replace(milp, rows=rows))  # type: ignore[arg-type]  # a Row, as replace gives it


def _operations(known: GeneratedInstance) -> Iterator[Plant]:
    """Omit one operation of the revision."""
    earlier = {row.name: row for row in known.milp.rows}
    for operation in known.operations:
        rule = operation.partition(" ")[2]
        if operation.startswith("+"):
            yield Plant("operation", operation, _without(known.revised, rule))
        elif rule:
            rows = tuple(earlier.get(row.name, row) if rule_of(row.name) == rule else row for row in known.revised.rows)
            yield Plant("operation", operation, replace(known.revised, rows=rows))
        else:
            objective = replace(known.revised.objective, terms=dict(known.milp.objective.terms))
            yield Plant("operation", operation, replace(known.revised, objective=objective))


def _copied(task: WorkspaceTask, folder: Path) -> AgentWork:
    """Leave the original as it is."""
    files = list_files(folder)
    programs = [path for path in files if re.fullmatch(r"original/src/[^/]+\.py", path)]
    for path in programs:
        (folder / "revised" / path.removeprefix("original/")).write_bytes(files[path].read_bytes())
    main = [path for path in programs if b"OBJECTIVE_VALUE" in files[path].read_bytes()]
    return AgentWork(f"revised/{main[0].removeprefix('original/')}" if main else "", end="the original, as it was")
