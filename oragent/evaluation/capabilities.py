"""Requirements of a problem on this machine, and options of its evaluator beyond the contract (its ``--help``)."""

import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError, ProblemError
from oragent.evaluation.devices import CPU
from oragent.evaluation.job import Evaluation, Job
from oragent.evaluation.named_sets import InstanceSet
from oragent.evaluation.problem import LimitSettings, Problem
from oragent.evaluation.required_packages import PROGRAM, describe_missing_package
from oragent.sandbox.isolation.environment import reason_to_refuse
from oragent.sandbox.messages import FOLDER, Limits

# Afterwards, repeat some calls in a fresh process and in another order.
CHECK = "--check"
# Metric with the number of repeated calls.
CHECKED = "checked"
# =N: in mode fresh, draw this set again.
FRESH_SEED = "--fresh_seed"
# =X: CPU seconds of all guests of an evaluation.
HEURISTIC_S = "--heuristic_s"
# Score on the instances that are reserved for the final round of a run's best elites.
FINAL = "--final"
# =X: end early if this score is out of reach, and report it by the metric below_floor.
FLOOR = "--floor"
# =N: on train or practice, use only the first N instances of each size.
INSTANCES = "--instances"
# =FILE: on train or practice, pass the events of the evaluator's hooks to untrusted code.
OBSERVER = "--observer"
# =JSON: end early if these terms are out of reach, and report the value of each instance.
RACE = "--race"
# =NAME: score on the instances of another study.
PROTOCOL = "--protocol"
# Draw the worst instances of val, with the solutions of the seed heuristic for comparison.
BESIDE = "--beside"
# Draw solutions of the first instances of each size as SVG.
DRAW = "--draw_solutions"
# =NAME: device of its networks.
DEVICE = "--device"
# =PATH: instances of a named set, whose name is the mode.
DATA = "--data"
# =X: factor on the work of each solve.
WORK = "--work"
# Metric with the work of an evaluation.
WORK_UNITS = "work"
# Maximum number of these units, so that sums of them are exact to less than a unit.
MAX_WORK = 1e12
# Mode with instances like those of val, but different ones; offered if ``--help`` names it.
PRACTICE = "practice"
# Modes that a search uses; instances of other modes may be larger and take longer.
SEARCHED = ("train", "val")
# Factor on the limits of a search for other instances.
HELD_OUT_LIMIT_FACTOR = 10.0
OPTION = re.compile(r"(?<![\w-])--[A-Za-z]\w*")
NAMES_PRACTICE = re.compile(rf"\b{PRACTICE}\b")
PROTOCOLS = re.compile(rf"{PROTOCOL} \{{([\w.,-]+)\}}")
LACKS = {
    CHECK: "programs that would lead are not checked for memory and chance",
    FRESH_SEED: "there is no set that no candidate can have foreseen",
    FLOOR: "every evaluation goes on to its end",
    RACE: "every evaluation goes on to its end",
    FINAL: "there are no instances for a final round",
    OBSERVER: "it reports no progress (no hooks for an observer)",
    PROTOCOL: "its instances are the same in all studies that it knows",
    BESIDE: "there is nothing that draws",
    DRAW: "there is nothing that draws",
    DEVICE: "its networks compute where they please",
    HEURISTIC_S: "a heuristic's own time is bounded by timeout_s alone",
    WORK: "it has one amount of work; with the harness, use harness.run(..., work=True)",
    DATA: "it cannot read the instances of a named set; with the harness, use harness.run(..., data=True)",
}


COMPILERS = ("g++", "c++", "clang++")


def help_job(problem: Problem, root: Path, settings: LimitSettings) -> Job | None:
    """Return a job that asks the evaluator for its help; None if its text shows that it has no options.

    An evaluator without ``--help`` scores the seed instead, which means that it has no options.
    """
    text = problem.evaluator.read_text(encoding="utf-8", errors="replace")
    # Many programs contain the words data and work.
    words = [option if option in (DATA, WORK) else option.removeprefix("--") for option in LACKS]
    if not any(word in text for word in ("oragent", INSTANCES, *words)):
        return None
    return problem.make_job(problem.seed, root, problem.make_limits(settings), arguments=("--help",))


def parse_options(evaluation: Evaluation) -> frozenset[str]:
    """Return the options in the answer to ``help_job``, one ``--protocol=NAME`` per protocol, and the mode practice."""
    if evaluation.score is not None:
        return frozenset()
    protocols = PROTOCOLS.search(evaluation.output)
    names = protocols[1].split(",") if protocols else []
    options = OPTION.findall(evaluation.output)
    modes = [PRACTICE] if INSTANCES in options and NAMES_PRACTICE.search(evaluation.output) else []
    return frozenset((*options, *modes, *(f"{PROTOCOL}={name}" for name in names)))


def check_protocol(protocol: str | None, offers: frozenset[str]) -> None:
    """Raise a ConfigError if an evaluator has protocols, but not this one."""
    names = sorted(offer.removeprefix(f"{PROTOCOL}=") for offer in offers if offer.startswith(f"{PROTOCOL}="))
    if protocol is not None and names and protocol not in names:
        raise ConfigError(
            f"this problem has no protocol {protocol!r}: set protocol to {' or '.join(names)}, or to null"
        )


def find_options(problem: Problem, root: Path, run: Callable[[Job], Evaluation]) -> frozenset[str]:
    """Find the options that an evaluator offers."""
    job = help_job(problem, root, LimitSettings())
    if job:
        return parse_options(run(job))
    return frozenset()


def evaluator_arguments(
    problem: Problem,
    settings: LimitSettings,
    offers: frozenset[str],
    *,
    patience: float = 1.0,
    device: str = CPU,
    protocol: str | None = None,
    mode: str | None = None,
    root: Path | None = None,
    work: float = 1.0,
) -> tuple[str, ...]:
    """Return the arguments for time limit of the heuristic, device of networks, data of a named set, and work.

    Without them an evaluator uses its own ``problem.yaml`` and any device. ``root`` is needed for a named set.

    Raises:
        ProblemError: The set has data that are missing, or that the evaluator cannot read, or another amount of work is
            not possible.
    """
    bound = problem.heuristic_s(settings, patience, mode)
    bound_text = "none" if bound is None else f"{max(work, 1.0) * bound:g}"
    values = {HEURISTIC_S: bound_text, DEVICE: device} | ({} if protocol is None else {PROTOCOL: protocol})
    arguments = tuple(f"{name}={value}" for name, value in values.items() if name in offers)
    if work != 1:
        if WORK not in offers:
            raise ProblemError(f"{problem.name}: {describe_missing(WORK)}")
        arguments += (f"{WORK}={work:g}",)
    root = (root or problem.folder).resolve()
    data = problem.find_data(mode, root)
    if data is None:
        return arguments
    if DATA not in offers:
        raise ProblemError(f"{problem.name}, set {mode!r}: {describe_missing(DATA)}")
    # The evaluator finds the problem's folder next to its own copy, and the root by --root_dir.
    inside = data.is_relative_to(problem.folder)
    place = f"{FOLDER}{os.sep}{data.relative_to(problem.folder)}" if inside else data.relative_to(root)
    return (*arguments, f"{DATA}={place}")


def read_work(metrics: Mapping[str, Any]) -> float | None:
    """Return the units of work that an evaluation reports; None without a number of 0 or more."""
    units = metrics.get(WORK_UNITS)
    if isinstance(units, bool) or not isinstance(units, int | float) or not 0 <= units <= MAX_WORK:
        return None
    return float(units)


def extend_limits(limits: Limits, work: float) -> Limits:
    """Return limits for a factor on the work, which are never shorter."""
    return replace(limits, cpu_s=max(work, 1.0) * limits.cpu_s)


def needs_options(problem: Problem, mode: str | None) -> bool:
    """Return True if the arguments of an evaluation depend on the options that its evaluator offers."""
    chosen = problem.about.sets.get(mode or "", InstanceSet())
    return problem.about.heuristic_s is not None or chosen.heuristic_s is not None or bool(chosen.data)


def mode_patience(mode: str | None) -> float:
    """Return the factor on the limits of a search for a mode; None is the default mode, val."""
    if mode is None or mode in SEARCHED:
        return 1.0
    return HELD_OUT_LIMIT_FACTOR


def describe_check(calls: object, program: str = "the program") -> str:
    """Describe a passed check, in which a fresh process repeated this number of calls; other values are unknown."""
    if calls == 1:
        return (
            f"a fresh process repeated 1 call of {program}, and gave the same answer; that is too few to notice a "
            "memory of other calls"
        )
    number = f"{calls:,}" if type(calls) is int else "some"
    return (
        f"a fresh process repeated {number} calls of {program} in another order, and gave the same answers; this is a "
        "check, not a guarantee"
    )


def describe_missing(option: str) -> str:
    """Return one line on the consequence of a missing option."""
    return f"this evaluator has no {option}: {LACKS[option]}"


def require_all(problem: Problem) -> None:
    """Check the requirements of a problem; a ProblemError lists each missing one with a remedy."""
    if missing := list_unmet(problem):
        raise ProblemError("\n".join(f"{problem.name}: {problem_text}" for problem_text in missing))


def list_unmet(problem: Problem) -> list[str]:
    """Return one line per requirement of a problem that is not met."""
    about = problem.about
    problems = [problem_text for need in about.requires if (problem_text := _describe_missing(need))]
    if about.candidate.language == "cpp" and not any(map(shutil.which, COMPILERS)):
        problems.append(f"candidates in C++ need a compiler, {' or '.join(COMPILERS)}, and none is on the PATH")
    unset = (_describe_unset(name, value) for name, value in about.environment.items())
    return problems + [problem_text for problem_text in unset if problem_text]


def _describe_missing(need: str) -> str:
    if need.startswith(PROGRAM):
        name = need.removeprefix(PROGRAM).strip()
        if shutil.which(name):
            return ""
        return f"needs the program {name}, which is not on the PATH: install it"
    return describe_missing_package(need)


def _describe_unset(name: str, value: object) -> str:
    if complaint := reason_to_refuse(name):
        return complaint
    if value is None and name not in os.environ:
        return f"needs the environment variable {name}, which is not set: export {name}=..."
    return ""
