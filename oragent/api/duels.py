"""Decide between two programs, from Python."""

from pathlib import Path

from oragent.api.choices import ProblemChoice, Settings, read_choices, resolve_problem
from oragent.api.experiments import Program, load_program
from oragent.evals.duel.command import write_page
from oragent.evals.duel.contestants import Contestant, find_contestant, find_contestants
from oragent.evals.duel.runner import ROUNDS, Duel, DuelPlan, run_duel
from oragent.evaluation.problem import Problem, evaluation_root, find_project_root
from oragent.search.config import build_config


def duel(
    first: Program,
    second: Program = None,
    *,
    problem: ProblemChoice | None = None,
    on: str = "",
    seeds: int = ROUNDS,
    until: float = 0.01,
    gap: float = 0.0,
    instances: int = 0,
    settings: Settings | None = None,
    root: str | Path | None = None,
    outputs: str | Path | None = None,
) -> Duel:
    """Decide which of two programs is better, like ``oragent duel``; an existing duel in the folder is continued.

    Args:
        first: A word as on the command line, such as ``discovered/NAME`` or the folder of a run; with a problem also a
            program as for ``evaluate``.
        second: As ``first``; None means the seed heuristic.
        problem: Name, folder, or loaded problem.
        on: ``fresh`` or ``practice``, which draw new instances in each round, a named set, or ``test``; empty means
            ``fresh`` where the evaluator has it, else ``test``.
        seeds: Maximum number of rounds with newly drawn instances.
        until: Level of the decision, which holds although the duel ends as soon as it is reached.
        gap: Relative difference within which the programs count as equal.
        instances: Number of instances of each size and round, on ``practice``; 0 means all.
        settings: Settings such as ``workers``, ``cluster`` and ``limits``, as for ``run``.
        root: Project root, as for ``run``.
        outputs: Folder of the duel; None stores nothing.

    Returns:
        The duel: ``verdict`` (``decision``, ``sentence``, interval, p-values, gains by size), ``record``,
        and ``folder`` with ``report.html``.

    Raises:
        OragentError: A program cannot be found or has no score, or the set does not exist.
    """
    base = find_project_root(Path(root) if root else None)
    if problem is None:
        resolved, contestants = find_contestants((str(first), "seed" if second is None else str(second)), None, base)
    else:
        resolved = resolve_problem(problem, base)
        contestants = (_find(first, "first", resolved), _find(second, "second", resolved))
    plan = DuelPlan(
        resolved,
        evaluation_root(resolved, Path(root) if root else None),
        contestants,
        build_config({}, read_choices(None, None, settings, {}, None, None).overrides, "settings"),
        on=on,
        rounds=seeds,
        level=until,
        gap=gap,
        instances=instances,
        folder=Path(outputs) if outputs else None,
    )
    finished = run_duel(plan)
    if finished.folder is not None:
        write_page(finished.folder)
    return finished


def _find(program: Program, default: str, problem: Problem) -> Contestant:
    if program is None:
        return Contestant("seed", problem.seed)
    if isinstance(program, Path) or (isinstance(program, str) and "\n" not in program and "def " not in program):
        return find_contestant(str(program), problem)
    return Contestant(str(getattr(program, "__name__", default)), load_program(program, problem))
