"""Score one heuristic from Python, and list the problems."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from oragent._base.errors import CandidateError
from oragent.api.choices import ProblemChoice, resolve_problem
from oragent.api.functions import source_of
from oragent.evaluation import Evaluation, EvaluationRunner
from oragent.evaluation.offers import evaluator_arguments, find_options, mode_patience
from oragent.evaluation.problem import LimitSettings, Problem, evaluation_root, find_project_root, list_problems
from oragent.programs.inspection import fit_to_frame, inspect_program, read_program


def problems(root: str | Path | None = None) -> tuple[Problem, ...]:
    """The problems of a project, by name.

    Args:
        root: the project's root; None: the nearest folder with problems, from here upwards.

    Raises:
        ProblemError: if there are none, or one of them is broken.
    """
    return tuple(list_problems(find_project_root(Path(root) if root else None)))


def evaluate(
    problem: ProblemChoice,
    program: str | Path | Callable[..., Any] | None = None,
    *,
    mode: str | None = None,
    problem_size: int | None = None,
    root: str | Path | None = None,
) -> Evaluation:
    """Score one heuristic in the sandbox, as a search would.

    Args:
        problem: a name, a folder, or a loaded problem.
        program: a program's text, the path of its file, or a Python function, whose source is taken with the imports,
            constants and functions of its module that it uses; None: the problem's own seed.
        mode: ``train``, ``val``, ``test`` or ``fresh``; None: the evaluator's default, ``val``.
        problem_size: just this size.
        root: the project's root, for data; None: the nearest folder with problems, from here upwards.

    Returns:
        How it ended: ``status``, ``score``, ``metrics``, ``features``, ``message``. A program that fails is data too.

    Raises:
        ProblemError: if there is no such problem.
        CandidateError: if the program cannot be read, or does not define the problem's function.
        SandboxError: if our own side fails.
    """
    project = Path(root) if root else None
    resolved = resolve_problem(problem, find_project_root(project))
    base = evaluation_root(resolved, project)
    settings, source = LimitSettings(), load_program(program, resolved)
    with EvaluationRunner() as run:
        offers = find_options(resolved, base, run) if resolved.about.heuristic_s is not None else frozenset[str]()
        patience = mode_patience(mode)
        arguments = evaluator_arguments(resolved, settings, offers, patience=patience)
        return run(
            resolved.make_job(source, base, resolved.make_limits(settings, patience), mode, problem_size, arguments)
        )


def load_program(program: str | Path | Callable[..., Any] | None, problem: Problem) -> str:
    """Return the text of a program that defines the problem's function.

    Raises:
        CandidateError: It cannot be read, or does not define the function.
    """
    if program is None:
        return problem.seed
    if isinstance(program, Path) or (isinstance(program, str) and program.endswith(".py") and "\n" not in program):
        return read_program(Path(program), problem.signature)
    source = program if isinstance(program, str) else source_of(program)
    source = fit_to_frame(source, problem.signature)
    if wrong := inspect_program(source, problem.signature).problem:
        raise CandidateError(wrong, "rejected")
    return source
