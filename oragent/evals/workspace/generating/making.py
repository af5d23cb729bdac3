"""Make an instance: specification, proven optimum, documents, noise, and a revision that moves the optimum."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pulp

from oragent._base.errors import MilpError, WorkspaceError
from oragent.evals.workspace.business_text import modelling_words
from oragent.evals.workspace.generating.operators import OPERATORS
from oragent.evals.workspace.generating.patches import Patch, apply
from oragent.evals.workspace.generating.sheets import REQUIREMENT, written
from oragent.evals.workspace.generating.sketching import Sketch
from oragent.evals.workspace.generating.stories import STORIES
from oragent.evals.workspace.generating.uses import Base
from oragent.evals.workspace.noise.artifacts import Artifacts, NoiseStep
from oragent.evals.workspace.noise.planting import plant, resolve
from oragent.milp.as_pulp import to_pulp
from oragent.milp.families import FAMILIES
from oragent.milp.model import Milp
from oragent.milp.naming import safe_names
from oragent.milp.solution import Solution, SolveStatus
from oragent.milp.solving import solve
from oragent.workspace import parameters
from oragent.workspace.revisions import Depth, Type
from oragent.workspace.tables import CsvTable

MOVED = 0.01  # relative, that a revision moves the optimum by, at least
SAME = 1e-6
SOLVE_S = 20.0  # of one solve; a revision that takes longer is left aside
TRIES = 40  # sketches of one instance
MOTIVES = (
    "After an incident in the spring, the safety committee has changed one of our rules.",
    "The regulator's new code comes into force next month.",
    "Customers have become more sensitive to how we work, and we have agreed to act on it.",
    "Two contracts with suppliers were renewed, on other terms than before.",
    "A new machine came into service, and with it another way of working.",
    "The market has turned since the plan was first drawn up.",
    "The regions have asked for an even hand, and we have promised one.",
    "Prices went up at the turn of the year.",
)


@dataclass(frozen=True)
class Revised:
    """A revision and what it comes to.

    Attributes:
        operator: Name of the operator.
        type: Its type.
        patch: What it does to the model.
        brief: What the business says of it.
        milp: The revised model.
        optimum: Of the revised model, proven twice.
    """

    operator: str
    type: Type
    patch: Patch
    brief: tuple[str, ...]
    milp: Milp
    optimum: float

    @property
    def depth(self) -> Depth:
        """How deep it goes."""
        return self.patch.diff.depth


@dataclass(frozen=True)
class Made:
    """One instance with all that is known of it.

    Attributes:
        number: Number in its set.
        family: Name of the family.
        size: Size of the instance.
        seed: Seed of the instance.
        milp: The exact model, with identifiers as names.
        labels: What people call each variable.
        optimum: Of the exact model, proven twice.
        clean: Tables and documents without noise.
        noisy: Tables and documents as an agent sees them.
        steps: How the noise is undone.
        revised: The revision.
        revised_noisy: Tables and documents of the revised version.
    """

    number: int
    family: str
    size: int
    seed: int
    milp: Milp
    labels: Mapping[str, str]
    optimum: float
    clean: Artifacts
    noisy: Artifacts
    steps: tuple[NoiseStep, ...]
    revised: Revised
    revised_noisy: Artifacts

    @property
    def title(self) -> str:
        """A line for people."""
        return f"{STORIES[self.family].domain}: {self.family.replace('_', ' ')} {self.number}"


def make(number: int, family: str, size: int, seed: int, noise: int = 3, operators: Sequence[str] = ()) -> Made:
    """Make an instance.

    Args:
        number: Number in its set.
        family: Name of a family of ``milp.families``.
        size: Size as the family counts it.
        seed: Seed; with the same arguments the instance is the same.
        noise: Most kinds of noise.
        operators: Names of operators of revision in the order in which they are tried; none: all, as drawn.

    Raises:
        WorkspaceError: if no revision of it moves the optimum far enough, or two solvers disagree.
        MilpError: if the family refuses seed or size.
    """
    instance = FAMILIES[family](seed, size)
    rng = np.random.default_rng([seed, size, number])
    milp, labels = safe_names(instance.milp)
    solution = solve(milp, SOLVE_S)
    optimum = proven(milp, solution)
    base = Base(milp, solution, labels)
    title = f"{STORIES[family].domain}: request {number}"
    clean = written(STORIES[family], instance.data, title)
    planted = plant(clean, rng, noise)
    if resolve(planted.artifacts, planted.steps) != clean:
        raise WorkspaceError(f"{family} {seed}: the noise cannot be undone; take another seed")
    order = operators or [str(one) for one in rng.permutation(list(OPERATORS))]
    revised = _revised(base, rng, order, f"{family} {seed}")
    return Made(
        number, family, size, seed, milp, labels, optimum, clean, planted.artifacts, planted.steps, revised,
        revised_artifacts(planted.artifacts, revised),
    )  # fmt: skip


def proven(milp: Milp, solution: Solution | None = None) -> float:
    """The optimum, found by two solvers that agree.

    Raises:
        WorkspaceError: if it is not optimal, or they do not.
    """
    solution = solution or solve(milp, SOLVE_S, duals=False)
    if solution.status is not SolveStatus.OPTIMAL or solution.objective is None:
        raise WorkspaceError(f"the model ended {solution.status}; expected an optimum")
    second = _by_cbc(milp)
    if second is not None and not math.isclose(second, solution.objective, rel_tol=SAME, abs_tol=1e-3):
        raise WorkspaceError(f"two solvers disagree: {solution.objective} and {second}; take another seed")
    return solution.objective


def moved(value: float, before: float) -> bool:
    """Whether an optimum has moved far enough to count."""
    return abs(value - before) / max(1.0, abs(before)) > MOVED


def _by_cbc(milp: Milp) -> float | None:
    """The optimum by CBC, which comes with PuLP on most machines; None where it does not run here."""
    problem = to_pulp(milp).problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PuLP 4 has it under another name
        kind = getattr(pulp, "PULP_CBC_CMD", None) or pulp.COIN_CMD
        solver = kind(msg=0, timeLimit=SOLVE_S, gapRel=0)
        try:
            if not solver.available():
                return None
            problem.solve(solver)
        except (pulp.PulpSolverError, OSError):
            return None
    value: float | None = pulp.value(problem.objective) if problem.status == pulp.LpStatusOptimal else None
    return value


def _revised(base: Base, rng: np.random.Generator, operators: Sequence[str], name: str) -> Revised:
    tried = 0
    for operator in operators:
        for sketch in OPERATORS[operator](base, rng):
            tried += 1
            found = _accepted(base, operator, sketch, rng)
            if found is not None:
                return found
            if tried >= TRIES * len(operators):
                break
    raise WorkspaceError(f"{name}: no revision moves the optimum by more than {MOVED:.0%}; take another seed")


def _accepted(base: Base, operator: str, sketch: Sketch, rng: np.random.Generator) -> Revised | None:
    """A sketch whose optimum moves, and whose neutral values bring the original back; None for any other."""
    patch = sketch.patch
    try:
        milp = apply(patch, base.milp, patch.values)
        solution = solve(milp, SOLVE_S, duals=False)
        if solution.status is not SolveStatus.OPTIMAL or solution.objective is None:
            return None
        if not moved(solution.objective, base.optimum) or _too_far(solution.objective, base.optimum):
            return None
        neutral = solve(apply(patch, base.milp, patch.neutral), SOLVE_S, duals=False)
        if neutral.objective is None or not math.isclose(neutral.objective, base.optimum, rel_tol=SAME, abs_tol=1e-6):
            return None
        optimum = proven(milp, solution)
    except (MilpError, WorkspaceError):
        return None
    brief = (MOTIVES[int(rng.integers(len(MOTIVES)))], *sketch.sentences)
    if modelling_words(" ".join(brief)):
        return None
    return Revised(operator, sketch.type, patch, brief, milp, optimum)


def _too_far(value: float, before: float) -> bool:
    """Whether an optimum changes its sign or goes far beyond what a change of business does."""
    return value * before < 0 or abs(value - before) > 2.0 * max(1.0, abs(before))


def revised_artifacts(noisy: Artifacts, revised: Revised) -> Artifacts:
    """What the revised version tells: all of the original, the brief, and the new figures, which no noise hides."""
    table = noisy.tables.get(parameters.FILE, CsvTable(parameters.HEADER, ()))
    new = [
        (one.name, _figure(one.value), one.unit, one.meaning, *("",) * (len(table.header) - len(parameters.HEADER)))
        for one in revised.patch.parameters
    ]
    text = noisy.documents[REQUIREMENT].rstrip("\n")
    brief = "\n".join(["", "", "## What changes", "", *revised.brief, "", _where(revised.patch), ""])
    return noisy.put(parameters.FILE, replace(table, rows=(*table.rows, *new))).put(REQUIREMENT, text + brief)


def _where(patch: Patch) -> str:
    names = ", ".join(f"`{one.name}`" for one in patch.parameters)
    return f"The values of {names} are in `{parameters.FILE}`; all else is as it was."


def _figure(value: float) -> str:
    return f"{value:.10g}"


def describe(made: Made) -> dict[str, Any]:
    """What a table of a set says of an instance."""
    return {
        "number": made.number, "family": made.family, "size": made.size, "operator": made.revised.operator,
        "type": made.revised.type.name, "depth": made.revised.depth.name,
    }  # fmt: skip
