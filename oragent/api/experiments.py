"""Score a heuristic, probe it and sweep its parameters on training instances, from Python."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from oragent._base.errors import CandidateError, ConfigError
from oragent.api.choices import ProblemChoice, resolve_problem
from oragent.api.functions import source_of
from oragent.evaluation import Evaluation, EvaluationRunner
from oragent.evaluation.offers import evaluator_arguments, find_options, mode_patience, require_all
from oragent.evaluation.problem import LimitSettings, Problem, evaluation_root, find_project_root, list_problems
from oragent.programs.inspection import fit_to_frame, inspect_program, read_program
from oragent.sandbox.limits import count_processors
from oragent.search.experiment_runner import ExperimentRunner
from oragent.search.experiments import CPU_S, EVOLVED_SETTINGS, ProbeResult, Subset, SweepResult


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


Program = str | Path | Callable[..., Any] | None
ParameterValues = Mapping[str, Sequence[float] | str | None] | Sequence[str]


def probe(
    problem: ProblemChoice,
    program: Program = None,
    *,
    sizes: Sequence[int] = (),
    instances: int | str | None = None,
    seconds: float = CPU_S,
    observer: str = "",
    root: str | Path | None = None,
) -> ProbeResult:
    """Run one program on training instances, in the sandbox, within a number of CPU seconds.

    Args:
        problem: A name, a folder, or a loaded problem.
        program: A program as for ``evaluate``; None: the problem's own seed.
        sizes: Problem sizes of ``train``; empty: all.
        instances: Number of instances of each size, the first ones, or a range ``"4:8"``; None: all.
        seconds: CPU seconds of all runs together.
        observer: Text of a program that is told what happens at the evaluator's hooks; empty: none.
        root: The project's root, for data; None: the nearest folder with problems, from here upwards.

    Returns:
        Score, calls and CPU seconds by size, and what the program printed. A program that fails is data too.

    Raises:
        ProblemError: There is no such problem.
        ConfigError: The training set has no such part.
        CandidateError: The program cannot be read, or does not define the problem's function.
    """
    resolved, base, source = _resolve_program(problem, program, root, seconds)
    with ExperimentRunner(resolved, base) as runner:
        return runner.probe(source, _make_subset(sizes, instances), seconds, observer)


def sweep(
    problem: ProblemChoice,
    program: Program,
    parameters: ParameterValues,
    *,
    sizes: Sequence[int] = (),
    instances: int | str | None = None,
    seconds: float = CPU_S,
    settings: int = EVOLVED_SETTINGS,
    seed: int = 0,
    workers: int = 0,
    root: str | Path | None = None,
) -> SweepResult:
    """Run a program with other values of its parameters on training instances, within a number of CPU seconds.

    Args:
        problem: A name, a folder, or a loaded problem.
        program: A program as for ``evaluate``; None: the problem's own seed.
        parameters: Values by name (``{"window": [5, 10, 20]}``), ranges (``{"window": "5..60"}``), or None for the
            range that the program declares; or words as on the command line (``["window=5,10,20"]``). Values make a
            grid; ranges of several parameters are searched by CMA-ES.
        sizes: Problem sizes of ``train``; empty: all.
        instances: Number of instances of each size, the first ones, or a range ``"4:8"``; None: all.
        seconds: CPU seconds of all runs together.
        settings: Number of settings that CMA-ES tries.
        seed: Seed of CMA-ES.
        workers: Runs at once, at most 4; 0: as many as there are cores.
        root: The project's root, for data; None: the nearest folder with problems, from here upwards.

    Returns:
        A row for each setting, the present values first; ``best`` and ``write_program`` give the best program.

    Raises:
        ProblemError: There is no such problem.
        ConfigError: The parameters or the part of the training set cannot be as they are named.
        CandidateError: The program cannot be read, or has no such parameter.
    """
    resolved, base, source = _resolve_program(problem, program, root, seconds)
    words = (
        [*map(_parameter_word, parameters, parameters.values())]
        if isinstance(parameters, Mapping)
        else list(parameters)
    )
    with ExperimentRunner(resolved, base, workers=workers or count_processors()) as runner:
        return runner.sweep(source, words, _make_subset(sizes, instances), seconds, settings, seed)


def _resolve_program(
    problem: ProblemChoice, program: Program, root: str | Path | None, seconds: float
) -> tuple[Problem, Path, str]:
    if not seconds > 0:
        raise ConfigError(f"seconds must be above 0, not {seconds:g}")
    project = Path(root) if root else None
    resolved = resolve_problem(problem, find_project_root(project))
    require_all(resolved)
    return resolved, evaluation_root(resolved, project), load_program(program, resolved)


def _make_subset(sizes: Sequence[int], instances: int | str | None) -> Subset:
    return Subset(tuple(sizes), "" if instances is None else str(instances))


def _parameter_word(name: str, values: Sequence[float] | str | None) -> str:
    if values is None:
        return name
    return f"{name}={values if isinstance(values, str) else ','.join(map(repr, values))}"
