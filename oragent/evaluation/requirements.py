"""Requirements of a problem, checked before a run: modules, programs, environment variables."""

import os
import shutil
from importlib.util import find_spec

from oragent._base import distribution
from oragent._base.errors import ProblemError
from oragent.evaluation.problem import Problem
from oragent.sandbox.isolation.environment import reason_to_refuse

PROGRAM = "program:"
COMPILERS = ("g++", "c++", "clang++")
EXTRAS = {
    "torch": "neural", "safetensors": "neural",
    "libsumo": "driving", "sumo": "driving", "sumolib": "driving", "traci": "driving",
}  # fmt: skip


def require_all(problem: Problem) -> None:
    """Hold a problem against this machine.

    Raises:
        ProblemError: one line for each thing that is missing, with what to do.
    """
    if missing := list_unmet(problem):
        raise ProblemError("\n".join(f"{problem.name}: {problem_text}" for problem_text in missing))


def list_unmet(problem: Problem) -> list[str]:
    """One line for each thing that a problem needs and that is not here."""
    about = problem.about
    problems = [problem_text for need in about.requires if (problem_text := _describe_missing(need))]
    if about.candidate.language == "cpp" and not any(map(shutil.which, COMPILERS)):
        problems.append(f"candidates in C++ need a compiler, {' or '.join(COMPILERS)}, and none is on the PATH")
    return problems + [
        problem_text for name, value in about.environment.items() if (problem_text := _describe_unset(name, value))
    ]


def _describe_missing(need: str) -> str:
    if need.startswith(PROGRAM):
        name = need.removeprefix(PROGRAM).strip()
        return "" if shutil.which(name) else f"needs the program {name}, which is not on the PATH: install it"
    module = need.strip()
    try:
        there = bool(module) and find_spec(module.partition(".")[0]) is not None
    except (ValueError, ImportError):
        there = False
    if there:
        return ""
    how = (
        distribution.extra_install_command(EXTRAS[module])
        if module in EXTRAS
        else distribution.package_install_command(module)
    )
    return f"needs the Python module {module!r}, which is not installed: {how}"


def _describe_unset(name: str, value: object) -> str:
    if complaint := reason_to_refuse(name):
        return complaint
    if value is None and name not in os.environ:
        return f"needs the environment variable {name}, which is not set: export {name}=..."
    return ""
