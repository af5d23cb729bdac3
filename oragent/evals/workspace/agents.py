"""Agents that need no model, by their names: ``oracle``, ``copy``, ``planted``, ``records``.

They know the exact models of a set, or nothing; in a benchmark they show what the scorers, and nothing else, can tell.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.generating.making import moved
from oragent.evals.workspace.generating.plain_forms import VaultRecord
from oragent.evals.workspace.generating.programs import program
from oragent.evals.workspace.tasks import PROGRAM, WorkspaceTask
from oragent.milp.model import Milp
from oragent.milp.solving import solve
from oragent.workspace.citations import check
from oragent.workspace.explaining import answer
from oragent.workspace.facts import known as known_facts
from oragent.workspace.layout import Mode
from oragent.workspace.reading import walk
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
    name: str, task: WorkspaceTask, folder: Path, known: VaultRecord | None, runner: ProgramRunner
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
        files = walk(folder)
        said = answer(known_facts(folder, files, runner), task.question, runner)
        return AgentWork(answer=said, broken=tuple(str(one) for one in check(said, files)), end="answered from records")
    if name == "copy":
        return _copied(task, folder)
    if name == "records":
        return AgentWork(end="no program: this agent answers questions")
    if known is None:
        raise WorkspaceError(f"the agent {name} has to know exact models, and this set has none; use a generated set")
    path, revised = f"{PROGRAM[task.mode]}/optimization_model.py", task.mode is Mode.REVISE
    if name == "oracle":
        (folder / path).write_text(known.program(revised), encoding="utf-8")
        return AgentWork(path, end="the exact model")
    plant = plants(known, revised)[(task.number - 1) % len(plants(known, revised))]
    (folder / path).write_text(program(plant.milp, known.title), encoding="utf-8")
    return AgentWork(path, planted=f"{plant.kind}: {plant.name}", end="the exact model with one error")


def plants(known: VaultRecord, revised: bool) -> list[Plant]:
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
        if value is not None and moved(value, optimum):
            return plant
    return None


def _rows(milp: Milp) -> Iterator[Plant]:
    for row in milp.rows:
        rows = tuple(one for one in milp.rows if one is not row)
        yield Plant("row", row.name, replace(milp, rows=rows))


def _cells(milp: Milp) -> Iterator[Plant]:
    """One figure of a row, or of the objective, is read wrongly."""
    rng = np.random.default_rng(0)
    for place in rng.permutation(len(milp.rows)):
        row = milp.rows[int(place)]
        for factor in (1.5, 0.5, 3.0):
            if row.rhs:
                yield _with_row(milp, row.name, replace(row, rhs=factor * row.rhs))
            for name, value in row.terms.items():
                if abs(value) != 1.0:
                    yield _with_row(milp, row.name, replace(row, terms={**row.terms, name: factor * value}))
    for name, value in milp.objective.terms.items():
        terms = {**milp.objective.terms, name: 3.0 * value}
        yield Plant("cell", f"objective {name}", replace(milp, objective=replace(milp.objective, terms=terms)))


def _with_row(milp: Milp, name: str, row: object) -> Plant:
    rows = tuple(row if one.name == name else one for one in milp.rows)
    return Plant("cell", name, replace(milp, rows=rows))  # type: ignore[arg-type]  # a Row, as replace gives it


def _operations(known: VaultRecord) -> Iterator[Plant]:
    """One operation of the revision was left out."""
    earlier = {row.name: row for row in known.milp.rows}
    for row in known.patch.rows:
        rows = tuple(one for one in known.revised.rows if one.name != row.name)
        yield Plant("operation", f"+constraint {row.name}", replace(known.revised, rows=rows))
    for row in known.patch.changed:
        rows = tuple(earlier[row.name] if one.name == row.name else one for one in known.revised.rows)
        yield Plant("operation", f"modify_constraint {row.name}", replace(known.revised, rows=rows))
    if known.patch.objective:
        terms = dict(known.milp.objective.terms)
        objective = replace(known.revised.objective, terms=terms)
        yield Plant("operation", "modify_objective", replace(known.revised, objective=objective))


def _copied(task: WorkspaceTask, folder: Path) -> AgentWork:
    """Leave the original as it is."""
    files = walk(folder)
    programs = [path for path in files if re.fullmatch(r"original/src/[^/]+\.py", path)]
    for path in programs:
        (folder / "revised" / path.removeprefix("original/")).write_bytes(files[path].read_bytes())
    main = [path for path in programs if b"OBJECTIVE_VALUE" in files[path].read_bytes()]
    return AgentWork(f"revised/{main[0].removeprefix('original/')}" if main else "", end="the original, as it was")
