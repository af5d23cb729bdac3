"""Evaluations of candidates for a check, in the same sandbox as in a search, and findings about them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import numpy as np

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job, run_evaluation
from oragent.evaluation.noise import ProblemNoise
from oragent.evaluation.problem import Problem
from oragent.sandbox.messages import Limits

LOG_LINES = 10
# Minimum time of a sleeping program, in seconds, because a busy machine delays every program.
MIN_IDLE_S = 5.0
ADVICE = {
    Status.TIMEOUT: "Raise timeout_s in problem.yaml, or use fewer or smaller instances.",
    Status.MEMORY: "Raise memory_mb in problem.yaml, or use smaller instances.",
    Status.CRASHED: "The evaluator itself did not get to its end; run it by hand to see where it stops.",
    Status.REJECTED: "Mend what the evaluator prints, or the seed heuristic, as the message says.",
    Status.INVALID: "Mend the seed heuristic: it must return what the evaluator expects.",
    Status.ERROR: "Mend the seed heuristic or the evaluator where the last lines point to.",
}


class Level(StrEnum):
    """Severity of a finding."""

    OK = "ok"
    # It runs, but a search will be less successful than possible.
    WARNING = "warning"
    # It breaks the contract and must be corrected before a search.
    FAILURE = "failure"


@dataclass(frozen=True)
class ContractFinding:
    """Result of one check."""

    # Severity of the finding.
    level: Level
    # Subject of the check.
    title: str
    # Result and remedy. A failure may have several lines.
    detail: str
    # Measured noise of the problem. None for other checks.
    noise: ProblemNoise | None = None


def make_finding(title: str, complaint: str, praise: str, level: Level = Level.FAILURE) -> ContractFinding:
    """Create a finding of ``level`` from a complaint, or a good one if the complaint is empty."""
    if complaint:
        return ContractFinding(level, title, complaint)
    return ContractFinding(Level.OK, title, praise)


class Child(Protocol):
    """Child of the seed."""

    @property
    def source(self) -> str:
        """Text of the program."""

    @property
    def operator(self) -> str:
        """Operators that made it in order, joined by ``+``."""


Breed = Callable[[Problem, np.random.Generator], Child]


@dataclass(frozen=True)
class ScoringBench:
    """Problem, root and limits with which a check scores candidates."""

    problem: Problem
    root: Path
    # CPU seconds of one evaluation.
    timeout_s: float
    # Function that breeds a child of the problem's seed, as a search without a model does.
    breed: Breed
    # Function that scores a job, by default in a fresh interpreter.
    score: Callable[[Job], Evaluation] = run_evaluation

    def run(
        self,
        source: str | None = None,
        *,
        mode: str | None = None,
        size: int | None = None,
        cpu_s: float | None = None,
        arguments: tuple[str, ...] = (),
        patience: float = 1.0,
        observer: str = "",
    ) -> Evaluation:
        """Score a candidate, by default the seed.

        ``cpu_s`` is a lower limit than usual, which also ends sleeping candidates. ``patience`` is a factor on the time
        of an evaluation. ``observer`` is the text of an observing program.
        """
        limits = Limits(patience * self.timeout_s, self.problem.about.memory_mb)
        if cpu_s is not None and cpu_s < self.timeout_s:
            limits = replace(limits, cpu_s=cpu_s, idle_s=max(cpu_s, MIN_IDLE_S))
        text = self.problem.seed if source is None else source
        return self.score(self.problem.make_job(text, self.root, limits, mode, size, arguments, observer))

    def breed_child(self, rng: np.random.Generator) -> Child:
        """Breed a child of the seed."""
        return self.breed(self.problem, rng)


@dataclass(frozen=True)
class Seed:
    """Evaluations of the seed heuristic."""

    train: Evaluation
    val: Evaluation

    @property
    def patience_s(self) -> float:
        """CPU seconds in mode train that suffice for a candidate about as fast as the seed."""
        return 3 * self.train.cpu_s + 2


def describe_success(ended: Evaluation) -> str:
    """Describe an evaluation with a score, in one line."""
    cell = f", cell {ended.features}" if ended.features is not None else ""
    return f"score {ended.score}{cell}; {ended.wall_s:.2f} s, {ended.cpu_s:.2f} CPU s, {ended.peak_mb:.0f} MiB"


def judge_score(title: str, ended: Evaluation, level: Level = Level.FAILURE) -> ContractFinding:
    """Create the finding about an evaluation that must have a score."""
    return make_finding(title, explain_failure(ended) if ended.score is None else "", describe_success(ended), level)


def explain_failure(ended: Evaluation) -> str:
    """Explain an evaluation without a score: status and message, traceback, end of standard error, and remedy."""
    parts = [f"{ended.status}: {ended.message}", ended.traceback.strip()]
    tail = "\n".join(ended.log.strip().splitlines()[-LOG_LINES:])
    if tail:
        parts.append(f"The end of its standard error:\n{tail}")
    return "\n".join(part for part in (*parts, ADVICE[ended.status]) if part)
