"""Candidates that misbehave: each must end with a status and without a score."""

from collections.abc import Iterator
from dataclasses import dataclass

from oragent._base.protocol import Result, Status, format_result
from oragent.authoring.bench import ContractFinding, Level, ScoringBench, Seed
from oragent.evaluation import Evaluation
from oragent.programs.parts import with_main

HEAD_START_S = 1.0  # given to a candidate that never ends: it is stopped this long after the seed was done

WRAPPED = """{seed}

import os as _os
import numpy as _np

_wrapped = {function}


def {function}(*args, **kwargs):
    {body}
"""

# Its text follows the seed, whose function has another name by then.
WRAPPED_CPP = """#include <cstdlib>
#include <stdexcept>
#include <unistd.h>
#define {function} wrapped_by_a_check
{seed}
#undef {function}
{header} {{
    {body}
}}
"""

CHECK_IT = "Check what the function returns before using it, as oragent.harness.matrix does"
IN_PROCESS = (
    "The candidate runs in the evaluator's own process, where it can print a result of its own choice; "
    "nothing holds a candidate that cheats. Call it through oragent.harness.run, which keeps it in a process of its own"
)


@dataclass(frozen=True)
class MisbehaviourCase:
    """A way to misbehave.

    Attributes:
        name: Name of the fault: what the candidate does.
        body: Body of its function, after the seed was renamed to ``_wrapped``; empty: its text is no program.
        wanted: Statuses that name the fault.
        advice: Advice on what to do where it gets a score.
        level: Level of the finding where it gets a score.
    """

    name: str
    body: str
    expected: frozenset[Status]
    advice: str
    level: Level = Level.FAILURE


def check_misbehaviour(bench: ScoringBench, seed: Seed) -> Iterator[ContractFinding]:
    """Score a candidate of each kind in mode train."""
    cases = _python_cases if bench.problem.signature.language == "python" else _cpp_cases
    for case in cases(_forge_result(bench, seed)):
        endless = case.expected == {Status.TIMEOUT}
        cpu_s = seed.train.cpu_s + HEAD_START_S if endless else seed.patience_s
        yield _judge_case(case, bench.run(_write_candidate(bench, case), mode="train", cpu_s=cpu_s))


def _python_cases(forged: str) -> list[MisbehaviourCase]:
    wrong = frozenset({Status.INVALID, Status.ERROR})
    dead = frozenset({Status.CRASHED, Status.ERROR, Status.REJECTED, Status.INVALID})
    syntax = frozenset({Status.REJECTED, Status.ERROR})
    failed = "Let its failure end the evaluation: a failed candidate has no score, never 0 or a default"
    longer = "return _np.append(_np.ravel(_wrapped(*args, **kwargs)), 0.0)"
    forge = f"_os.write(1, {forged.encode()!r})\n    _os._exit(0)"
    return [
        MisbehaviourCase("raises", 'raise RuntimeError("raised on purpose")', frozenset({Status.ERROR}), failed),
        MisbehaviourCase("returns None", "return None", wrong, CHECK_IT),
        MisbehaviourCase("returns NaN", 'return _wrapped(*args, **kwargs) * float("nan")', wrong, CHECK_IT),
        MisbehaviourCase("returns another shape", longer, wrong, CHECK_IT, Level.WARNING),
        MisbehaviourCase("is no Python", "", syntax, failed),
        MisbehaviourCase("ends its process", "_os._exit(0)", dead, failed),
        MisbehaviourCase("forges a result", forge, dead, IN_PROCESS, Level.WARNING),
        MisbehaviourCase("never ends", "while True:\n        pass", frozenset({Status.TIMEOUT}), failed),
    ]


def _cpp_cases(forged: str) -> list[MisbehaviourCase]:
    dead = frozenset({Status.CRASHED, Status.ERROR, Status.REJECTED, Status.INVALID})
    failed = "Let its failure end the evaluation: a failed candidate has no score, never 0 or a default"
    text = "".join(f"\\x{byte:02x}" for byte in forged.encode())
    forge = f'if (write(1, "{text}", {len(forged.encode())})) _exit(0); std::abort();'
    return [
        MisbehaviourCase("throws", 'throw std::runtime_error("raised on purpose");', frozenset({Status.ERROR}), failed),
        MisbehaviourCase("does not compile", "", frozenset({Status.REJECTED}), failed),
        MisbehaviourCase("crashes", "std::abort();", dead, failed),
        MisbehaviourCase("ends its process", "_exit(0);", dead, failed),
        MisbehaviourCase("forges a result", forge, dead, IN_PROCESS, Level.WARNING),
        MisbehaviourCase("never ends", "for (volatile int i = 0;; i = i + 1) {}", frozenset({Status.TIMEOUT}), failed),
    ]


def _write_candidate(bench: ScoringBench, case: MisbehaviourCase) -> str:
    problem = bench.problem
    if problem.signature.language == "cpp":
        if not case.body:
            return f"{problem.seed}\n\nint (;\n"
        header, function = problem.signature.text, problem.about.function
        return WRAPPED_CPP.format(function=function, seed=problem.seed, header=header, body=case.body)
    names, function = problem.about.candidate.names, problem.about.function
    if not case.body:
        return with_main(problem.seed, names, lambda text: f"{text}\n\ndef (:\n")
    return with_main(problem.seed, names, lambda text: WRAPPED.format(seed=text, function=function, body=case.body))


def _forge_result(bench: ScoringBench, seed: Seed) -> str:
    """Return a result block with a score that the seed cannot have."""
    score = seed.train.score or 0.0
    better = (abs(score) + 1.0) * bench.problem.about.direction.sign
    return f"\n{format_result(Result({'forged': True}, seed.train.features, score + better))}\n"


def _judge_case(case: MisbehaviourCase, ended: Evaluation) -> ContractFinding:
    title = f"candidate that {case.name}"
    if ended.score is not None:
        return ContractFinding(case.level, title, f"it got score {ended.score}. {case.advice}")
    shown = f"{ended.status}: {ended.message}"
    if ended.status not in case.expected:
        expected = " or ".join(sorted(case.expected))
        return ContractFinding(
            Level.WARNING, title, f"no score, but it ended as {shown}; expected {expected}. {CHECK_IT}"
        )
    return ContractFinding(Level.OK, title, f"no score, {shown}")
