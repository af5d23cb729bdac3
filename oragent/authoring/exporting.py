"""Export a problem as a task for another framework. Its evaluator calls oragent, which scores in the sandbox."""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from oragent import __version__
from oragent._base.direction import Direction
from oragent._base.errors import ProblemError
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.capabilities import mode_patience
from oragent.evaluation.problem import LimitSettings, Problem, load_problem
from oragent.programs import regions
from oragent.programs.inspection import inspect_program
from oragent.sandbox.messages import Limits

# Score of a failed program in frameworks that need a number.
WORST = -1e12
MARKERS = ("# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END")
# Folders of a problem with files that are not needed to score a program.
SKIPPED = ("__pycache__", "*.nb[ci]", "outputs")
# Parts of a text that are replaced.
KEY = re.compile("@([A-Z]+)@")
# Text of the set for a held-out score, which not all problems have.
TEST = "test\n"
HARBOR_TASK = """schema_version = "1.1"

[task]
name = @NAME@
description = @TITLE@
keywords = ["operations-research", "heuristics"]

[verifier]
timeout_sec = @SECONDS@.0

[agent]
timeout_sec = 3600.0

[environment]
build_timeout_sec = 1200.0
cpus = 2
memory_mb = 4096
"""
HARBOR_INSTRUCTION = """# @HEADING@

@DESCRIPTION@

The present program is `/app/heuristic.py`. Improve it in place: the function must keep its name and
arguments. It is scored on instances that you do not see; the reward is its gain over the present one.
"""
HARBOR_DOCKER = """FROM python:3.12-slim
RUN pip install --no-cache-dir operations-research-agents==@VERSION@
WORKDIR /app
COPY heuristic.py /app/
"""
OPENEVOLVE_CONFIG = """max_iterations: 100
prompt: {system_message: @QUOTED@}
evaluator: {timeout: @LIMIT@, cascade_evaluation: false}
"""
HEURIGYM_README = """# @HEADING@

@DESCRIPTION@

# Output

The output file has the text of a Python program with the function. The input names a set.
"""
HEURIGYM_SOLVER = """def solve(input_file: str, solution_file: str):
    program = @SEED@
    with open(solution_file, "w", encoding="utf-8") as file:
        file.write(program)
"""


@dataclass(frozen=True)
class _Layout:
    """Task of a framework."""

    # Command with ``{folder}``.
    command: str
    # Texts by path, with keys; or names of templates.
    texts: Mapping[str, str]
    # Place of the copy of the problem.
    problem_folder: str = "problem"


FRAMEWORKS = {
    "openevolve": _Layout(
        "python openevolve-run.py {folder}/initial_program.py {folder}/evaluator.py --config {folder}/config.yaml",
        {
            "initial_program.py": "@MARKED@",
            "evaluator.py": "export_openevolve.py.txt",
            "config.yaml": OPENEVOLVE_CONFIG,
        },
    ),
    "shinka": _Layout(
        "shinka_run --task-dir {folder} --config-fname {folder}/shinka.yaml",
        {
            "initial.py": "@MARKED@",
            "evaluate.py": "export_shinka.py.txt",
            "shinka.yaml": "evo: {task_sys_msg: @QUOTED@, language: python}\n",
        },
    ),
    "llm4ad": _Layout(
        "EoH(evaluation=OragentEvaluation(), ...), a class of {folder}/evaluation.py",
        {"evaluation.py": "export_llm4ad.py.txt", "template.txt": "@PROGRAM@", "description.txt": "@DESCRIPTION@"},
    ),
    "cobench": _Layout(
        "get_data('NAME', src_dir='DATA'), with {folder} in the folder DATA",
        {"config.py": "export_cobench.py.txt", "description.py": 'r"""@DOCSTRING@"""\n', "val": "val\n", "test": TEST},
        # All files without this ending are cases.
        "problem.py",
    ),
    "heurigym": _Layout(
        "python llm_solver_agent.py --problem NAME, with {folder} in its repository",
        {
            "README.md": HEURIGYM_README,
            "program/evaluator.py": "export_heurigym.py.txt",
            "program/verifier.py": 'from evaluator import verify\n\n__all__ = ["verify"]\n',
            "program/solver.py": HEURIGYM_SOLVER,
            "dataset/demo/val.txt": "val\n",
            "dataset/eval/test.txt": TEST,
        },
    ),
    "harbor": _Layout(
        "harbor run -p {folder} -a AGENT -m MODEL",
        {
            "task.toml": HARBOR_TASK,
            "instruction.md": HARBOR_INSTRUCTION,
            "environment/Dockerfile": HARBOR_DOCKER,
            "environment/heuristic.py": "@PROGRAM@",
            "tests/test.sh": "#!/bin/bash\npython /tests/score.py /app/heuristic.py /logs/verifier\n",
            "tests/score.py": "export_harbor.py.txt",
            "solution/solve.sh": "#!/bin/bash\n# The seed itself: reward 0.\ntrue\n",
        },
        "tests/problem",
    ),
}


@dataclass(frozen=True)
class ExportedTask:
    """Exported task: its folder, its files, and the command that uses it."""

    folder: Path
    files: tuple[str, ...]
    command: str


def export_task(problem: Problem, framework: str, folder: Path) -> ExportedTask:
    """Write a task for another framework.

    Args:
        problem: The problem. It must be self-contained, because its folder is copied.
        framework: One of ``FRAMEWORKS``.
        folder: New folder.

    Raises:
        ProblemError: The folder exists, the framework is unknown, or the candidates are not in Python.
    """
    if framework not in FRAMEWORKS:
        raise ProblemError(f"--to {framework[:40]}: expected one of {', '.join(FRAMEWORKS)}")
    if problem.signature.language != "python":
        raise ProblemError(f"candidates of {problem.name} are not in Python: this task cannot be exported")
    if folder.resolve().is_relative_to(problem.folder):
        raise ProblemError(f"{folder} is in the folder of the problem, which is copied: choose another folder")
    layout = FRAMEWORKS[framework]
    texts = _fill_texts(layout, problem)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        for name, text in texts.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
            if text.startswith("#!"):
                (folder / name).chmod(0o755)
        ignore = shutil.ignore_patterns(*SKIPPED)
        shutil.copytree(problem.folder, folder / layout.problem_folder, ignore=ignore, symlinks=True)
    except FileExistsError:
        raise ProblemError(f"{folder} already exists: choose another folder") from None
    except (OSError, shutil.Error) as fault:
        raise ProblemError(f"{folder} cannot be created: {getattr(fault, 'strerror', None) or fault}") from None
    return ExportedTask(folder, (*texts, layout.problem_folder), layout.command.format(folder=folder))


@dataclass(frozen=True)
class ExportedScore:
    """Score of a program for the evaluator of an exported task."""

    # Score of the problem; None for a program without one.
    score: float | None
    # The same such that higher is better, or a number below all scores.
    higher_is_better: float
    # Metrics that are numbers.
    metrics: Mapping[str, float]
    # Reason for a missing score; empty for a score.
    message: str


def score_exported(folder: Path, program: str | None, mode: str) -> ExportedScore:
    """Score a program in the sandbox, for the evaluator of an exported task.

    Args:
        folder: Folder of the problem.
        program: Text of the program; None means the seed.
        mode: Set of instances.
    """
    problem = load_problem(folder)
    source = problem.seed if program is None else program
    if message := inspect_program(source, problem.signature).problem:
        return ExportedScore(None, WORST, {}, message)
    with EvaluationRunner() as run:
        result = run(problem.make_job(source, folder, _make_limits(problem, mode), mode))
    if result.score is None:
        return ExportedScore(None, WORST, {}, f"{result.status}: {result.message}")
    metrics = {name: value for name, value in result.metrics.items() if isinstance(value, int | float)}
    sign = -1 if problem.about.direction is Direction.MINIMIZE else 1
    return ExportedScore(result.score, sign * result.score, metrics, "")


def _make_limits(problem: Problem, mode: str) -> Limits:
    return problem.make_limits(LimitSettings(), mode_patience(mode), mode)


def _fill_texts(layout: _Layout, problem: Problem) -> dict[str, str]:
    """Return the texts of a task by path."""
    about, has_test = problem.about, "test" in problem.about.sizes
    description = f"{problem.brief.strip()}\n\nWrite the function `{problem.signature.shown}`."
    description += f" A {about.direction.comparative} score is better."
    mode = "test" if has_test else "val"
    values = {
        "DESCRIPTION": description,
        # A description that is quoted ends at the first triple quotes.
        "DOCSTRING": description.replace('"' * 3, "'" * 3),
        "HEADING": about.title,
        "LIMIT": str(int(about.timeout_s) + 30),
        "MARKED": _mark(problem.seed),
        "MODE": mode,
        "NAME": json.dumps(f"oragent/{problem.name.replace('_', '-')}"),
        "PROGRAM": problem.seed,
        # YAML and TOML have no escapes for half a character, as JSON has.
        "QUOTED": json.dumps(description, ensure_ascii=False),
        # The program and the seed are scored.
        "SECONDS": str(int(_make_limits(problem, mode).cpu_s) * 2 + 120),
        "SEED": repr(problem.seed),
        "TIMEOUT": str(int(about.timeout_s) * 2 + 60),
        "TITLE": json.dumps(about.title, ensure_ascii=False),
        "VERSION": __version__,
    }
    templates = files("oragent.authoring") / "template"
    texts = {}
    for name, text in layout.texts.items():
        if text.startswith("export_"):
            text = (templates / text).read_text(encoding="utf-8")
        if text != TEST or has_test:
            texts[name] = KEY.sub(lambda match: values[match[1]], text)
    return texts


def _mark(seed: str) -> str:
    """Return the seed with markers around the part that may change. Existing markers stay."""
    if regions.split_frame(seed):
        return seed
    return f"{MARKERS[0]}\n{seed.strip()}\n{MARKERS[1]}\n"
