"""Export a problem as a task for another framework. Its evaluator calls oragent, which scores in the sandbox."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import yaml

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
DISTRIBUTION = "operations-research-agents"
FRAMEWORKS = ("openevolve", "shinka", "llm4ad", "cobench", "heurigym", "harbor")
# Folder of the problem in a task of CO-Bench, which takes all files without this ending as cases.
COBENCH_FOLDER = "problem.py"


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
    contents = _make_contents(problem, framework)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        for name, text in contents.texts.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
            if text.startswith("#!"):
                (folder / name).chmod(0o755)
        ignore = shutil.ignore_patterns(*SKIPPED)
        shutil.copytree(problem.folder, folder / contents.problem_folder, ignore=ignore, symlinks=True)
    except FileExistsError:
        raise ProblemError(f"{folder} already exists: choose another folder") from None
    except (OSError, shutil.Error) as fault:
        raise ProblemError(f"{folder} cannot be created: {getattr(fault, 'strerror', None) or fault}") from None
    return ExportedTask(folder, (*contents.texts, contents.problem_folder), contents.command.format(folder=folder))


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


@dataclass(frozen=True)
class _Contents:
    # Texts by path.
    texts: Mapping[str, str]
    # Place of the copy of the problem.
    problem_folder: str
    # Command with ``{folder}``.
    command: str


def _export_openevolve(problem: Problem) -> _Contents:
    config = {
        "max_iterations": 100,
        "prompt": {"system_message": _describe(problem)},
        "evaluator": {"timeout": int(problem.about.timeout_s) + 30, "cascade_evaluation": False},
    }
    texts = {
        "initial_program.py": _mark(problem.seed),
        "evaluator.py": _fill("export_openevolve.py.txt", problem),
        "config.yaml": yaml.safe_dump(config, sort_keys=False, allow_unicode=True),
    }
    command = "python openevolve-run.py {folder}/initial_program.py {folder}/evaluator.py --config {folder}/config.yaml"
    return _Contents(texts, "problem", command)


def _export_shinka(problem: Problem) -> _Contents:
    config = {"evo": {"task_sys_msg": _describe(problem), "language": "python"}}
    texts = {
        "initial.py": _mark(problem.seed),
        "evaluate.py": _fill("export_shinka.py.txt", problem),
        "shinka.yaml": yaml.safe_dump(config, sort_keys=False, allow_unicode=True),
    }
    return _Contents(texts, "problem", "shinka_run --task-dir {folder} --config-fname {folder}/shinka.yaml")


def _export_llm4ad(problem: Problem) -> _Contents:
    texts = {
        "evaluation.py": _fill("export_llm4ad.py.txt", problem),
        "template.txt": problem.seed,
        "description.txt": _describe(problem),
    }
    return _Contents(texts, "problem", "EoH(evaluation=OragentEvaluation(), ...), a class of {folder}/evaluation.py")


def _export_cobench(problem: Problem) -> _Contents:
    # The description ends at the first triple quotes.
    description = _describe(problem).replace('"' * 3, "'" * 3)
    modes = ("val", "test") if "test" in problem.about.sizes else ("val",)
    texts = {
        "config.py": _fill("export_cobench.py.txt", problem),
        "description.py": f'r"""{description}"""\n',
        **{mode: f"{mode}\n" for mode in modes},
    }
    return _Contents(texts, COBENCH_FOLDER, "get_data('NAME', src_dir='DATA'), with {folder} in the folder DATA")


def _export_heurigym(problem: Problem) -> _Contents:
    solver = (
        "def solve(input_file: str, solution_file: str):\n"
        f"    program = {problem.seed!r}\n"
        '    with open(solution_file, "w", encoding="utf-8") as file:\n'
        "        file.write(program)\n"
    )
    output = "# Output\n\nThe output file has the text of a Python program with the function. The input names a set."
    texts = {
        "README.md": f"# {problem.about.title}\n\n{_describe(problem)}\n\n{output}\n",
        "program/evaluator.py": _fill("export_heurigym.py.txt", problem),
        "program/verifier.py": 'from evaluator import verify\n\n__all__ = ["verify"]\n',
        "program/solver.py": solver,
        "dataset/demo/val.txt": "val\n",
    }
    if "test" in problem.about.sizes:
        texts["dataset/eval/test.txt"] = "test\n"
    return _Contents(texts, "problem", "python llm_solver_agent.py --problem NAME, with {folder} in its repository")


def _export_harbor(problem: Problem) -> _Contents:
    # The program and the seed are scored.
    seconds = int(_make_limits(problem, _choose_held_out(problem)).cpu_s) * 2 + 120
    name = problem.name.replace("_", "-")
    task = "\n".join(
        [
            'schema_version = "1.1"',
            "",
            "[task]",
            f"name = {json.dumps(f'oragent/{name}')}",
            f"description = {json.dumps(problem.about.title)}",
            'keywords = ["operations-research", "heuristics"]',
            "",
            "[verifier]",
            f"timeout_sec = {seconds}.0",
            "",
            "[agent]",
            "timeout_sec = 3600.0",
            "",
            "[environment]",
            "build_timeout_sec = 1200.0",
            "cpus = 2",
            "memory_mb = 4096",
            "",
        ]
    )
    instruction = "\n".join(
        [
            f"# {problem.about.title}",
            "",
            _describe(problem),
            "",
            "The present program is `/app/heuristic.py`. Improve it in place: the function must keep its name and",
            "arguments. It is scored on instances that you do not see; the reward is its gain over the present one.",
            "",
        ]
    )
    docker = "\n".join(
        [
            "FROM python:3.12-slim",
            f"RUN pip install --no-cache-dir {DISTRIBUTION}=={__version__}",
            "WORKDIR /app",
            "COPY heuristic.py /app/",
            "",
        ]
    )
    test = "#!/bin/bash\npython /tests/score.py /app/heuristic.py /logs/verifier\n"
    solution = "#!/bin/bash\n# The seed itself: reward 0.\ntrue\n"
    texts = {
        "task.toml": task,
        "instruction.md": instruction,
        "environment/Dockerfile": docker,
        "environment/heuristic.py": problem.seed,
        "tests/test.sh": test,
        "tests/score.py": _fill("export_harbor.py.txt", problem),
        "solution/solve.sh": solution,
    }
    return _Contents(texts, "tests/problem", "harbor run -p {folder} -a AGENT -m MODEL")


def _make_contents(problem: Problem, framework: str) -> _Contents:
    match framework:
        case "openevolve":
            return _export_openevolve(problem)
        case "shinka":
            return _export_shinka(problem)
        case "llm4ad":
            return _export_llm4ad(problem)
        case "cobench":
            return _export_cobench(problem)
        case "heurigym":
            return _export_heurigym(problem)
        case _:
            return _export_harbor(problem)


def _fill(template: str, problem: Problem) -> str:
    text = (files("oragent.authoring") / "template" / template).read_text(encoding="utf-8")
    values = {
        "MODE": _choose_held_out(problem),
        "SEED": repr(problem.seed),
        "TIMEOUT": str(int(problem.about.timeout_s) * 2 + 60),
    }
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def _choose_held_out(problem: Problem) -> str:
    return "test" if "test" in problem.about.sizes else "val"


def _mark(seed: str) -> str:
    """Return the seed with markers around the part that may change. Existing markers stay."""
    if regions.split_frame(seed):
        return seed
    return f"{MARKERS[0]}\n{seed.strip()}\n{MARKERS[1]}\n"


def _describe(problem: Problem) -> str:
    better = problem.about.direction.comparative
    return f"{problem.brief.strip()}\n\nWrite the function `{problem.signature.shown}`. A {better} score is better."
