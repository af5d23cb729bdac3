"""Import tasks that were written for other frameworks, and try their seeds.

A task has a program, an evaluator, and optionally a configuration (`foreign_tasks`). Its files become the folder
``task`` of a problem, whose ``eval.py`` runs the evaluator unchanged on a stand-in for the candidate. The seed is
scored with the stand-in and in the evaluator's own process. If only the latter gives a score, the problem is marked as
``forgeable``. The folder is untrusted: links in it are left out, and its programs are parsed in a child process with
limits and run in the sandbox.
"""

import ast
import json
import math
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from oragent._base.errors import CandidateError, ProblemError
from oragent._base.protocol import Status
from oragent._base.text_format import one_line
from oragent.authoring.foreign_tasks import (
    CONFIGS,
    MAX_TIMEOUT_S,
    ForeignTask,
    is_task,
    read_config,
    read_source,
    read_task,
)
from oragent.authoring.scaffold import NAME
from oragent.evaluation import Evaluation, EvaluationRunner
from oragent.evaluation.problem import LimitSettings, Problem, load_problem
from oragent.programs import regions
from oragent.programs.inspection import documentation, inspect_program, parse_tree, signature_of

LEFT_BEHIND = ("requirements.txt", "openevolve_output", "results", "outputs", "__pycache__")
DEFINED = re.compile(r"^def ([A-Za-z_]\w*)", re.MULTILINE)
CALLED = re.compile(
    r"\bprogram\.([A-Za-z_]\w*)\(|experiment_fn_name\s*=\s*[\"'](\w+)[\"']|hasattr\(\w+, [\"'](\w+)[\"']"
)
MAX_BYTES = 500 << 20
DEFAULT_BINS, DEFAULT_TIMEOUT_S = 10, 300.0
MODULES = {"scikit-learn": "sklearn", "opencv-python": "cv2", "pyyaml": "yaml", "pillow": "PIL"}
OF_THE_FRAMEWORK = frozenset(("openevolve", "shinka", "shinka-evolve", "eoh", "alpha-evolve", "llm4ad"))
HINTS = {
    "llm": "name a model with --model, and its server with OPENAI_BASE_URL",
    "max_iterations": "oragent run FOLDER --evaluations N",
    "random_seed": "oragent run FOLDER --seed N",
    "diff_based_evolution": "strategies choose themselves between edits and whole programs",
}
# Folder of the task's files in that of the problem, and the file of a seed that is a part of the evaluator.
TASK, SEED = "task", "seed_program.py"
# Folders of data in that of the task, by kind, and the sources of the data, which are never downloaded.
DATA_FOLDERS = {"cases": "data", "files": "dataset", "program": "inputs"}
DATA_SOURCES = {
    "CO-Bench": "huggingface.co/datasets/CO-Bench/CO-Bench",
    "ALE-Bench": "huggingface.co/datasets/SakanaAI/ALE-Bench",
    "HeuriGym": "the README of github.com/cornell-zhang/heurigym",
}
# Input of the program as in problem.yaml, by kind, if it is not that of a function.
INPUTS = {"files": "files", "program": "streams"}
# Descriptions of the scores, by kind of task.
SCORED = {
    "module": "combined_score, or the mean of its metrics",
    "callable": "what {entry}.evaluate_program returns",
    "cases": "the mean of its normed scores, on the development set in mode val",
    "files": "the quality-yield index, or the mean cost without costs of experts",
    "project": "the mean over the files with data",
    "program": "the sum of the scores that the tester prints, on the public cases in mode val",
    "text": "the first one that {entry} returns",
}
# Folder of what a compiler made, and the parts of it that are copied.
BUILD = "tools/target"
BUILT = ("release", "gen", "tester")
# Options of ``eval.py``: run the candidate in the evaluator's process; find out why a stand-in does not do.
IN_PROCESS, TRIAL = "--in_process", "--trial"
MAX_REASON = 300
# Factor on the limit of time of a task for its seed. A longer evaluation of the seed than this share changes the limit.
PATIENCE, LIMIT_SHARE, MAX_TRIAL_S = 10.0, 0.2, 600.0
SCRIPT = '''"""Score a program with {folder}/{evaluator}, the unchanged evaluator of a task for {framework}.

    python eval.py --mode=val

{explanation}
"""

from oragent.harness.foreign import score_task

score_task({settings})
'''
ISOLATED = """The program runs in a process of its own. The evaluator gets a stand-in, whose calls go there.
Chance is seeded. A program has no score if it fails in any call, or if the metrics contain an error, or
runs_successfully or validity 0."""
FORGEABLE = (
    """FORGEABLE: the program runs in the evaluator's process, as in that framework. It can forge its score there."""
)


@dataclass(frozen=True)
class SeedTrial:
    """Evaluation of the seed with a stand-in and in the evaluator's process.

    Attributes:
        status: Name of the outcome: ``isolated``, ``noisy`` (isolated, but chance changes the score), ``forgeable``,
            ``refused`` or ``untried``.
        reason: Reason for another outcome than ``isolated``; empty for none.
        score: Score of the seed as the problem is imported; None without one.
        shared_score: Its score in the evaluator's process.
        calls: Number of calls of the candidate.
        seconds: CPU seconds of the evaluation with a stand-in.
        shared_seconds: CPU seconds of that in the evaluator's process.
        callbacks: Names of the functions that the evaluator passes to the program.
    """

    status: str
    reason: str = ""
    score: float | None = None
    shared_score: float | None = None
    calls: int = 0
    seconds: float = 0.0
    shared_seconds: float = 0.0
    callbacks: tuple[str, ...] = ()

    @property
    def is_isolated(self) -> bool:
        """True if the candidate runs in a process of its own."""
        return self.status in ("isolated", "noisy")

    @property
    def call_us(self) -> float | None:
        """CPU microseconds that a call takes more than in the evaluator's process; None if they are unknown."""
        if self.calls == 0 or not self.is_isolated:
            return None
        return max(self.seconds - self.shared_seconds, 0.0) / self.calls * 1e6


@dataclass(frozen=True)
class ImportedTask:
    """Problem made from a task: its folder, a line for each part that was converted or left out, and the trial."""

    folder: Path
    framework: str
    taken: tuple[str, ...]
    omitted: tuple[str, ...]
    trial: SeedTrial


@dataclass(frozen=True)
class SuiteRow:
    """Outcome of one task of a suite."""

    name: str
    # Empty for a refused task.
    framework: str
    trial: SeedTrial


def import_task(
    task: Path,
    parent: Path,
    name: str | None = None,
    *,
    data: Path | None = None,
    seed: Path | None = None,
    is_tried: bool = True,
) -> ImportedTask:
    """Create a problem's folder from a task for another framework.

    Args:
        task: Folder of the task.
        parent: Folder in which the problem's folder is created.
        name: Name of the problem; None means that of the task's folder.
        data: Folder with the data of a task of CO-Bench or HeuriGym; None means that they are in the task's folder.
        seed: Program to begin with instead of the task's own.
        is_tried: Whether to score the seed. Without that, the problem is taken as one with a stand-in.

    Raises:
        ProblemError: The folder has no known layout, a part cannot be used, or the seed has no score.
    """
    task = task.resolve()
    name = name or re.sub(r"\W+", "_", task.name)
    if not NAME.fullmatch(name):
        raise ProblemError(f"{name!r} is not a name for a problem: give one with --name, of letters, digits and _")
    config = read_config(task)
    layout = read_task(task, config, seed, data)
    if seed is not None:
        layout = replace(layout, seed=read_source(seed))
    if layout.kind == "project":
        # Its other sections are those of that framework's search.
        config = {}
    function, others, blocks = _find_functions(layout)
    axes, lost = _read_axes(config)
    about = _make_description(task, name, function, layout, config, axes)
    if others:
        about |= {"functions": list(others)}
    omitted = [*lost, *_list_omitted(config, about)]
    requires, unknown = _read_requirements(task)
    if requires:
        about |= {"requires": requires}
    settings = {
        "kind": layout.kind,
        "evaluator": layout.evaluator,
        "program": layout.program or SEED,
        "function": function,
        "functions": others,
        "entry": layout.entry,
        "features": tuple(axes),
        "call_s": layout.call_s,
        "project": layout.project,
        "data": layout.data,
    }
    folder = parent / name
    _write_folder(folder, task, layout, data)
    with _discard_on_failure(folder):
        _write_settings(folder, layout, about, settings)
        trial = try_seed(folder) if is_tried else SeedTrial("untried")
        if trial.status == "refused":
            raise ProblemError(f"{task}: its seed has no score: {trial.reason}")
        if trial.status == "forgeable":
            about["forgeable"], settings["is_isolated"] = True, False
        settings["callbacks"] = trial.callbacks
        if layout.kind == "callable" and trial.status in ("isolated", "forgeable"):
            _write_settings(folder, layout, about, settings | {"has_other_data": True})
            settings["has_other_data"] = _draws_other_data(folder, trial) or None
        limit = _adjust_limit(about["timeout_s"], trial)
        if limit > about["timeout_s"]:
            omitted.append(f"limit of {about['timeout_s']:g} s: {limit:g} s, as calls of another process take time")
            about["timeout_s"] = limit
        _write_settings(folder, layout, about, settings)
    taken = tuple(_list_taken(layout, settings, blocks))
    return ImportedTask(folder, layout.framework, taken, (*omitted, *unknown), trial)


def import_suite(suite: Path, parent: Path, data: Path | None = None) -> Iterator[SuiteRow]:
    """Import all tasks of a repository.

    Args:
        suite: Folder in which tasks are searched for.
        parent: Folder in which the problems' folders are created.
        data: Folder with the data of each task in a folder of its name; None means that they are in the tasks' folders.

    Yields:
        The outcome of each task, in the order of the folders' names.

    Raises:
        ProblemError: The folder has no tasks.
    """
    tasks = find_tasks(suite.resolve())
    if not tasks:
        raise ProblemError(f"{suite} contains no task of a known layout")
    names = [task.name for task in tasks]
    for task in tasks:
        own = (
            task.name
            if names.count(task.name) == 1 and not task.name[0].isdigit()
            else f"{task.parent.name}_{task.name}"
        )
        name = re.sub(r"\W+", "_", own)
        try:
            own_data = data / task.name if data is not None and (data / task.name).is_dir() else None
            made = import_task(task, parent, name, data=own_data)
            yield SuiteRow(name, made.framework, made.trial)
        except ProblemError as problem:
            yield SuiteRow(
                name, "", SeedTrial("refused", one_line(str(problem).replace(f"{task}", task.name), MAX_REASON))
            )


def find_tasks(suite: Path) -> list[Path]:
    """Return the folders below a folder, or itself, that have an evaluator of a known layout."""
    if is_task(suite):
        return [suite]
    folders = sorted(path for path in suite.iterdir() if path.is_dir() and not path.is_symlink())
    return [task for path in folders if path.name[0] not in "._" for task in find_tasks(path)]


def _adjust_limit(limit: float, trial: SeedTrial) -> float:
    """Return a limit of time that is as generous to a program in its own process as the limit in the evaluator's."""
    if not trial.is_isolated or trial.seconds < LIMIT_SHARE * limit or not trial.shared_seconds:
        return limit
    return float(math.ceil(limit * max(1.0, trial.seconds / trial.shared_seconds)))


def try_seed(folder: Path) -> SeedTrial:
    """Score the seed of an imported task with a stand-in, and in the evaluator's process.

    Two scores that differ mean that the task needs the candidate in that process, unless the seed or the evaluator is
    random.
    """
    problem = load_problem(folder)
    limit = problem.about.timeout_s
    limits = problem.make_limits(LimitSettings(timeout_s=max(limit, min(PATIENCE * limit, MAX_TRIAL_S))))
    with EvaluationRunner() as run:

        def score(*arguments: str) -> Evaluation:
            return run(problem.make_job(problem.seed, folder, limits, arguments=arguments))

        isolated, shared = score(), score(IN_PROCESS)
        callbacks: tuple[str, ...] = ()
        is_random, reason = False, ""
        if isolated.score != shared.score and shared.status is Status.OK:
            trial = score(TRIAL)
            callbacks = tuple(trial.metrics.get("callbacks", ()))
            if isolated.status is not Status.OK and callbacks:
                isolated = trial
            if trial.status is not Status.OK:
                reason = f"with a stand-in: {_describe_failure(trial)}"
            elif isolated.score != shared.score:
                is_random, reason = _explain_difference(problem, isolated, shared, score(IN_PROCESS))
    calls = int(isolated.metrics.get("heuristic_calls", 0))
    trial_of_seed = SeedTrial(
        "forgeable", reason, shared.score, shared.score, calls, isolated.cpu_s, shared.cpu_s, callbacks
    )
    if isolated.status is Status.OK and calls and (is_random or not reason):
        return replace(trial_of_seed, status="noisy" if is_random else "isolated", score=isolated.score)
    if isolated.status is Status.OK and not calls:
        reason = "with a stand-in the evaluator calls no function of the program"
    if shared.status is not Status.OK:
        return replace(trial_of_seed, status="refused", reason=_describe_failure(shared))
    return replace(trial_of_seed, reason=reason, callbacks=())


def _draws_other_data(folder: Path, trial: SeedTrial) -> bool:
    """Return True if the seed has another score in mode ``test``, in which the evaluator sets other random seeds."""
    problem = load_problem(folder)
    limits = problem.make_limits(LimitSettings(timeout_s=min(PATIENCE * problem.about.timeout_s, MAX_TRIAL_S)))
    with EvaluationRunner() as run:
        evaluation = run(problem.make_job(problem.seed, folder, limits, mode="test"))
    return evaluation.status is Status.OK and evaluation.score != trial.score


def _explain_difference(
    problem: Problem, isolated: Evaluation, shared: Evaluation, again: Evaluation
) -> tuple[bool, str]:
    """Return whether chance makes two scores differ, and the reason."""
    if again.score != shared.score:
        return True, f"the score of the seed varies: {isolated.score}, {shared.score}, {again.score}"
    scores = f"{isolated.score}, and {shared.score} in the evaluator's process"
    if _draws_numbers(problem.seed):
        return True, f"the seed draws random numbers: {scores}"
    return False, f"with a stand-in its score is {scores}"


def _draws_numbers(source: str) -> bool:
    """Return True if a program names a module ``random``, which has generators of the process."""
    names: list[str] = []
    for node in ast.walk(parse_tree(source)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                names.append(name)
            case ast.ImportFrom(module=str(name)):
                names.append(name)
    return any("random" in name.split(".") for name in names)


def _describe_failure(evaluation: Evaluation) -> str:
    return one_line(f"{evaluation.status}: {evaluation.message}", MAX_REASON)


def _name_program(layout: ForeignTask) -> str:
    part_of_evaluator = f"template_program of {layout.entry}" if layout.entry else f"solve of {layout.evaluator}"
    return layout.program or part_of_evaluator


def _find_functions(layout: ForeignTask) -> tuple[str, tuple[str, ...], int]:
    """Return the function that evolves, further ones that the evaluator or the fixed text uses, and the block count.

    The first one is preferably one that the evaluator calls.
    """
    program = _name_program(layout)
    frame = regions.split_frame(layout.seed)
    inside = [name for block in (frame[1::2] if frame else (layout.seed,)) for name in DEFINED.findall(block)]
    if not inside:
        where = "between the markers" if frame else "in it"
        raise ProblemError(
            f"{program} defines no function at the top level {where}: oragent needs one that evolves, and no class"
        )
    used = re.findall(r"[A-Za-z_]\w*", "".join((layout.scorer, *frame[::2])))
    users = [name for name in inside if name in used]
    if layout.kind in ("cases", "files", "program"):
        function, users = ("main" if layout.kind == "program" else "solve"), []
    elif layout.kind == "callable":
        function, users = inside[-1], []
    else:
        called = {name for match in CALLED.findall(layout.scorer) for name in match if name}
        function = next((name for name in inside if name in called), (users or inside)[0])
    match = inspect_program(layout.seed, signature_of(layout.seed, function))
    if match.problem:
        raise ProblemError(f"{program} cannot be used: {match.problem}")
    others = tuple(name for name in dict.fromkeys(users) if name != function and not name.startswith("_"))
    return function, others, len(frame) // 2


def _read_axes(config: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the names of the features, and remarks about those that are left out."""
    named = _get_section(config, "database").get("feature_dimensions")
    # Only texts are accepted, because a list that contains itself would be written without end.
    names = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    lost = [
        "database.feature_dimensions: diversity is left out, as it depends on which other programs there are"
        for name in names
        if name == "diversity"
    ]
    return [name for name in names if name != "diversity"], lost


def _make_description(
    task: Path, name: str, function: str, layout: ForeignTask, config: Mapping[str, Any], axes: list[str]
) -> dict[str, Any]:
    try:
        docstring = documentation(layout.seed, function)
    except CandidateError:
        docstring = ""
    system_message = _get_section(config, "prompt").get("system_message")
    message = system_message.strip() if isinstance(system_message, str) else layout.description
    bins = _get_section(config, "database").get("feature_bins")
    count = bins if isinstance(bins, int) and bins > 1 else DEFAULT_BINS
    timeout = _get_section(config, "evaluator").get("timeout")
    about: dict[str, Any] = {
        "title": f"{name.replace('_', ' ')} (imported)",
        "description": message or docstring or f"Improve the function {function}.",
        "function": function,
        "direction": layout.direction,
        "timeout_s": float(timeout)
        if isinstance(timeout, int | float) and 0 < timeout <= MAX_TIMEOUT_S
        else layout.timeout_s or DEFAULT_TIMEOUT_S,
    }
    if axes:
        about["features"] = [
            {"name": axis, "bins": count, "kind": "number", "meaning": f"{axis}, as the task's evaluator gives it"}
            for axis in axes
        ]
    if layout.kind in INPUTS:
        about["input"] = INPUTS[layout.kind]
    about["notes"] = f"Imported from {task.name}, a task for another framework."
    return about


def _list_taken(layout: ForeignTask, settings: Mapping[str, Any], blocks: int) -> Iterator[str]:
    part = f", within {blocks} marked block{'s' * (blocks > 1)}" if blocks else "; without markers all of it may change"
    yield f"{_name_program(layout)} as heuristic.py: {settings['function']} evolves{part}"
    scored = SCORED[layout.kind].format(entry=layout.entry)
    better = "lower" if layout.direction == "minimize" else "higher"
    yield f"{layout.evaluator} of {layout.framework}, unchanged, by eval.py; the score is {scored}, {better} is better"
    for axis in settings["features"]:
        yield f"{axis}: an axis of the archive, with bins from the first candidates"
    if settings.get("has_other_data"):
        yield "mode test: the evaluator draws other data, with other seeds"
    for name in settings["callbacks"]:
        yield f"{name}: a function of the evaluator that programs can call, with any arguments"


def _list_omitted(config: Mapping[str, Any], about: Mapping[str, Any]) -> Iterator[str]:
    taken = {"prompt": {"system_message"}, "evaluator": {"timeout"}, "database": {"feature_dimensions", "feature_bins"}}
    islands = _get_section(config, "database").get("num_islands")
    for key, value in config.items():
        rest = [str(name) for name in value if name not in taken.get(key, ())] if isinstance(value, dict) else []
        if key == "database" and islands:
            rest.remove("num_islands")
            yield f"database.num_islands: oragent run FOLDER archive.islands={islands}"
        if key == "evaluator" and "cascade_evaluation" in rest:
            rest.remove("cascade_evaluation")
            yield "evaluator.cascade_evaluation: evaluate_stage1 is mode train; oragent run FOLDER cascade=0.5 uses it"
        if rest or not isinstance(value, dict):
            names = f"{key}.{', '.join(rest)}" if rest else str(key)
            yield f"{names}: {HINTS.get(str(key), 'of that framework alone')}"


def _read_requirements(task: Path) -> tuple[list[str], list[str]]:
    """Return the modules of the task's requirements, and remarks about those that may have other names."""
    path = task / "requirements.txt"
    lines = read_source(path).split("\n") if path.is_file() else []
    names = [match[0].lower() for text in lines if (match := re.match(r"[A-Za-z0-9][\w.-]*", text.strip()))]
    packages = [name for name in names if name not in OF_THE_FRAMEWORK]
    modules = {name: MODULES.get(name, name.replace("-", "_")) for name in packages}
    installed = [module for module in modules.values() if find_spec(module) is not None]
    remarks = [
        f"requirements.txt: {name} is not installed, as far as its name tells: pip install it, and add its module to "
        "requires in problem.yaml"
        for name, module in modules.items()
        if module not in installed
    ]
    return installed, remarks


def _find_data(task: Path, layout: ForeignTask, data: Path | None) -> Path | None:
    """Return the folder with the data of a task, or None for a layout without data.

    Raises:
        ProblemError: The data are missing.
    """
    place = DATA_FOLDERS.get(layout.kind)
    source = f"get them from {DATA_SOURCES.get(layout.framework)}, and name their folder with --data DIR"
    if place is None:
        if data is not None:
            raise ProblemError(f"a task for {layout.framework} has no folder of data: leave --data out")
        return None
    if data is None and layout.kind == "program" and (task / layout.evaluator).with_name("gen").is_file():
        # The inputs are made of the seeds when a program is scored.
        return None
    if data is None:
        data = task if layout.kind == "cases" and not (task / place).is_dir() else task / place
    if not data.is_dir() or all(path.suffix in (".py", ".md") for path in data.rglob("*") if path.is_file()):
        raise ProblemError(f"{data} has no data of the task {task.name}: {source}")
    return data


def _write_folder(folder: Path, task: Path, layout: ForeignTask, data: Path | None) -> None:
    """Create the folder with the files of the task, without links, its data and its seed.

    Raises:
        ProblemError: The folder exists or cannot be created, or the data are missing or too large.
    """
    data, place = _find_data(task, layout, data), DATA_FOLDERS.get(layout.kind, "")
    shared_parts = _find_shared_parts(task, layout)
    folders = [task, *shared_parts]
    if data is not None and not data.resolve().is_relative_to(task):
        folders.append(data)
    size = sum(path.stat().st_size for base in folders for path in _walk_files(base))
    if size > MAX_BYTES:
        raise ProblemError(
            f"{task} has {size >> 20} MiB, at most {MAX_BYTES >> 20} are copied: move large data elsewhere"
        )
    if any(folder.resolve().is_relative_to(base.resolve()) for base in folders):
        raise ProblemError(f"{folder} is in a folder that is copied: choose another place with --parent")
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ProblemError(f"{folder} already exists: choose another name with --name") from None
    except OSError as problem:
        raise ProblemError(f"{folder} cannot be created: {problem}") from None
    with _discard_on_failure(folder):
        copy = folder / TASK
        shutil.copytree(
            task, copy, symlinks=True, ignore=lambda base, names: _names_to_skip(base, names, task, data == task)
        )
        if data not in (None, task / place):
            ignore = shutil.ignore_patterns("__pycache__", ".*", "*.py")
            shutil.copytree(data, copy / place, dirs_exist_ok=True, ignore=ignore)
        for shared in shared_parts:
            shutil.copytree(shared, copy / shared.name, symlinks=True, ignore=_skip_links)
        (copy / (layout.program or SEED)).write_text(layout.seed, encoding="utf-8")
        (folder / "heuristic.py").write_text(layout.seed, encoding="utf-8")


def _find_shared_parts(task: Path, layout: ForeignTask) -> list[Path]:
    """Return packages beside a task of LLM4AD_Next that its evaluator imports, such as ``_shared``."""
    if layout.kind != "project":
        return []
    names = set(re.findall(r"^(?:from|import)\s+(_\w+)", layout.scorer, re.MULTILINE))
    folders = [task.parent / name for name in sorted(names)]
    return [path for path in folders if path.is_dir() and not path.is_symlink() and not (task / path.name).exists()]


def _walk_files(base: Path) -> Iterator[Path]:
    """Yield the files of a folder, without links and without the output of a compiler."""
    for path in base.rglob("*"):
        if path.is_file() and not path.is_symlink() and (not _is_built(path, base) or path.name in BUILT):
            yield path


def _is_built(path: Path, base: Path) -> bool:
    return path.is_relative_to(base / BUILD)


@contextmanager
def _discard_on_failure(folder: Path) -> Iterator[None]:
    """Remove a new folder if it cannot be completed, also by an interrupt, so that the import can be repeated."""
    try:
        yield
    except BaseException as problem:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(problem, OSError | shutil.Error):
            raise ProblemError(f"{folder} cannot be created: {problem}") from None
        raise


def _write_settings(folder: Path, layout: ForeignTask, about: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Write ``eval.py`` and ``problem.yaml``."""
    shown = "".join(
        f"\n    {name}={_show_value(value)}," for name, value in settings.items() if value not in ("", (), None)
    )
    script = SCRIPT.format(
        framework=layout.framework,
        evaluator=layout.evaluator,
        folder=TASK,
        explanation=FORGEABLE if about.get("forgeable") else ISOLATED,
        settings=f"{shown}\n",
    )
    (folder / "eval.py").write_text(script, encoding="utf-8")
    text = yaml.safe_dump(dict(about), sort_keys=False, allow_unicode=True, width=110)
    (folder / "problem.yaml").write_text(text, encoding="utf-8")


def _show_value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({''.join(f'{_show_value(item)}, ' for item in value).rstrip()})"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _names_to_skip(base: str, names: list[str], task: Path, has_cases: bool) -> set[str]:
    """Return the names in a folder that are not copied; with cases next to its modules, also those."""
    if has_cases and Path(base) == task:
        names = [name for name in names if name.endswith(".py")]
        others = {path.name for path in task.iterdir()} - set(names)
    else:
        others = set()
    if _is_built(Path(base), task):
        # Of what a compiler made, only the tools are needed.
        return {name for name in names if name not in BUILT}
    top = {*CONFIGS, *LEFT_BEHIND} if Path(base) == task else {"__pycache__"}
    return others | {name for name in names if name in top or name.startswith(".") or Path(base, name).is_symlink()}


def _skip_links(base: str, names: list[str]) -> set[str]:
    return {name for name in names if name in LEFT_BEHIND or name.startswith(".") or Path(base, name).is_symlink()}


def _get_section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = config.get(name)
    if isinstance(section, dict):
        return section
    return {}
