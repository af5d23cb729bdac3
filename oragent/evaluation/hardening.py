"""Tests of a program with unusual arguments: sizes 0, 1, 2, half and twice, ties, zeros and infeasible data.

The arguments are those of a call of a real evaluation, changed. The program answers in its usual sandbox. The seed
heuristic gets the same arguments: where it answers, the program must answer too, within a time limit, with a value of
the same kind and shape, and with finite numbers if those of the seed are finite. Where the seed fails, the case is not
judged.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from oragent._base.errors import ConfigError
from oragent._base.protocol import Status
from oragent._base.safe_load import parse_json
from oragent._base.text_format import one_line
from oragent.evaluation.capabilities import HEURISTIC_S, INSTANCES
from oragent.evaluation.job import Evaluation
from oragent.evaluation.problem import Problem
from oragent.harness.hardening import ENOUGH, write_mark, write_script
from oragent.programs.multi_file import with_main

# Changes of the arguments, in the order of their runs; the first one changes nothing.
CASES = (
    "as given",
    "size 0",
    "size 1",
    "size 2",
    "half the size",
    "twice the size",
    "all alike",
    "all zero",
    "limits zero",
    "data times 1000",
)
# Default CPU seconds of one case.
CASE_S = 10.0
LINE = re.compile(r"@HARDEN (\{.*\})")
MAX_REASON = 200
# Seconds, as a share of the limit of a case, that cases before it may take in the same evaluation.
SLACK = 0.1
# Maximum number of evaluations of a program that end before their first case, as compilation took too long.
MAX_STARTS = 2


class CaseOutcome(StrEnum):
    """Outcome of a case."""

    PASSED = "passed"
    FAILED = "failed"
    # The seed fails too.
    UNJUDGED = "not judged"


@dataclass(frozen=True)
class HardenedCase:
    """Outcome of one change of the arguments."""

    # Name of the change, one of ``CASES``.
    name: str
    outcome: CaseOutcome
    # Reason of a failure, or of the missing judgement; empty for a pass.
    reason: str = ""
    # CPU seconds of the program's call; None if it did not end.
    seconds: float | None = None


@dataclass(frozen=True)
class HardenedProgram:
    """Outcomes of all cases of a program."""

    cases: tuple[HardenedCase, ...]
    # Most frequent length among the arguments, which the sizes replace; 0 if no argument has a length.
    size: int = 0
    # CPU seconds of all evaluations.
    cpu_s: float = 0.0
    # CPU seconds that a case could take.
    limit_s: float = CASE_S

    @property
    def failures(self) -> tuple[HardenedCase, ...]:
        """Failed cases."""
        return tuple(case for case in self.cases if case.outcome is CaseOutcome.FAILED)

    @property
    def sentence(self) -> str:
        """Summary in one line."""
        judged = [case for case in self.cases if case.outcome is not CaseOutcome.UNJUDGED]
        text = f"unusual arguments: {len(judged) - len(self.failures)} of {len(judged)} cases pass"
        if self.failures:
            text += "; " + "; ".join(f"{case.name}: {case.reason}" for case in self.failures)
        unjudged = [case.name for case in self.cases if case.outcome is CaseOutcome.UNJUDGED]
        if unjudged:
            text += f"; not judged, as the seed fails: {', '.join(unjudged)}"
        return text

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "HardenedProgram":
        """Read the outcomes from a file's tree; a TypeError, KeyError or ValueError if it is something else."""
        cases = tuple(
            HardenedCase(
                str(case["name"]),
                CaseOutcome(case["outcome"]),
                one_line(str(case["reason"]), MAX_REASON),
                None if case["seconds"] is None else float(case["seconds"]),
            )
            for case in tree["cases"]
        )
        return cls(cases, int(tree["size"]), float(tree["cpu_s"]), float(tree["limit_s"]))


@dataclass
class _CaseRun:
    """Outcome of a program in one case."""

    # Kind, shape and finiteness of the answer; None without an answer.
    form: list[Any] | None = None
    fault: str = ""
    seconds: float | None = None


@dataclass
class _ProgramRun:
    """Outcomes of a program in all cases."""

    cases: dict[str, _CaseRun] = field(default_factory=dict)
    size: int = 0
    cpu_s: float = 0.0
    # Largest size of the arguments of a call that ran no case; -1 if there was no call.
    largest: int = -1
    # Reason why the cases could not run; empty if they did.
    problem: str = ""


# Function that evaluates a text, with a limit in CPU seconds; None means the limit of an evaluation.
MeasureText = Callable[[str, float | None], Awaitable[Evaluation]]


def write_hardened(
    problem: Problem, source: str, first: int, cases: Sequence[str] = CASES, enough: int = ENOUGH
) -> str:
    """Return a program that runs the cases from ``first`` on at a call of its evaluation, and ends there.

    The arguments of the call have the size ``enough``, or it is the 61st one.
    """
    if problem.signature.language == "python":
        added = write_script(problem.about.function, first, cases, enough)
    else:
        added = write_mark(first, cases, enough)
    return with_main(source, problem.about.candidate.names, lambda text: text.rstrip() + "\n" + added)


def harden_selection(problem: Problem, offers: frozenset[str]) -> tuple[str | None, tuple[str, ...]]:
    """Return the mode and the options of the evaluation whose arguments `harden_program` changes."""
    mode = "train" if problem.about.sizes.get("train") else None
    options: list[str] = []
    if mode and INSTANCES in offers:
        options.append(f"{INSTANCES}=1")
    if HEURISTIC_S in offers:
        options.append(f"{HEURISTIC_S}=none")
    return mode, tuple(options)


async def harden_program(
    measure: MeasureText, problem: Problem, source: str, limit_s: float = CASE_S
) -> HardenedProgram:
    """Run a program and the seed with unusual arguments, and judge the program case by case.

    Args:
        measure: Evaluates a text on the instances from which the arguments come.
        problem: The problem.
        source: Text of the program.
        limit_s: CPU seconds of one case.

    Raises:
        ConfigError: The program or the seed fails before its first case.
    """
    seed = await _run_cases(measure, problem, problem.seed, limit_s, CASES)
    if seed.problem:
        raise ConfigError(f"the seed heuristic cannot be tested with unusual arguments: {seed.problem}")
    # A case that the seed does not end is not judged, and a program like the seed would take as long.
    ended = [name for name in CASES if seed.cases[name].seconds is not None]
    program = await _run_cases(measure, problem, source, limit_s, ended)
    if program.problem:
        raise ConfigError(f"the program cannot be tested with unusual arguments: {program.problem}")
    cases = tuple(_judge_case(name, program.cases.get(name), seed.cases[name]) for name in CASES)
    return HardenedProgram(cases, program.size, round(seed.cpu_s + program.cpu_s, 2), limit_s)


async def _run_cases(
    measure: MeasureText, problem: Problem, source: str, limit_s: float, cases: Sequence[str]
) -> _ProgramRun:
    """Run all cases; a case that ends the process, or runs out of time, is followed by another evaluation."""
    run = _ProgramRun()
    first_s: float | None = None
    at = starts = 0
    enough = ENOUGH
    while at < len(cases):
        # The first case alone shows how long the program takes to load.
        names = cases[:1] if at == 0 else cases
        budget = None if first_s is None else first_s + (1 + SLACK) * limit_s
        evaluation = await measure(write_hardened(problem, source, at, names, enough), budget)
        run.cpu_s += evaluation.cpu_s
        begun = _read_lines(run, evaluation)
        if first_s is None:
            first_s = evaluation.cpu_s
        elif begun is None and evaluation.status is Status.TIMEOUT and starts < MAX_STARTS:
            # Compilation took longer than at first, as other programs slow it down.
            first_s, starts = 2 * first_s, starts + 1
            continue
        ended = [name for name in names[at:] if name in run.cases]
        used_s = sum(run.cases[name].seconds or 0.0 for name in ended)
        is_own_end = evaluation.status is not Status.TIMEOUT or used_s <= SLACK * limit_s
        if begun is not None and begun not in run.cases and (not ended or is_own_end):
            run.cases[begun] = _CaseRun(fault=_explain_end(evaluation, limit_s))
            ended.append(begun)
        if not ended and evaluation.status is Status.OK and 0 <= run.largest < enough:
            # All calls are small, so the first one of the largest size is changed.
            enough = run.largest
            continue
        if not ended and evaluation.status is Status.OK:
            run.problem = "its evaluation did not call it"
            break
        if not ended:
            run.problem = f"{evaluation.status}: {one_line(evaluation.message, MAX_REASON)}"
            break
        if at == 0 and run.cases[cases[0]].fault:
            run.problem = run.cases[cases[0]].fault
            break
        at += len(ended)
    return run


def _read_lines(run: _ProgramRun, evaluation: Evaluation) -> str | None:
    """Add the printed lines of an evaluation to a run; return the name of the last case that began."""
    begun = None
    for match in LINE.finditer(f"{evaluation.log}\n{evaluation.output}"):
        try:
            data = parse_json(match[1])
            if "largest" in data:
                run.largest = max(run.largest, int(data["largest"]))
                continue
            name = data["case"]
            if name not in CASES:
                continue
            if "begins" in data:
                begun = name
                continue
            form = data.get("form")
            run.cases[name] = _CaseRun(form, one_line(str(data.get("fault", "")), MAX_REASON), float(data["seconds"]))
            run.size = int(data["size"])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return begun


def _explain_end(evaluation: Evaluation, limit_s: float) -> str:
    if evaluation.status is Status.TIMEOUT:
        return f"no answer within {limit_s:g} CPU seconds"
    return one_line(f"{evaluation.status}: {evaluation.message}", MAX_REASON)


def _judge_case(name: str, program: _CaseRun | None, seed: _CaseRun) -> HardenedCase:
    if program is None:
        return HardenedCase(name, CaseOutcome.UNJUDGED, f"the seed: {seed.fault}")
    if seed.form is None:
        reason = program.fault or "the seed has no answer to compare"
        return HardenedCase(name, CaseOutcome.UNJUDGED, reason, program.seconds)
    if program.form is None:
        return HardenedCase(name, CaseOutcome.FAILED, program.fault, program.seconds)
    kind, shape, is_finite = program.form
    if [kind, shape] != seed.form[:2]:
        reason = f"returns {_describe_form(program.form)} instead of {_describe_form(seed.form)}"
        return HardenedCase(name, CaseOutcome.FAILED, reason, program.seconds)
    if seed.form[2] and not is_finite:
        return HardenedCase(name, CaseOutcome.FAILED, "returns NaN or infinity", program.seconds)
    return HardenedCase(name, CaseOutcome.PASSED, "", program.seconds)


def _describe_form(form: Sequence[Any]) -> str:
    if form[0] == "array" and form[1] is not None:
        return f"an array of shape {tuple(form[1])}"
    return f"a {form[0]}"
