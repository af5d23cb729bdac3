"""Layouts of tasks for other frameworks: the file of the program, the file that scores it, and the interface.

- OpenEvolve 0.4 and ShinkaEvolve 0.0.7: a program and an evaluator in two files with fixed names.
- EoH 0.2: ``prob.py`` with a subclass of ``BaseProblem``; the program is its attribute ``template_program``.
- LLM4AD 1.11: ``evaluation.py`` with a subclass of ``Evaluation``; ``template_program`` is there or in ``template.py``.
- CO-Bench: ``config.py`` with ``load_data``, ``eval_func`` and a template of ``solve``; the data are the other files.
- HeuriGym: ``program/evaluator.py`` and ``program/verifier.py``; instances in ``dataset``, the text in ``README.md``.
- LLM4AD_Next 1.1: ``config.yaml`` names a class of an evaluator, the folder of the program and the files with data; the
  program is a script with markers ``EVOLVE_START`` and ``EVOLVE_END``.
- ALE-Bench: ``data.json``, ``statement_en.md`` and ``tools`` with the built tester of a problem's archive; the program
  is ``main.py``.
- AlphaEvolve on Google Cloud: ``program.py`` and ``evaluate.py``, in the folder or in ``src/``; the evaluator takes a
  candidate with its files and returns an evaluation with scores.

The texts are untrusted. They are searched by patterns and not executed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from oragent._base.errors import ProblemError
from oragent._base.files import MAX_ARGUMENT_BYTES, read_bounded
from oragent._base.safe_load import parse_json, parse_yaml

PROGRAMS = ("initial_program.py", "initial.py")
EVALUATORS = ("evaluator.py", "evaluate.py")
HEURIGYM = "program/evaluator.py"
# Description of a problem of ALE-Bench, its tester, and the file of the program, which ALE-Bench does not have.
ALE_DATA, TESTER, ALE_PROGRAM = "data.json", "tools/target/release/tester", "main.py"
# Configuration of a task, and its largest number of bytes.
CONFIGS, MAX_CONFIG = ("config.yaml", "config.yml"), 1 << 20
# Markers of LLM4AD_Next and those of problems.
NEXT_MARKERS, MARKERS = ("# EVOLVE_START", "# EVOLVE_END"), ("# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END")
NEXT_CASE_S, MAX_TIMEOUT_S = 60.0, 1e6
# Times of the problem that a case may take, as its time contains messages, and seconds of an evaluation besides.
ALE_PATIENCE, ALE_MARGIN_S = 2.0, 20.0
DRIVERS = ("run_evolution.py", "run_experiment.py", "run.py")
# Quoted texts of one line: one, and several adjacent ones.
DOUBLE, SINGLE = r'"(?:[^"\\\n]|\\[\s\S])*"', r"'(?:[^'\\\n]|\\[\s\S])*'"
TEXTS = rf"((?:\s*(?:{DOUBLE}|{SINGLE}))+)"
LITERAL = re.compile(rf"{DOUBLE}|{SINGLE}")
TRIPLE = r"(\"\"\"|''')(.*?)\1"
# Attributes of a problem class of EoH or variables of LLM4AD, and the name of the class.
TEMPLATE = re.compile(rf"^\s*template_program\s*(?::\s*str\s*)?=\s*r?{TRIPLE}", re.MULTILINE | re.DOTALL)
DESCRIBED = re.compile(rf"^\s*task_description\s*(?::\s*str\s*)?=\s*\(?{TEXTS}", re.MULTILINE)
LONG_DESCRIBED = re.compile(rf"^\s*task_description\s*(?::\s*str\s*)?=\s*{TRIPLE}", re.MULTILINE | re.DOTALL)
CLASS = re.compile(r"^class\s+([A-Za-z_]\w*)\s*\([^)\n]*\b(?:BaseProblem|Evaluation)\b[^)\n]*\)\s*:", re.MULTILINE)
# Text of a problem of CO-Bench, and its template of a program.
DESCRIPTION = re.compile(rf"^DESCRIPTION\s*=\s*r?{TRIPLE}", re.MULTILINE | re.DOTALL)
SOLVE = re.compile(r"^def solve\(.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
# Seconds of one call in CO-Bench.
CALL_S = 10.0
# Seconds of an evaluation.
TIMEOUT = re.compile(r"\btimeout(?:_seconds)?\s*(?::[^=,)\n]*)?=\s*(\d+(?:\.\d+)?)")
# Function that a driver of AlphaEvolve passes on, function whose first argument is a candidate, and the description.
PASSED = re.compile(r"AlphaEvolveExperiment\(\s*\w+\s*,\s*([A-Za-z_]\w*)")
TAKES_CANDIDATE = re.compile(r"^def\s+([A-Za-z_]\w*)\(\s*\w*candidate\b", re.MULTILINE)
PROBLEM_TEXT = re.compile(rf"[\"']problem_description[\"']\s*:\s*\(?{TEXTS}")
NUMPY, IMPORTS_NUMPY = re.compile(r"\bnp\."), re.compile(r"^import numpy as np\b", re.MULTILINE)
TYPES, TYPING = (
    re.compile(r"\b(Any|Callable|Dict|List|Optional|Set|Tuple|Union)\["),
    re.compile(r"^(?:from|import) typing\b", re.M),
)


@dataclass(frozen=True)
class ForeignTask:
    """A task in one of the known layouts."""

    # Framework, for the user.
    framework: str
    # Kind of evaluator, as in `oragent.harness.foreign`.
    kind: str
    # Path of the program below the folder; empty if it is part of the evaluator's file.
    program: str
    # Text of the program.
    seed: str
    # Path of the evaluator below the folder, and its text.
    evaluator: str
    scorer: str
    # Class or function of the evaluator that is called; empty for ``module``.
    entry: str = ""
    # Text of the problem; empty without one.
    description: str = ""
    direction: str = "maximize"
    # Seconds of an evaluation; None if the layout states no limit.
    timeout_s: float | None = None
    # Wall seconds of one call; None if the layout states no limit.
    call_s: float | None = None
    # Folder of a project, and its files with data.
    project: str = ""
    data: tuple[str, ...] = ()


class Layout(StrEnum):
    """Layouts of tasks."""

    EOH = "EoH"
    CO_BENCH = "CO-Bench"
    HEURIGYM = "HeuriGym"
    LLM4AD_NEXT = "LLM4AD_Next"
    ALE_BENCH = "ALE-Bench"
    LLM4AD = "LLM4AD"
    ALPHAEVOLVE = "AlphaEvolve"
    # Also that of ShinkaEvolve.
    OPENEVOLVE = "OpenEvolve"


def find_layout(task: Path, config: Mapping[str, Any]) -> Layout | None:
    """Return the layout of which a folder has an evaluator, also if another part of the task is missing; else None.

    Args:
        task: The folder.
        config: Content of its ``config.yaml``.
    """
    if (task / "prob.py").is_file():
        return Layout.EOH
    if _has_text(task / "config.py", "def eval_func"):
        return Layout.CO_BENCH
    if (task / HEURIGYM).is_file():
        return Layout.HEURIGYM
    if _names_next_evaluator(config):
        return Layout.LLM4AD_NEXT
    if (task / TESTER).parents[2].is_dir() and (task / ALE_DATA).is_file():
        return Layout.ALE_BENCH
    if (task / "evaluation.py").is_file():
        return Layout.LLM4AD
    if _find_alphaevolve(task) is not None:
        return Layout.ALPHAEVOLVE
    # The frameworks' own packages have modules with the names of evaluators, and no programs.
    is_package = (task / "__init__.py").is_file() and not any((task / name).is_file() for name in PROGRAMS)
    if not is_package and any((task / name).is_file() for name in EVALUATORS):
        return Layout.OPENEVOLVE
    return None


def is_task(folder: Path) -> bool:
    """Return True if a folder has a known layout, also if a part of the task is missing."""
    try:
        config = read_config(folder)
    except ProblemError:
        config = {}
    return find_layout(folder, config) is not None


def read_task(task: Path, config: Mapping[str, Any], seed: Path | None = None, data: Path | None = None) -> ForeignTask:
    """Recognise the layout of a task's folder and read its parts.

    Args:
        task: The folder.
        config: Content of its ``config.yaml``.
        seed: Program in the place of that of the task.
        data: Folder with data in the place of that of the task.

    Raises:
        ProblemError: The folder has none of the layouts, or a part cannot be read.
    """
    if not task.is_dir():
        raise ProblemError(f"{task} is not a folder: expected the folder of a task")
    layout = find_layout(task, config)
    if layout is Layout.EOH:
        return _read_class(task, layout, "prob.py")
    if layout is Layout.CO_BENCH:
        return _read_co_bench(task)
    if layout is Layout.HEURIGYM:
        return _read_heurigym(task, seed)
    if layout is Layout.LLM4AD_NEXT:
        return _read_next(task, config)
    if layout is Layout.ALE_BENCH:
        return _read_ale_bench(task, seed, data or task / "inputs")
    if layout is Layout.LLM4AD:
        return _read_class(task, layout, "evaluation.py")
    if layout is Layout.ALPHAEVOLVE:
        return _read_alphaevolve(task, _find_alphaevolve(task) or "")
    program, evaluator = (_find_file(task, names) for names in (PROGRAMS, EVALUATORS))
    scorer = read_source(task / evaluator)
    if not re.search(r"^def (?:evaluate|main)\b", scorer, re.MULTILINE):
        raise ProblemError(f"{task / evaluator} defines neither evaluate(program_path) nor main(program_path, ...)")
    framework = "ShinkaEvolve" if program == PROGRAMS[1] else "OpenEvolve"
    return ForeignTask(framework, "module", program, read_source(task / program), evaluator, scorer)


def read_config(task: Path) -> dict[str, Any]:
    """Read the configuration of a task; empty without one.

    Raises:
        ProblemError: It is not YAML, contains no keys and values, or is too long.
    """
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


def read_source(path: Path) -> str:
    """Read a text of a task.

    Raises:
        ProblemError: It cannot be read.
    """
    try:
        return read_bounded(path, MAX_ARGUMENT_BYTES)
    except (OSError, UnicodeDecodeError) as problem:
        raise ProblemError(f"{path} cannot be read: {problem}") from None


def _has_text(path: Path, text: str) -> bool:
    try:
        return path.is_file() and text in read_source(path)
    except ProblemError:
        return False


def _find_alphaevolve(task: Path) -> str | None:
    """Return the folder with the two files of a task of AlphaEvolve, as the beginning of a path; None without them."""
    for folder in ("", "src/"):
        if all((task / folder / name).is_file() for name in ("program.py", "evaluate.py")):
            return folder
    return None


def _read_class(task: Path, framework: str, name: str) -> ForeignTask:
    """Read a task of EoH or LLM4AD, whose evaluator is a class."""
    scorer = read_source(task / name)
    beside = task / "template.py"
    text = f"{scorer}\n{read_source(beside)}" if framework == "LLM4AD" and beside.is_file() else scorer
    named, template = CLASS.search(scorer), TEMPLATE.search(text)
    if named is None or template is None:
        base = "BaseProblem" if framework == "EoH" else "Evaluation"
        raise ProblemError(
            f"{task / name}: expected a subclass of {base}, and template_program in triple quotes, "
            f"as {framework} has them"
        )
    seed = f"{template[2].strip()}\n"
    if NUMPY.search(seed) and not IMPORTS_NUMPY.search(seed):
        # The framework gives this name to every program.
        seed = f"import numpy as np\n\n\n{seed}"
    if not TYPING.search(seed) and (names := sorted(set(TYPES.findall(seed)))):
        # Without this line the program of some tasks cannot be executed.
        seed = f"from typing import {', '.join(names)}\n{seed}"
    if long := LONG_DESCRIBED.search(text):
        described = " ".join(long[2].split())
    else:
        described = _join_texts(DESCRIBED.search(text))
    limit = TIMEOUT.search(scorer)
    return ForeignTask(
        framework,
        "callable",
        "",
        seed,
        name,
        scorer,
        named[1],
        described,
        "minimize" if framework == "EoH" else "maximize",
        float(limit[1]) if limit and float(limit[1]) > 0 else None,
    )


def _read_co_bench(task: Path) -> ForeignTask:
    scorer = read_source(task / "config.py")
    solve = SOLVE.search(scorer)
    if solve is None or not re.search(r"^def eval_func\b", scorer, re.MULTILINE):
        raise ProblemError(f"{task / 'config.py'}: expected the functions load_data, eval_func and solve of CO-Bench")
    described = DESCRIPTION.search(scorer)
    text = described[2].strip() if described else ""
    return ForeignTask(
        "CO-Bench", "cases", "", f"{solve[0].strip()}\n", "config.py", scorer, "", text, "maximize", None, CALL_S
    )


def _read_heurigym(task: Path, seed: Path | None) -> ForeignTask:
    lacking = f"{task} cannot be imported as a task of HeuriGym: it lacks"
    for name in ("README.md", "program/verifier.py"):
        if not (task / name).is_file():
            raise ProblemError(f"{lacking} {name}; write it first")
    program = seed or task / "program/solver.py"
    if seed is None and not program.is_file():
        raise ProblemError(f"{lacking} program/solver.py; write it first, or name a program with --seed FILE")
    scorer = read_source(task / HEURIGYM)
    baseline = task / "baseline" / "baseline.json"
    direction = "maximize" if baseline.is_file() else "minimize"
    text = read_source(task / "README.md").strip()
    source = read_source(program)
    return ForeignTask("HeuriGym", "files", "program/solver.py", source, HEURIGYM, scorer, "solve", text, direction)


def _names_next_evaluator(config: Mapping[str, Any]) -> bool:
    evaluator = config.get("evaluator")
    return isinstance(evaluator, dict) and ".py:" in str(evaluator.get("module"))


def _read_next(task: Path, config: Mapping[str, Any]) -> ForeignTask:
    evaluator, versions = config["evaluator"], config.get("version_control")
    path, _, entry = str(evaluator["module"]).rpartition(":")
    local_path = versions.get("local_path") if isinstance(versions, dict) else None
    module, project = (_find_part(task, name) for name in (path, str(local_path or "")))
    sources = {str(file.relative_to(task)): read_source(file) for file in sorted((task / project).rglob("*.py"))}
    marked = [name for name, text in sources.items() if all(mark in text for mark in NEXT_MARKERS)]
    if not local_path or not marked:
        raise ProblemError(
            f"{task}: expected version_control.local_path in config.yaml, and there a program with markers"
        )
    seed = sources[marked[0]]
    for old, new in zip(NEXT_MARKERS, MARKERS, strict=True):
        seed = seed.replace(old, new)
    timeout = evaluator.get("timeout")
    is_limit = isinstance(timeout, int | float) and 0 < timeout <= MAX_TIMEOUT_S
    case_s = float(timeout) if is_limit else NEXT_CASE_S
    data = _list_data(task, evaluator.get("dataset"))
    text = str(config.get("background") or config.get("description_en") or "").strip()
    return ForeignTask(
        "LLM4AD_Next", "project", marked[0], seed, module, read_source(task / module), entry, text, "maximize",
        case_s * max(len(data), 1), case_s, project, data,
    )  # fmt: skip


def _find_part(task: Path, name: str) -> str:
    """Return the path of a part below a task, also if it is given from the folder above."""
    path = Path(name)
    if path.parts[:1] == (task.name,):
        path = path.relative_to(task.name)
    if path.is_absolute() or ".." in path.parts or not (task / path).exists():
        raise ProblemError(f"{task} has no {name}, which config.yaml names")
    return str(path)


def _list_data(task: Path, dataset: Any) -> tuple[str, ...]:
    """Return the paths of the files with data, below the task."""
    if not isinstance(dataset, dict) or not any(dataset.get(name) for name in ("files", "path", "pattern")):
        return ()
    if not (paths := _find_files(task, dataset)):
        raise ProblemError(f"{task} has no data: dataset of config.yaml names no file in it")
    return paths


def _find_files(task: Path, dataset: Mapping[str, Any]) -> tuple[str, ...]:
    mode = dataset.get("mode", "files")
    if mode == "files":
        names = dataset.get("files")
        return tuple(_find_part(task, str(name)) for name in names) if isinstance(names, list) else ()
    base = _find_part(task, str(dataset.get("path") or "."))
    pattern = str(dataset.get("pattern") or "*") if mode == "glob" else "*"
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise ProblemError(f"{task}: the pattern {pattern} of config.yaml leads out of the task")
    is_deep = mode == "directory" and dataset.get("recursive", True)
    try:
        paths = sorted((task / base).rglob(pattern) if is_deep else (task / base).glob(pattern))
    except (ValueError, NotImplementedError):
        raise ProblemError(f"{task}: {pattern} of config.yaml is not a pattern of files") from None
    return tuple(str(path.relative_to(task)) for path in paths if path.is_file() and not path.is_symlink())


def _read_ale_bench(task: Path, seed: Path | None, inputs: Path) -> ForeignTask:
    try:
        data = parse_json(read_source(task / ALE_DATA))
        metadata, seeds = data["metadata"], data.get("seeds") or {}
        title, direction = str(metadata["title"]), str(metadata["score_type"])
        time_limit = float(data["constraints"]["time_limit"])
        counts = [(len(seeds.get(name, ())), len([*(inputs / name).glob("*.txt")])) for name in ("public", "private")]
        count = max(1, *map(max, counts))
        if not 0 < time_limit <= MAX_TIMEOUT_S:
            raise ValueError("time_limit must be positive")
        if metadata["problem_type"] not in ("batch", "reactive") or direction not in ("minimize", "maximize"):
            raise ValueError("unknown problem_type or score_type")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise ProblemError(f"{task / ALE_DATA} does not describe a problem of ALE-Bench: {problem!r}") from None
    if not (task / TESTER).is_file():
        raise ProblemError(f"{task / TESTER} is missing: build it with 'cargo build --release' in {task / 'tools'}")
    program = seed or task / ALE_PROGRAM
    if seed is None and not program.is_file():
        raise ProblemError(
            f"{task} has no program: write {ALE_PROGRAM} with a function main() that reads standard input and writes "
            "standard output, or name one with --seed FILE"
        )
    statement = task / "statement_en.md"
    text = read_source(statement).strip() if statement.is_file() else title
    call_s = ALE_PATIENCE * time_limit
    return ForeignTask(
        "ALE-Bench", "program", ALE_PROGRAM, read_source(program), TESTER, "", "main", text, direction,
        call_s * count + ALE_MARGIN_S, call_s,
    )  # fmt: skip


def _read_alphaevolve(task: Path, folder: str) -> ForeignTask:
    program, evaluator = f"{folder}program.py", f"{folder}evaluate.py"
    scorer = read_source(task / evaluator)
    drivers = [task / folder / name for name in DRIVERS if (task / folder / name).is_file()]
    driver = read_source(drivers[0]) if drivers else ""
    passed = PASSED.search(driver) or TAKES_CANDIDATE.search(scorer)
    if passed is None:
        raise ProblemError(
            f"{task / evaluator}: expected a function of a candidate, such as evaluate(program_candidate), which "
            "returns scores"
        )
    described = _join_texts(PROBLEM_TEXT.search(driver))
    seed = read_source(task / program)
    return ForeignTask("AlphaEvolve", "text", program, seed, evaluator, scorer, passed[1], described)


def _find_file(task: Path, names: tuple[str, ...]) -> str:
    for name in names:
        if (task / name).is_file():
            return name
    raise ProblemError(f"{task} cannot be imported as a task: it lacks {' or '.join(names)}")


def _join_texts(match: re.Match[str] | None) -> str:
    """Join the adjacent texts of a match; escaped quotes and lines are resolved."""
    if match is None:
        return ""
    joined = "".join(text[1:-1] for text in LITERAL.findall(match[1]))
    return " ".join(joined.replace("\\\n", "").replace("\\n", " ").replace('\\"', '"').replace("\\'", "'").split())
