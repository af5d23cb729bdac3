"""Score candidates with the evaluator of a task that was written for another framework, and that runs unchanged.

The evaluator gets a stand-in (`stand_ins`): the candidate runs in its own process, as in any other problem. The folder
``task`` next to ``eval.py`` has the files of the task, among them the seed, from which the stand-in is made.
"""

import asyncio
import inspect
import json
import math
import os
import random
import shutil
import sys
import tempfile
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from oragent._base.errors import CandidateError, ProblemError
from oragent._base.protocol import Result, Status
from oragent._base.racing import BY_INSTANCE
from oragent.harness.arguments import Arguments
from oragent.harness.case_tasks import DATA, DATASET, EVAL, score_cases, score_files
from oragent.harness.framework_modules import EvalContext, install_substitutes, load_module
from oragent.harness.guest import Guest
from oragent.harness.main import run
from oragent.harness.program_streams import REST, Exchange, ProgramStreams
from oragent.harness.program_tasks import (
    FileExchange,
    TesterExchange,
    check_bytes,
    has_set,
    score_programs,
)
from oragent.harness.stand_ins import CallServer, make_stand_in
from oragent.harness.virtual_files import VirtualFiles

# Folder with the files of the task, and options: compare with the framework that it was written for; try the seed.
TASK, IN_PROCESS, TRIAL = "task", "in_process", "trial"
# Metric of a trial with the names of the functions that the evaluator passes to the candidate.
CALLBACKS = "callbacks"
# Functions through which programs get their input, which take bytes alone.
EXCHANGES = frozenset((FileExchange.exchange.__qualname__, TesterExchange.exchange.__qualname__))
# Package under whose name the modules of the task are imported, so that their relative imports work.
PACKAGE = "oragent_task"
# Scores from here downwards mean a failure in examples of AlphaEvolve.
FAILED = -1e11
# Metrics that are 0 by convention for a program without a valid result.
VERDICTS = ("runs_successfully", "validity")
# Parts of the result of ShinkaEvolve that are not for programs and models.
HIDDEN = ("private", "extra_data", "text_feedback", "public")
# Maximum number of bytes of an output file.
MAX_OUTPUT = 64 << 20
# Number that is added to the seeds of a task in mode ``test``.
OTHER_DATA = 1_000_003
# Markers of LLM4AD_Next and their form here.
MARKERS = ("# EVOLVE_", "# EVOLVE-BLOCK-")
# Settings of LLM4AD that change the text of programs.
CHANGES = ("use_numba_accelerate", "use_protected_div", "random_seed")


class Kind(StrEnum):
    """Way in which an evaluator gets the candidate."""

    # As the callable of ``evaluate_program(program_str, callable_func)``: EoH and LLM4AD.
    CALLABLE = "callable"
    # As the path of a module: OpenEvolve and ShinkaEvolve.
    MODULE = "module"
    # As an object with its text: AlphaEvolve.
    TEXT = "text"
    # As a function that solves an instance, whose parts are its arguments: CO-Bench.
    CASES = "cases"
    # As a function that reads files and writes one: HeuriGym.
    FILES = "files"
    # As a script in the folder of a project: LLM4AD_Next.
    PROJECT = "project"
    # As a function that reads standard input and writes standard output: ALE-Bench.
    PROGRAM = "program"


@dataclass(frozen=True)
class TaskSettings:
    """A task in the folder ``task``.

    Attributes:
        kind: How its evaluator gets the candidate.
        evaluator: Path of the evaluator's module in the folder.
        program: Path of the seed in the folder.
        function: Name of the function that evolves.
        functions: Further functions of the candidate that the evaluator uses.
        entry: Class or function of the evaluator; empty for its usual name.
        features: Metrics that are axes of the archive; ``complexity`` is the length of the program.
        call_s: Wall seconds of one call; None means the time of the evaluation.
        callbacks: Names of functions that the evaluator passes on purpose. The candidate can call them with any
            arguments.
        is_isolated: False if the candidate runs in the evaluator's process and can forge its score.
        project: Path of the project that contains the program, in the folder.
        data: Paths of the files with data in the folder, for each of which a project is evaluated.
        has_other_data: True if mode ``test`` gives the evaluator other data, drawn with other seeds.
    """

    kind: Kind
    evaluator: str
    program: str
    function: str
    functions: tuple[str, ...] = ()
    entry: str = ""
    features: tuple[str, ...] = ()
    call_s: float | None = None
    callbacks: tuple[str, ...] = ()
    is_isolated: bool = True
    project: str = ""
    data: tuple[str, ...] = ()
    has_other_data: bool = False


@dataclass(frozen=True)
class _Program:
    # Text for the evaluator: that of the stand-in, or of the candidate if it is not isolated.
    text: str
    # File with this text.
    path: Path
    mode: str
    # Folder of the task.
    folder: Path
    # `CallServer.call`, or None if the candidate shares this process.
    call: Callable[..., Any] | None

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function of the candidate or its stand-in."""
        space: dict[str, Any] = {"__name__": "heuristic_module"}
        exec(compile(self.text, str(self.path), "exec"), space)
        function: Callable[..., Any] = space[name]
        return function


def score_task(**settings: Any) -> NoReturn:
    """Run ``eval.py``: score a candidate with the evaluator of a task.

    Args:
        settings: Fields of `TaskSettings`.

    Raises:
        SystemExit: As `run` does.
    """
    task = TaskSettings(**settings | {"kind": Kind(settings["kind"])})
    folder = Path(sys.argv[0]).resolve().parent / TASK

    def evaluate(arguments: Arguments, guest: Guest) -> Result:
        return _evaluate(task, folder, arguments, guest)

    try:
        run(
            evaluate,
            function=task.function,
            functions=task.functions,
            sizes=dict.fromkeys(_list_modes(task, folder), (1,)),
            flags={
                IN_PROCESS: "run the candidate in the evaluator's process, where it can forge its score",
                TRIAL: "pass any function to the candidate, and refuse one that changes its arguments",
            },
        )
    except SystemExit as ending:
        # Threads of the evaluator that still run must not delay the end.
        if isinstance(ending.code, str):
            print(ending.code, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ending.code if isinstance(ending.code, int) else 1)


def _list_modes(task: TaskSettings, folder: Path) -> tuple[str, ...]:
    has_eval = task.kind is Kind.FILES and (folder / DATASET / EVAL).is_dir()
    has_test = task.kind is Kind.CASES or task.has_other_data or has_eval
    if task.kind is Kind.PROGRAM:
        has_test = has_set(folder, "test")
    return ("train", "val", "test") if has_test else ("train", "val")


def _evaluate(task: TaskSettings, folder: Path, arguments: Arguments, guest: Guest) -> Result:
    with _print_to_errors(), CallServer(guest) as server, tempfile.TemporaryDirectory() as work:
        candidate = arguments.candidate.read_text(encoding="utf-8")
        text, call = candidate, None
        if task.is_isolated and IN_PROCESS not in arguments.flags:
            guest.limit_s, guest.callbacks, call = task.call_s, (*task.callbacks, *EXCHANGES), server.call
            guest.trial = set() if TRIAL in arguments.flags else None
            seed = (folder / task.program).read_text(encoding="utf-8")
            text = make_stand_in(seed, (task.function, *task.functions), server.address)
        path = Path(work, Path(task.program).name)
        path.write_text(text, encoding="utf-8")
        try:
            metrics = _compute_metrics(task, folder, _Program(text, path, arguments.mode, folder, call))
        except SystemExit as ending:
            raise ProblemError(f"the task's evaluator ended its process, with exit code {ending.code}") from None
    result = _make_result(task, metrics, candidate)
    names = sorted((guest.trial or set()) - EXCHANGES)
    return replace(result, metrics={**result.metrics, CALLBACKS: names}) if names else result


def _compute_metrics(task: TaskSettings, folder: Path, program: _Program) -> Mapping[str, Any]:
    random.seed(0)
    np.random.seed(0)
    if task.has_other_data and program.mode == "test":
        _change_seeds()
    if task.kind is Kind.PROGRAM:
        return _score_program(task, None, program)
    evaluator = folder / task.evaluator
    install_substitutes(folder)
    sys.path[:0] = [str(evaluator.parent), str(folder)]
    os.chdir(evaluator.parent)
    sys.modules[PACKAGE] = types.ModuleType(PACKAGE)
    sys.modules[PACKAGE].__path__ = [str(evaluator.parent)]
    module = load_module(f"{PACKAGE}.{evaluator.stem}", evaluator)
    sys.modules.setdefault(evaluator.stem, module)
    return KINDS[task.kind](task, module, program)


def _change_seeds() -> None:
    """Make the seeds that the task sets other ones, so that it draws other data."""

    def change(function: Callable[..., Any]) -> Callable[..., Any]:
        def seeded(*arguments: Any, **options: Any) -> Any:
            options = {name: _change_seed(value) for name, value in options.items()}
            return function(*map(_change_seed, arguments), **options)

        return seeded

    random.seed, np.random.seed = change(random.seed), change(np.random.seed)
    np.random.default_rng = change(np.random.default_rng)


def _change_seed(value: Any) -> Any:
    return value + OTHER_DATA if isinstance(value, int) and not isinstance(value, bool) else value


def _score_callable(task: TaskSettings, module: types.ModuleType, program: _Program) -> Mapping[str, Any]:
    """Return the fitness by a class of EoH or LLM4AD. Several objectives are metrics; the first one is the score."""
    evaluation = getattr(module, task.entry)()
    for name in CHANGES:
        if getattr(evaluation, name, None) not in (None, False):
            raise ProblemError(f"the task sets {name}, by which LLM4AD changes the text of programs")
    fitness = evaluation.evaluate_program(program.text, program.function(task.function))
    if fitness is None:
        return {"error": "the task's evaluator returned None"}
    values = np.ravel(fitness).astype(float).tolist()
    objectives = {f"objective_{number}": value for number, value in enumerate(values, 1)} if len(values) > 1 else {}
    return {**objectives, "combined_score": values[0]}


def _score_module(task: TaskSettings, module: types.ModuleType, program: _Program) -> Mapping[str, Any]:
    """Return the metrics of OpenEvolve, of its first stage in mode train if it has one, or those of ShinkaEvolve."""
    if not hasattr(module, "run_shinka_eval") and hasattr(module, "evaluate"):
        stage = getattr(module, "evaluate_stage1", None) if program.mode == "train" else None
        result = (stage or module.evaluate)(str(program.path))
        if inspect.isawaitable(result):
            result = asyncio.run(_wait(result))
        return dict(getattr(result, "metrics", result))
    with tempfile.TemporaryDirectory() as results:
        with suppress(SystemExit):
            module.main(program_path=str(program.path), results_dir=results)
        correct = json.loads(Path(results, "correct.json").read_text(encoding="utf-8"))
        metrics = json.loads(Path(results, "metrics.json").read_text(encoding="utf-8"))
    flat = {**metrics, **(metrics.get("public") or {})}
    flat = {name: value for name, value in flat.items() if name not in HIDDEN}
    if not correct.get("correct"):
        flat["error"] = correct.get("error") or "not correct"
    return flat


async def _wait(result: Any) -> Any:
    return await result


def _score_text(task: TaskSettings, module: types.ModuleType, program: _Program) -> Mapping[str, Any]:
    """Return the scores of an evaluator of AlphaEvolve. The first one is the score."""
    candidate = {"content": {"files": [{"path": program.path.name, "content": program.text}]}}
    result = getattr(module, task.entry)(candidate)
    result = result if isinstance(result, dict) else result.model_dump()
    scores = {str(entry["metric"]): entry["score"] for entry in result["scores"]["scores"]}
    first = next(iter(scores.values()))
    if first is None or first <= FAILED:
        insights = (result.get("insights") or {}).get("insights") or [{}]
        return {"error": insights[0].get("text") or "the task's evaluator reports a failure"}
    return {**scores, "combined_score": first}


def _score_cases(task: TaskSettings, module: types.ModuleType, program: _Program) -> Mapping[str, Any]:
    return score_cases(module, program.folder / DATA, program.function(task.function), program.mode)


def _score_files(task: TaskSettings, module: types.ModuleType, program: _Program) -> Mapping[str, Any]:
    def run_on_files(paths: Sequence[str], contents: Mapping[str, bytes]) -> bytes:
        if program.call is not None:
            outputs = program.call(task.function, tuple(paths), {}, (contents, paths[-1:]))
        else:
            with VirtualFiles(contents, paths[-1:]) as files:
                program.function(task.function)(*paths)
            outputs = files.outputs()
        content = outputs.get(paths[-1]) if isinstance(outputs, dict) else None
        if not isinstance(content, bytes) or not content:
            raise CandidateError("wrote no output file, or an empty one", Status.INVALID)
        if len(content) > MAX_OUTPUT:
            raise CandidateError(f"wrote an output of more than {MAX_OUTPUT >> 20} MiB", Status.INVALID)
        return content

    os.chdir(program.path.parent)
    return score_files(module, program.folder, run_on_files, program.mode)


def _score_project(task: TaskSettings, module: types.ModuleType, program: _Program) -> Mapping[str, Any]:
    """Return the mean scores and metrics of an evaluator of LLM4AD_Next, which may start the program as a script."""
    root = program.path.with_name("project")
    shutil.copytree(program.folder / task.project, root)
    text = program.text.replace(MARKERS[1], MARKERS[0])
    (root / Path(task.program).relative_to(task.project)).write_text(text, encoding="utf-8")
    results = []
    for name in task.data or ("",):
        context = EvalContext(str(root), str(program.folder / name) if name else "", task.call_s or EvalContext.timeout)
        result = asyncio.run(_wait(getattr(module, task.entry)().evaluate(context)))
        if not result.success:
            return {"error": f"{name}: {result.error_message}"}
        results.append(result)
    names = {name for result in results for name in result.metrics}
    means = {name: sum(result.metrics.get(name, 0.0) for result in results) / len(results) for name in sorted(names)}
    scores = [float(result.score) for result in results]
    return {**means, "combined_score": sum(scores) / len(scores), BY_INSTANCE: {"all": scores}}


def _score_program(task: TaskSettings, module: None, program: _Program) -> Mapping[str, Any]:
    def run_program(exchange: Exchange) -> bytes:
        if program.call is not None:
            outputs = program.call(task.function, (), {}, exchange=exchange)
        else:
            with ProgramStreams(exchange) as streams:
                program.function(task.function)()
            outputs = streams.outputs()
        return check_bytes(outputs.get(REST) if isinstance(outputs, dict) else None)

    return score_programs(program.folder, program.folder / task.evaluator, run_program, task.call_s, program.mode)


KINDS: Mapping[Kind, Callable[[TaskSettings, Any, _Program], Mapping[str, Any]]] = {
    Kind.CALLABLE: _score_callable,
    Kind.MODULE: _score_module,
    Kind.TEXT: _score_text,
    Kind.CASES: _score_cases,
    Kind.FILES: _score_files,
    Kind.PROGRAM: _score_program,
    Kind.PROJECT: _score_project,
}


def _make_result(task: TaskSettings, metrics: Mapping[str, Any], candidate: str) -> Result:
    if metrics.get("error"):
        raise CandidateError(str(metrics["error"]), Status.INVALID)
    for name in VERDICTS:
        if metrics.get(name, 1) == 0:
            raise CandidateError(f"the task's evaluator reports {name} 0", Status.INVALID)
    numbers = {
        str(name): float(value)
        for name, value in metrics.items()
        if isinstance(value, bool | int | float | np.number | np.bool_)
    }
    if not numbers:
        raise CandidateError("the task's evaluator returned no number", Status.INVALID)
    score = numbers.get("combined_score", sum(numbers.values()) / len(numbers))
    if not math.isfinite(score):
        raise CandidateError(f"the score is {score}", Status.INVALID)
    features = {**numbers, "complexity": float(len(candidate)), "score": score}
    finite = {name: value for name, value in numbers.items() if math.isfinite(value)}
    values = {BY_INSTANCE: metrics[BY_INSTANCE]} if BY_INSTANCE in metrics else {}
    return Result(finite | values, tuple(features.get(name, 0.0) for name in task.features) or None, score)


@contextmanager
def _print_to_errors() -> Iterator[None]:
    """Send output of the evaluator and its processes to standard error, so that no text looks like a result."""
    sys.stdout.flush()
    saved, stdout = os.dup(1), sys.stdout
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stdout = stdout
        os.dup2(saved, 1)
        os.close(saved)
