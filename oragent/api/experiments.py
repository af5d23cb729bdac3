"""Score a heuristic, probe it and sweep its parameters on training instances, from Python."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from oragent._base.errors import CandidateError, ConfigError, ProblemError
from oragent.api.choices import ProblemChoice, resolve_problem
from oragent.evaluation import Evaluation, EvaluationRunner, Job
from oragent.evaluation.capabilities import (
    CHECK,
    describe_missing,
    evaluator_arguments,
    extend_limits,
    find_options,
    mode_patience,
    needs_options,
    require_all,
)
from oragent.evaluation.devices import AUTO, pin_device, uses_networks
from oragent.evaluation.problem import LimitSettings, Problem, evaluation_root, find_project_root, list_problems
from oragent.programs.inspection import fit_to_frame, inspect_program, read_program
from oragent.sandbox.limits import count_processors
from oragent.search.experiment_runner import ExperimentRunner
from oragent.search.experiments import CPU_S, EVOLVED_SETTINGS, ProbeResult, Subset, SweepResult

PLAIN = (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, type(None))


def problems(root: str | Path | None = None) -> tuple[Problem, ...]:
    """Return the problems of a project by name.

    Args:
        root: Project root, as for ``run``.

    Raises:
        ProblemError: The project has no problems, or one is invalid.
    """
    return tuple(list_problems(find_project_root(Path(root) if root else None)))


def evaluate(
    problem: ProblemChoice,
    program: str | Path | Callable[..., Any] | None = None,
    *,
    mode: str | None = None,
    problem_size: int | None = None,
    work: float = 1.0,
    root: str | Path | None = None,
) -> Evaluation:
    """Score one heuristic in the sandbox, in the same way as a search.

    Args:
        problem: Name, folder, or loaded problem.
        program: Text, path of a file, or Python function, which is copied with the imports, constants and functions of
            its module that it uses. None means the seed heuristic.
        mode: ``train``, ``val``, ``test``, ``fresh`` or a named set of the problem; None means ``val``.
        problem_size: Only this size; None means all.
        work: Factor on the work of each solve, if the evaluator has one; limits on time are longer by it.
        root: Project root, as for ``run``.

    Returns:
        The evaluation: ``status``, ``score``, ``metrics``, ``features``, ``message``; also for a program that fails.

    Raises:
        ProblemError: The problem does not exist.
        CandidateError: The program cannot be read, or does not define the function of the problem.
        SandboxError: The sandbox fails.
    """
    project = Path(root) if root else None
    resolved = resolve_problem(problem, find_project_root(project))
    base = evaluation_root(resolved, project)
    source, device = load_program(program, resolved), pin_device(AUTO, resolved).device
    with EvaluationRunner() as run:
        job = plan_evaluation(run, resolved, source, base, device, mode=mode, problem_size=problem_size, work=work)
        return run(job)


def plan_evaluation(
    run: EvaluationRunner,
    problem: Problem,
    source: str,
    root: Path,
    device: str,
    *,
    mode: str | None = None,
    problem_size: int | None = None,
    work: float = 1.0,
    words: Sequence[str] = (),
) -> Job:
    """Return the evaluation of a program with the limits of its problem; ``words`` are further arguments.

    Raises:
        ProblemError: The evaluator lacks an option that is needed.
    """
    settings, offers = LimitSettings(), frozenset[str]()
    if CHECK in words or work != 1 or needs_options(problem, mode) or uses_networks(problem):
        offers = find_options(problem, root, run)
    if CHECK in words and CHECK not in offers:
        raise ProblemError(describe_missing(CHECK))
    patience = mode_patience(mode)
    terms = evaluator_arguments(
        problem, settings, offers, patience=patience, device=device, mode=mode, root=root, work=work
    )
    limits = extend_limits(problem.make_limits(settings, patience, mode), work)
    return problem.make_job(source, root, limits, mode, problem_size, (*terms, *words))


def load_program(program: str | Path | Callable[..., Any] | None, problem: Problem) -> str:
    """Return the text of a program that defines the problem's function."""
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
    practice: bool = False,
    seconds: float = CPU_S,
    observer: str = "",
    root: str | Path | None = None,
) -> ProbeResult:
    """Run one program on training or practice instances in the sandbox.

    Args:
        problem: Name, folder, or loaded problem.
        program: Program as for ``evaluate``.
        sizes: Sizes of the set; empty means all.
        instances: Number of first instances of each size, or a range ``"4:8"``; None means all.
        practice: Whether to use practice instances, drawn like those of ``val``, instead of those of ``train``.
        seconds: CPU seconds of all runs together.
        observer: Program text with ``observe(hook, data)``, called at the evaluator's hooks; empty means none.
        root: Project root, as for ``run``.

    Returns:
        Score, calls and CPU seconds by size, and printed text; also for a program that fails.

    Raises:
        ProblemError: The problem does not exist.
        ConfigError: The instances do not exist.
        CandidateError: The program cannot be read, or does not define the function of the problem.
    """
    resolved, base, source = _resolve_program(problem, program, root, seconds)
    with ExperimentRunner(resolved, base) as runner:
        return runner.probe(source, Subset.choose(sizes, instances, practice), seconds, observer)


def sweep(
    problem: ProblemChoice,
    program: Program,
    parameters: ParameterValues,
    *,
    sizes: Sequence[int] = (),
    instances: int | str | None = None,
    practice: bool = False,
    seconds: float = CPU_S,
    settings: int = EVOLVED_SETTINGS,
    seed: int = 0,
    workers: int = 0,
    root: str | Path | None = None,
) -> SweepResult:
    """Run a program with different values of its parameters on training or practice instances.

    Args:
        problem: Name, folder, or loaded problem.
        program: Program as for ``evaluate``.
        parameters: By name: values (``[5, 10, 20]``), a range (``"5..60"``), or None for the declared range; or words
            as on the command line (``["window=5,10,20"]``). Values make a grid; CMA-ES searches several ranges.
        sizes: As for ``probe``.
        instances: As for ``probe``.
        practice: As for ``probe``.
        seconds: CPU seconds of all runs together.
        settings: Number of settings that CMA-ES tries.
        seed: Seed of CMA-ES.
        workers: Parallel runs, at most 4; 0 means the number of cores.
        root: Project root, as for ``run``.

    Returns:
        A row for each setting, the current values first; ``best``, and ``write_program`` for its program.

    Raises:
        ProblemError: The problem does not exist.
        ConfigError: The parameters or instances do not exist.
        CandidateError: The program cannot be read, or has no such parameter.
    """
    resolved, base, source = _resolve_program(problem, program, root, seconds)
    words = list(parameters)
    if isinstance(parameters, Mapping):
        words = []
        for name, values in parameters.items():
            text = values if isinstance(values, str) else ",".join(map(repr, values or ()))
            words.append(name if values is None else f"{name}={text}")
    with ExperimentRunner(resolved, base, workers=workers or count_processors()) as runner:
        return runner.sweep(source, words, Subset.choose(sizes, instances, practice), seconds, settings, seed)


def _resolve_program(
    problem: ProblemChoice, program: Program, root: str | Path | None, seconds: float
) -> tuple[Problem, Path, str]:
    if not seconds > 0:
        raise ConfigError(f"seconds must be above 0, not {seconds:g}")
    project = Path(root) if root else None
    resolved = resolve_problem(problem, find_project_root(project))
    require_all(resolved)
    return resolved, evaluation_root(resolved, project), load_program(program, resolved)


def source_of(function: Callable[..., Any]) -> str:
    """Write a function as a program: the imports, constants and functions that it uses, then the function.

    Args:
        function: Function defined by ``def`` in a file or a notebook cell. It may use modules, names that a
            module exports, plain data, and other such functions.

    Raises:
        CandidateError: With status ``rejected``, for a lambda, a closure, or another object whose source is not
            complete.
    """
    # Imports in order, each once.
    imports: dict[str, None] = {}
    definitions: dict[str, str] = {}
    _collect_definitions(function, imports, definitions)
    return "\n\n\n".join(["\n".join(imports), *definitions.values()]).strip() + "\n"


def _collect_definitions(function: Callable[..., Any], imports: dict[str, None], definitions: dict[str, str]) -> None:
    """Add a function after its dependencies."""
    source = _own_source(function)
    # Prevents endless recursion for functions that call each other.
    definitions.setdefault(function.__name__, "")
    outside = function.__globals__
    # Names that are not defined outside are builtins; the evaluation reports unknown ones.
    for name in _names_read(source):
        if name in outside and name not in definitions:
            _add_dependency(name, outside[name], function, imports, definitions)
    definitions[function.__name__] = definitions.pop(function.__name__) or source


def _add_dependency(
    name: str, value: object, user: Callable[..., Any], imports: dict[str, None], definitions: dict[str, str]
) -> None:
    if isinstance(value, ModuleType):
        imports[f"import {value.__name__}" + (f" as {name}" if name != value.__name__ else "")] = None
    elif isinstance(value, PLAIN) and type(value) in PLAIN and _is_literal(value):
        definitions[name] = f"{name} = {value!r}"
    elif isinstance(value, FunctionType) and value.__module__ == user.__module__:
        if value.__name__ != name:
            raise _reject(f"{user.__name__} uses {value.__name__} under another name, {name}: use its own")
        _collect_definitions(value, imports, definitions)
    elif exported := _find_export(value):
        imports[f"from {exported[0]} import {exported[1]}" + (f" as {name}" if name != exported[1] else "")] = None
    else:
        kind = type(value).__name__
        raise _reject(f"{user.__name__} uses {name}, a {kind} of its module: move it into the function")


def _own_source(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", f"a {type(function).__name__}")
    if not isinstance(function, FunctionType):
        raise _reject(f"{name} is no function made by def: give one, or a program's text")
    if name == "<lambda>":
        raise _reject("a lambda has no source of its own: write it as a function with def")
    if function.__code__.co_freevars:
        used = ", ".join(function.__code__.co_freevars)
        raise _reject(f"{name} is a closure over {used}: make these arguments or constants of the function")
    try:
        return textwrap.dedent(inspect.getsource(function)).strip()
    except (OSError, TypeError):
        raise _reject(f"the source of {name} cannot be found: give the program's text") from None


def _names_read(source: str) -> list[str]:
    """Return the names that a definition reads, in order, including nested functions."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError as problem:
        raise _reject(f"the source of the function cannot be read by itself: {problem.msg}") from None
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    read = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return [name for name in dict.fromkeys(read) if name not in bound]


def _is_literal(value: object) -> bool:
    """Return True if ``repr`` of a value evaluates to the same value."""
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, TypeError, RecursionError):
        return False


def _find_export(value: object) -> tuple[str, str] | None:
    """Return the module of a value and its name there; None if it cannot be imported."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None
    if getattr(sys.modules.get(module), name, None) is value:
        return (module, name)
    return None


def _reject(message: str) -> CandidateError:
    return CandidateError(message, "rejected")
