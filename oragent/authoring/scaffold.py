"""Create the folder of a problem: from a template that works at once, from another problem, or from a foreign task.

A task has a program, an evaluator, and optionally a configuration (``foreign_tasks``). Each part that cannot be
converted is listed. The folder is untrusted: links in it are left out, and its programs are parsed in a child process
with limits.
"""

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from oragent._base.errors import CandidateError, ProblemError
from oragent._base.safe_load import parse_yaml
from oragent.authoring.foreign_tasks import ForeignTask, read_source, read_task
from oragent.evaluation.problem import Problem
from oragent.programs import regions
from oragent.programs.inspection import documentation, inspect_program, signature_of

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Files of each template, by the name that they get.
FULL_FILES = {"problem.yaml": "problem.yaml", "eval.py": "eval.py.txt", "heuristic.py": "heuristic.py.txt"}
SOURCES = {
    "full": FULL_FILES,
    # Template in which ``eval.py`` imports no part of oragent.
    "plain": {**FULL_FILES, "eval.py": "plain_eval.py.txt"},
    # Template with one size, without features, drawing and fresh instances.
    "minimal": {
        "problem.yaml": "minimal_problem.yaml",
        "eval.py": "minimal_eval.py.txt",
        "heuristic.py": "minimal_heuristic.py.txt",
    },
}
CONFIGS = ("config.yaml", "config.yml")
LEFT_BEHIND = ("requirements.txt", "openevolve_output", "results", "outputs", "__pycache__")
DEFINED = re.compile(r"^def ([A-Za-z_]\w*)", re.MULTILINE)
CALLED = re.compile(
    r"\bprogram\.([A-Za-z_]\w*)\(|experiment_fn_name\s*=\s*[\"'](\w+)[\"']|hasattr\(\w+, [\"'](\w+)[\"']"
)
MAX_BYTES, MAX_CONFIG = 500 << 20, 1 << 20
DEFAULT_BINS, DEFAULT_TIMEOUT_S = 10, 300.0
MODULES = {"scikit-learn": "sklearn", "opencv-python": "cv2", "pyyaml": "yaml", "pillow": "PIL"}
OF_THE_FRAMEWORK = frozenset(("openevolve", "shinka", "shinka-evolve", "eoh", "alpha-evolve"))
HINTS = {
    "llm": "name a model with --model, and its server with OPENAI_BASE_URL",
    "max_iterations": "oragent run FOLDER --evaluations N",
    "random_seed": "oragent run FOLDER --seed N",
    "diff_based_evolution": "strategies choose themselves between edits and whole programs",
}


def new(name: str, parent: Path, template: str = "full") -> Path:
    """Create the folder of a new problem in ``parent``. ``template`` is ``full``, ``plain`` or ``minimal``."""
    if not NAME.fullmatch(name):
        raise ProblemError(f"{name!r} is not a name for a problem: use letters, digits and _, such as my_problem")
    folder = parent / name
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        for target, source in SOURCES[template].items():
            text = (files("oragent.authoring") / "template" / source).read_text(encoding="utf-8")
            (folder / target).write_text(text, encoding="utf-8")
    except FileExistsError as problem:
        raise ProblemError(f"{problem.filename} already exists: choose another name") from None
    except OSError as problem:
        raise ProblemError(f"{folder} cannot be created: {problem.strerror}") from None
    return folder


def copy(problem: Problem, parent: Path) -> Path:
    """Copy a problem's folder into ``parent``. There, its name then means the copy."""
    folder = parent / problem.name
    try:
        shutil.copytree(problem.folder, folder, ignore=shutil.ignore_patterns("__pycache__", "*.nb[ci]"))
    except FileExistsError:
        advice = "name another folder for the copy with --to FOLDER"
        raise ProblemError(f"{folder} already exists: {advice}") from None
    except (OSError, shutil.Error) as fault:
        raise ProblemError(f"{folder} cannot be created: {getattr(fault, 'strerror', None) or fault}") from None
    for path in (folder, *folder.rglob("*")):
        # Files installed by a package manager may be read-only.
        path.chmod(path.stat().st_mode | 0o200)
    return folder


@dataclass(frozen=True)
class ImportedTask:
    """Problem made from a task: its folder, and a line for each part that was converted or left out."""

    folder: Path
    taken: tuple[str, ...]
    omitted: tuple[str, ...]


def import_task(task: Path, parent: Path, name: str | None = None) -> ImportedTask:
    """Create a problem's folder from a task for another framework.

    Raises:
        ProblemError: The folder has no known layout, or a part cannot be used.
    """
    task = task.resolve()
    name = name or re.sub(r"\W+", "_", task.name)
    if not NAME.fullmatch(name):
        raise ProblemError(f"{name!r} is not a name for a problem: give one with --name, of letters, digits and _")
    found = read_task(task)
    config = _read_config(task)
    program = found.program or f"template_program of {found.entry}"
    function, blocks = _find_function(found.seed, found.scorer, program)
    axes, lost = _read_axes(config)
    about = _make_description(task, name, function, found, config, axes)
    omitted = [*lost, *_list_omitted(config, about)]
    requires, unknown = _read_requirements(task)
    if requires:
        about |= {"requires": requires}
    folder = parent / name
    _write_folder(folder, task, found, about, function, axes)
    part = f", within {blocks} marked block{'s' * (blocks > 1)}"
    scored = {
        "module": "the score is combined_score, or the mean of its metrics",
        "eoh": f"the score is what {found.entry}.evaluate_program returns, lower is better",
        "alphaevolve": f"the score is the first one that {found.entry} returns, higher is better",
    }
    taken = [
        f"{program} as heuristic.py: {function} evolves{part if blocks else '; without markers all of it may change'}",
        f"{found.evaluator} of {found.framework}, by an eval.py that calls it; {scored[found.kind]}",
        *(f"{axis}: an axis of the archive, with bins from the first candidates" for axis in axes),
    ]
    return ImportedTask(folder, tuple(taken), (*omitted, *unknown))


def _read_config(task: Path) -> dict[str, Any]:
    path = next((task / name for name in CONFIGS if (task / name).is_file()), None)
    if path is None:
        return {}
    if path.stat().st_size > MAX_CONFIG:
        raise ProblemError(f"{path} is too long for a configuration")
    try:
        config = parse_yaml(read_source(path)) or {}
    except yaml.YAMLError as problem:
        raise ProblemError(f"{path} is not YAML: {' '.join(str(problem).split())}") from None
    if not isinstance(config, dict):
        raise ProblemError(f"{path} must contain keys and values")
    return config


def _find_function(seed: str, scorer: str, program: str) -> tuple[str, int]:
    """Return the function that evolves, preferably one that the evaluator calls, and the number of blocks."""
    frame = regions.split_frame(seed)
    inside = [name for block in (frame[1::2] if frame else (seed,)) for name in DEFINED.findall(block)]
    if not inside:
        where = "between the markers" if frame else "in it"
        raise ProblemError(f"{program} defines no function at the top level {where}: oragent needs one that evolves")
    called = {name for match in CALLED.findall(scorer) for name in match if name}
    function = next((name for name in inside if name in called), inside[0])
    match = inspect_program(seed, signature_of(seed, function))
    if match.problem:
        raise ProblemError(f"{program} cannot be used: {match.problem}")
    return function, len(frame) // 2


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
    task: Path, name: str, function: str, found: ForeignTask, config: Mapping[str, Any], axes: list[str]
) -> dict[str, Any]:
    try:
        docstring = documentation(found.seed, function)
    except CandidateError:
        docstring = ""
    system_message = _get_section(config, "prompt").get("system_message")
    message = system_message.strip() if isinstance(system_message, str) else found.description
    bins = _get_section(config, "database").get("feature_bins")
    count = bins if isinstance(bins, int) and bins > 1 else DEFAULT_BINS
    timeout = _get_section(config, "evaluator").get("timeout")
    about: dict[str, Any] = {
        "title": f"{name.replace('_', ' ')} (imported)",
        "description": message or docstring or f"Improve the function {function}.",
        "function": function,
        "direction": found.direction,
        "timeout_s": float(timeout) if isinstance(timeout, int | float) and timeout > 0 else DEFAULT_TIMEOUT_S,
    }
    if axes:
        about["features"] = [
            {"name": axis, "bins": count, "kind": "number", "meaning": f"{axis}, as the task's evaluator gives it"}
            for axis in axes
        ]
    about["notes"] = f"Imported from {task.name}, a task for another framework."
    return about


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


def _write_folder(
    folder: Path, task: Path, found: ForeignTask, about: Mapping[str, Any], function: str, axes: list[str]
) -> None:
    """Create the folder: the files of the task, without links, and the three files of a problem."""
    size = sum(path.stat().st_size for path in task.rglob("*") if path.is_file() and not path.is_symlink())
    if size > MAX_BYTES:
        raise ProblemError(
            f"{task} has {size >> 20} MiB, at most {MAX_BYTES >> 20} are copied: move large data elsewhere"
        )
    template = (files("oragent.authoring") / "template" / "task_eval.py.txt").read_text(encoding="utf-8")
    evaluator = Path(found.evaluator)
    values = {
        "EVALUATOR": evaluator.stem,
        "PLACE": str(evaluator.parent),
        "FEATURES": repr(tuple(axes)),
        "KIND": found.kind,
        "ENTRY": found.entry,
        "FUNCTION": function,
        "PROGRAM": Path(found.program or "heuristic.py").name,
    }
    script = template
    for key, value in values.items():
        script = script.replace(f"@{key}@", value)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.exists():
            raise FileExistsError(17, "exists", str(folder))
        shutil.copytree(
            task, folder, symlinks=True, ignore=lambda base, names: _names_to_skip(Path(base), names, task, found)
        )
        (folder / "heuristic.py").write_text(found.seed, encoding="utf-8")
        (folder / "eval.py").write_text(script, encoding="utf-8")
        text = yaml.safe_dump(dict(about), sort_keys=False, allow_unicode=True, width=110)
        (folder / "problem.yaml").write_text(text, encoding="utf-8")
    except FileExistsError:
        raise ProblemError(f"{folder} already exists: choose another name with --name") from None
    except OSError as problem:
        raise ProblemError(f"{folder} cannot be created: {problem.strerror}") from None


def _names_to_skip(base: Path, names: list[str], task: Path, found: ForeignTask) -> set[str]:
    if base == task:
        # An evaluator of AlphaEvolve may read its program when it is imported.
        program = found.program if found.kind == "module" else ""
        top = {program, *CONFIGS, *LEFT_BEHIND}
    else:
        top = {"__pycache__"}
    return {name for name in names if name in top or name.startswith(".") or (base / name).is_symlink()}


def _get_section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = config.get(name)
    if isinstance(section, dict):
        return section
    return {}
