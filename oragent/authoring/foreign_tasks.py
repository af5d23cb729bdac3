"""Layouts of tasks for other frameworks: the file of the program, the file that scores it, and the interface.

- OpenEvolve 0.4 and ShinkaEvolve 0.0.7: a program and an evaluator in two files with fixed names.
- EoH 0.2: ``prob.py`` with a subclass of ``BaseProblem``; the program is its attribute ``template_program``.
- AlphaEvolve on Google Cloud: ``program.py`` and ``evaluate.py``, in the folder or in ``src/``; the evaluator takes a
  candidate with its files and returns an evaluation with scores.

The texts are untrusted. They are searched by patterns and not executed.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import ProblemError
from oragent._base.files import MAX_ARGUMENT_BYTES, read_bounded

PROGRAMS = ("initial_program.py", "initial.py")
EVALUATORS = ("evaluator.py", "evaluate.py")
DRIVERS = ("run_evolution.py", "run_experiment.py", "run.py")
# Quoted texts of one line: one, and several adjacent ones.
DOUBLE, SINGLE = r'"(?:[^"\\\n]|\\.)*"', r"'(?:[^'\\\n]|\\.)*'"
TEXTS = rf"((?:\s*(?:{DOUBLE}|{SINGLE}))+)"
LITERAL = re.compile(rf"{DOUBLE}|{SINGLE}")
TRIPLE = r"(\"\"\"|''')(.*?)\1"
# Attributes of a problem class of EoH, and the name of the class.
TEMPLATE = re.compile(rf"^\s+template_program\s*(?::\s*str\s*)?=\s*r?{TRIPLE}", re.MULTILINE | re.DOTALL)
DESCRIBED = re.compile(rf"^\s+task_description\s*(?::\s*str\s*)?=\s*\(?{TEXTS}", re.MULTILINE)
LONG_DESCRIBED = re.compile(rf"^\s+task_description\s*(?::\s*str\s*)?=\s*{TRIPLE}", re.MULTILINE | re.DOTALL)
CLASS = re.compile(r"^class\s+([A-Za-z_]\w*)\s*\([^)\n]*\bBaseProblem\b[^)\n]*\)\s*:", re.MULTILINE)
# Function that a driver of AlphaEvolve passes on, function whose first argument is a candidate, and the description.
PASSED = re.compile(r"AlphaEvolveExperiment\(\s*\w+\s*,\s*([A-Za-z_]\w*)")
TAKES_CANDIDATE = re.compile(r"^def\s+([A-Za-z_]\w*)\(\s*\w*candidate\b", re.MULTILINE)
PROBLEM_TEXT = re.compile(rf"[\"']problem_description[\"']\s*:\s*\(?{TEXTS}")
NUMPY, IMPORTS_NUMPY = re.compile(r"\bnp\."), re.compile(r"^import numpy as np\b", re.MULTILINE)


@dataclass(frozen=True)
class ForeignTask:
    """A task in one of the known layouts."""

    # Framework, for the user.
    framework: str
    # Kind of evaluator: ``module``, ``eoh`` or ``alphaevolve``.
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
    # Text of the problem; empty if the layout has none.
    description: str = ""
    direction: str = "maximize"


def read_task(task: Path) -> ForeignTask:
    """Recognise the layout of a task's folder and read its parts.

    Raises:
        ProblemError: The folder has none of the layouts, or a part cannot be read.
    """
    if not task.is_dir():
        raise ProblemError(f"{task} is not a folder: expected the folder of a task")
    problem_file = task / "prob.py"
    if problem_file.is_file():
        return _read_eoh(problem_file)
    for folder in ("", "src/"):
        if (task / folder / "program.py").is_file() and (task / folder / "evaluate.py").is_file():
            return _read_alphaevolve(task, folder)
    program, evaluator = (_find_file(task, names) for names in (PROGRAMS, EVALUATORS))
    scorer = read_source(task / evaluator)
    if not re.search(r"^def (?:evaluate|main)\b", scorer, re.MULTILINE):
        raise ProblemError(f"{task / evaluator} defines neither evaluate(program_path) nor main(program_path, ...)")
    framework = "ShinkaEvolve" if program == PROGRAMS[1] else "OpenEvolve"
    return ForeignTask(framework, "module", program, read_source(task / program), evaluator, scorer)


def read_source(path: Path) -> str:
    """Read a text of a task.

    Raises:
        ProblemError: It cannot be read.
    """
    try:
        return read_bounded(path, MAX_ARGUMENT_BYTES)
    except (OSError, UnicodeDecodeError) as problem:
        raise ProblemError(f"{path} cannot be read: {problem}") from None


def _read_eoh(path: Path) -> ForeignTask:
    text = read_source(path)
    named, template = CLASS.search(text), TEMPLATE.search(text)
    if named is None or template is None:
        raise ProblemError(
            f"{path}: expected a subclass of BaseProblem with template_program in triple quotes, as EoH 0.2 has it"
        )
    seed = f"{template[2].strip()}\n"
    if NUMPY.search(seed) and not IMPORTS_NUMPY.search(seed):
        # The framework gives this name to every program.
        seed = f"import numpy as np\n\n\n{seed}"
    if long := LONG_DESCRIBED.search(text):
        described = " ".join(long[2].split())
    else:
        described = _join_texts(DESCRIBED.search(text))
    return ForeignTask("EoH", "eoh", "", seed, path.name, text, named[1], described, "minimize")


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
    return ForeignTask("AlphaEvolve", "alphaevolve", program, seed, evaluator, scorer, passed[1], described)


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
    return " ".join(joined.replace("\\n", " ").replace('\\"', '"').replace("\\'", "'").split())
