"""Checks of a problem with its seed heuristic, and with candidates that misbehave.

The seed must be a function of its arguments, small changes of it must change score and features, hooks must be those of
``problem.yaml``, and the evaluator must obey its arguments. A candidate that misbehaves must end with a status and
without a score.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from oragent._base.errors import CandidateError, ProblemError
from oragent._base.protocol import Result, Status, format_result
from oragent.authoring.bench import (
    ContractFinding,
    Level,
    ScoringBench,
    Seed,
    explain_failure,
    judge_score,
    make_finding,
)
from oragent.authoring.wrong_answers import SPOILING
from oragent.evaluation import Evaluation
from oragent.evaluation.capabilities import (
    CHECK,
    CHECKED,
    OBSERVER,
    WORK,
    WORK_UNITS,
    describe_check,
    describe_missing,
    evaluator_arguments,
    find_options,
    mode_patience,
)
from oragent.evaluation.problem import LimitSettings
from oragent.programs.inspection import find_unseeded, inspect_program
from oragent.programs.multi_file import with_main

TITLE = "function of its arguments"
OF_THE_EVALUATOR = "what differs from one evaluation to the next comes from the evaluator"
SEEDED = "draw from a generator with a fixed seed, np.random.default_rng(0), made anew in every call"
STATELESS = (
    "it remembers: calls in another order get other answers. Keep nothing between calls, in globals, attributes, "
    "default arguments or caches that answers depend on"
)


COUNT, QUICK_COUNT, MAX_COUNT = 8, 3, 16
TRIES = 80
# Single sizes and mode test run only if train and val together take less time than this, in seconds.
QUICK_S = 10.0
COUNTING = """
calls = {}
def observe(hook, data):
    calls[hook] = calls.get(hook, 0) + 1
    if hook == "end":
        for name, count in calls.items():
            print("called", name, count)
"""
CALLED = re.compile(r"^called (.+) (\d+)$", re.MULTILINE)
# Factor on the time of an evaluation with an observer.
OBSERVER_LIMIT_FACTOR = 5
# Seconds after the end of the seed at which a candidate that never ends is stopped.
HEAD_START_S = 1.0
WRAPPED = """{seed}

import os as _os
{spoiling}

_wrapped = {function}


def {function}(*args, **kwargs):
    {body}
"""
# This text follows the seed, whose function is renamed before.
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
DEAD = frozenset({Status.CRASHED, Status.ERROR, Status.REJECTED, Status.INVALID})
FAILED = "Let its failure end the evaluation: a failed candidate has no score, never 0 or a default"
CHECK_IT = "Check what the function returns before using it, as oragent.harness.matrix does"
IN_PROCESS = (
    "The candidate runs in the evaluator's own process, where it can print a result of its own choice; "
    "nothing holds a candidate that cheats. Call it through oragent.harness.run, which keeps it in a process of its own"
)


def describe_randomness(source: str, language: str = "python") -> str:
    """Describe the random parts in a heuristic's text; empty if it has none."""
    sources = find_unseeded(source, language)
    if sources:
        return f"the candidate itself is random, and not the evaluator: {sources}"
    return ""


def check_function(bench: ScoringBench, seed: Seed) -> ContractFinding:
    """Check that the seed is a function of its arguments, by repeating calls of mode train in a fresh process.

    A mismatch means randomness or memory. Two evaluations that differ indicate randomness, two equal ones memory.
    """
    if complaint := describe_randomness(bench.problem.seed, bench.problem.signature.language):
        return ContractFinding(Level.FAILURE, TITLE, complaint)
    if CHECK not in find_options(bench.problem, bench.root, bench.score):
        unknown = f"its text takes nothing from chance or the clock that can be seen; {describe_missing(CHECK)}"
        return ContractFinding(Level.OK, TITLE, unknown)
    check = bench.run(mode="train", arguments=(CHECK,))
    if check.status is Status.OK:
        same = describe_check(check.metrics.get(CHECKED), "the seed")
        if check.score != seed.train.score:
            same = f"{same}; {OF_THE_EVALUATOR}"
        return ContractFinding(Level.OK, TITLE, same)
    if check.status is not Status.REJECTED:
        return ContractFinding(Level.WARNING, TITLE, f"the check ended as {check.status}: {check.message}")
    random = _comparable_result(seed.train) != _comparable_result(bench.run(mode="train"))
    why = f"it is random: evaluated twice, it is scored otherwise; {SEEDED}" if random else STATELESS
    return ContractFinding(Level.FAILURE, TITLE, f"{check.message}\n{why}".strip())


def _comparable_result(ended: Evaluation) -> tuple[Any, ...]:
    """Return score, cell and figures without times, which always differ."""
    figures = {name: value for name, value in ended.metrics.items() if not name.endswith("seconds")}
    return ended.score, ended.features, figures


def check_variants(bench: ScoringBench, seed: Seed, quick: bool) -> ContractFinding:
    """Breed offspring of the seed, score them in mode train, and report whether they differ."""
    title, declared = "variants of the seed", bench.problem.about.features
    ended = _score_offspring(bench, seed, QUICK_COUNT if quick else COUNT)
    scored = [evaluation for evaluation in ended if evaluation.score is not None]
    complaint = ""
    if not ended:
        complaint = "the seed cannot be varied; give primitives in problem.yaml"
    elif not scored:
        first = f"the first ended as {ended[0].status}: {ended[0].message}"
        complaint = f"none of {len(ended)} small changes gets a score; {first}"
    elif len(_distinct_scores(seed, scored)) == 1:
        advice = "the score does not depend on the function: is the candidate called, and its answer used?"
        complaint = f"all {len(scored)} have the seed's score {seed.train.score}; {advice}"
    elif declared and len(_distinct_cells(seed, scored)) == 1:
        advice = "features that hardly change keep a single elite: describe behaviour more finely, or move the bins"
        complaint = f"all {len(scored)} fall into the seed's cell {seed.train.features}; {advice}"
    reached = f" in {len(_distinct_cells(seed, scored))} cells" if declared else ""
    scores = len(_distinct_scores(seed, scored))
    praise = f"{len(scored)} of {len(ended)} get a score; with the seed's {scores} scores{reached}"
    return make_finding(title, complaint, praise, Level.WARNING)


def _score_offspring(bench: ScoringBench, seed: Seed, count: int) -> list[Evaluation]:
    """Score ``count`` offspring, and some more if all results so far are equal."""
    ended: list[Evaluation] = []
    for source in islice(breed_offspring(bench), MAX_COUNT):
        scored = [evaluation for evaluation in ended if evaluation.score is not None]
        one_cell = bool(bench.problem.about.features) and len(_distinct_cells(seed, scored)) == 1
        if len(ended) >= count and len(_distinct_scores(seed, scored)) > 1 and not one_cell:
            break
        ended.append(bench.run(source, mode="train", cpu_s=seed.patience_s))
    return ended


def _distinct_scores(seed: Seed, scored: Sequence[Evaluation]) -> set[float | None]:
    return {evaluation.score for evaluation in (seed.train, *scored)}


def _distinct_cells(seed: Seed, scored: Sequence[Evaluation]) -> set[tuple[float, ...] | None]:
    return {evaluation.features for evaluation in (seed.train, *scored)}


def breed_offspring(bench: ScoringBench) -> Iterator[str]:
    """Yield different programs, each one change away from the seed."""
    signature, rng = bench.problem.signature, np.random.default_rng(0)
    seen = {inspect_program(bench.problem.seed, signature).fingerprint}
    for _ in range(TRIES):
        child = bench.breed_child(rng).source
        inspection = inspect_program(child, signature)
        if not inspection.problem and inspection.fingerprint not in seen:
            seen.add(inspection.fingerprint)
            yield child


def check_command_line(bench: ScoringBench, seed: Seed, quick: bool) -> Iterator[ContractFinding]:
    """Check wrong arguments and, unless ``quick``, each declared size separately and mode test."""
    yield _check_refusal(bench, seed, "--mode=no_such_mode", "no_such_mode", None)
    yield _check_refusal(bench, seed, "--problem_size=-1", "train", -1)
    if quick:
        return
    sizes, seconds = bench.problem.about.sizes, seed.train.wall_s + seed.val.wall_s
    if seconds > QUICK_S:
        yield ContractFinding(
            Level.OK, "single sizes and mode test", f"left out: the seed took {seconds:.0f} s already"
        )
        return
    for mode in ("train", "val"):
        for size in sizes.get(mode, ()):
            yield judge_score(f"size {size} of {mode} alone", bench.run(mode=mode, size=size))
    if "test" in sizes:
        ended = bench.run(mode="test")
        # Searches do not use this mode, so slowness there is not a failure.
        yield judge_score(
            "seed in mode test", ended, Level.WARNING if ended.status is Status.TIMEOUT else Level.FAILURE
        )
    for name in bench.problem.about.named_sets:
        yield _check_set(bench, name)


def _check_set(bench: ScoringBench, name: str) -> ContractFinding:
    """Score the seed on a named set, with the limits that apply there."""
    problem, title, settings = bench.problem, f"seed on set {name}", LimitSettings()
    try:
        offers = find_options(problem, bench.root, bench.score)
        patience = mode_patience(name)
        arguments = evaluator_arguments(problem, settings, offers, patience=patience, mode=name, root=bench.root)
    except ProblemError as fault:
        return ContractFinding(Level.FAILURE, title, str(fault))
    limits = problem.make_limits(settings, patience, name)
    return judge_score(title, bench.score(problem.make_job(problem.seed, bench.root, limits, name, None, arguments)))


def _check_refusal(bench: ScoringBench, seed: Seed, argument: str, mode: str, size: int | None) -> ContractFinding:
    ended = bench.run(mode=mode, size=size, cpu_s=seed.patience_s)
    title = f"unknown {argument}"
    ending = "it must end with a non-zero exit code and a message that lists the valid ones"
    if ended.score is not None:
        complaint = f"it was taken, and the seed got score {ended.score}; {ending}"
        return ContractFinding(Level.FAILURE, title, complaint)
    silent = not (ended.log.strip() or ended.output.strip())
    if silent or ended.status in (Status.TIMEOUT, Status.CRASHED):
        return ContractFinding(
            Level.WARNING, title, f"the evaluation ended as {ended.status}: {ended.message}; {ending}"
        )
    return ContractFinding(Level.OK, title, ended.message)


def check_references(bench: ScoringBench, seed: Seed) -> Iterator[ContractFinding]:
    """Score each reference of problem.yaml in mode train."""
    for name in bench.problem.about.references:
        title = f"reference {name}"
        try:
            source, _ = bench.problem.read_reference(name)
        except (ProblemError, CandidateError) as fault:
            yield ContractFinding(Level.FAILURE, title, str(fault))
            continue
        yield judge_score(title, bench.run(source, mode="train", cpu_s=seed.patience_s))


def check_work(bench: ScoringBench, seed: Seed) -> Iterator[ContractFinding]:
    """Check that the reported work is deterministic and follows ``--work``, and measure the CPU seconds of a unit."""
    title, unit, first = "work", bench.problem.about.work.unit, seed.train.metrics.get(WORK_UNITS)
    has_factor = WORK in find_options(bench.problem, bench.root, bench.score)
    if not isinstance(first, int | float):
        silent = "--work is an option, and the evaluator reports none: call harness.work(units) after each solve"
        if has_factor or bench.problem.about.work.lead > 1:
            yield ContractFinding(Level.FAILURE, title, silent)
        return
    ended = (
        {factor: bench.run(mode="train", patience=factor, arguments=_work_arguments(factor)) for factor in (1, 2, 4)}
        if has_factor
        else {1: bench.run(mode="train")}
    )
    units = {factor: evaluation.metrics.get(WORK_UNITS) for factor, evaluation in ended.items()}
    if units[1] != first:
        random = f"{first:,} {unit} at first, then {units[1]}: end solves by a deterministic limit, not by a clock"
        yield ContractFinding(Level.FAILURE, title, random)
        return
    if not has_factor:
        yield ContractFinding(Level.OK, title, f"{first:,} {unit} on train; {describe_missing(WORK)}")
        return
    failed = next((evaluation for evaluation in ended.values() if evaluation.score is None), None)
    if failed is not None:
        yield ContractFinding(
            Level.FAILURE, title, f"with more work, the seed gets no score: {explain_failure(failed)}"
        )
        return
    yield _calibrate_work([(float(units[factor] or 0), evaluation.cpu_s) for factor, evaluation in ended.items()], unit)


def _work_arguments(factor: float) -> tuple[str, ...]:
    return () if factor == 1 else (f"{WORK}={factor:g}",)


def _calibrate_work(points: Sequence[tuple[float, float]], unit: str) -> ContractFinding:
    """Fit CPU seconds against units, for 1, 2 and 4 times the work."""
    (least, _), *_, (most, _) = points
    if most <= least:
        stuck = f"{most:,.0f} {unit} with --work=4 and {least:,.0f} with 1: solves end before the limit on work, or "
        return ContractFinding(Level.WARNING, "work", f"{stuck}the evaluator does not multiply it by arguments.work")
    units, seconds = np.array(points).T
    slope, start_s = np.polyfit(units, seconds, 1)
    shown = ", ".join(f"{count:,.0f} {unit} in {cpu_s:.2f} CPU s" for count, cpu_s in points)
    if slope <= 0:
        unclear = f"{shown}: more work takes no more time; one evaluation is too short to measure a unit"
        return ContractFinding(Level.WARNING, "work", unclear)
    scale = f"1,000,000 {unit} take {1e6 * slope:.3g} CPU s, and the start {max(start_s, 0.0):.2f} s"
    return ContractFinding(Level.OK, "work", f"{scale} ({shown})")


def check_hooks(bench: ScoringBench, seed: Seed) -> ContractFinding:
    """Observe the seed in mode train, if the evaluator has hooks."""
    level, message = _watch_seed(bench, seed, set(bench.problem.about.hooks))
    return ContractFinding(level, "hooks", message)


def _watch_seed(bench: ScoringBench, seed: Seed, declared: set[str]) -> tuple[Level, str]:
    text = bench.problem.evaluator.read_text(encoding="utf-8", errors="replace")
    if not (("hooks" in text or declared) and OBSERVER in find_options(bench.problem, bench.root, bench.score)):
        missing = describe_missing(OBSERVER)
        if not declared:
            return Level.OK, f"none: {missing}"
        told = f"problem.yaml tells of {_join_sorted(declared)}, but {missing}; give harness.run(..., hooks=...)"
        return Level.FAILURE, told
    if not declared:
        silent = "the evaluator can be watched, but problem.yaml says nothing under hooks, so no model knows of it"
        return Level.WARNING, silent
    watched = bench.run(mode="train", observer=COUNTING, patience=OBSERVER_LIMIT_FACTOR)
    if watched.score is None:
        return Level.FAILURE, f"watched, the seed gets no score: {explain_failure(watched)}"
    if watched.score != seed.train.score:
        scores = f"watched, the seed gets {watched.score}, and else {seed.train.score}"
        return Level.FAILURE, f"{scores}; watching must change nothing"
    counts = {name: int(count) for name, count in CALLED.findall(watched.log) if name != "end"}
    if uncalled := declared - counts.keys():
        return Level.FAILURE, f"{_join_sorted(uncalled)} of problem.yaml is never called on train"
    if unknown := counts.keys() - declared:
        return Level.FAILURE, f"the evaluator calls {_join_sorted(unknown)}, of which problem.yaml says nothing"
    return Level.OK, ", ".join(f"{name} ({count} times on train)" for name, count in counts.items())


def _join_sorted(names: set[str]) -> str:
    return ", ".join(sorted(names))


@dataclass(frozen=True)
class MisbehaviourCase:
    """Candidate that breaks a rule, and the statuses that it should get."""

    # Fault of the candidate, as a verb.
    name: str
    # Body of its function, after the seed is renamed to ``_wrapped``. Empty means a text that does not parse.
    body: str
    # Statuses that name the fault.
    expected: frozenset[Status]
    # Remedy if it gets a score.
    advice: str
    # Level of the finding if it gets a score.
    level: Level = Level.FAILURE


def check_misbehaviour(bench: ScoringBench, seed: Seed) -> Iterator[ContractFinding]:
    """Score a candidate of each kind in mode train, and also in mode val if it gets a score there."""
    cases = _python_cases if bench.problem.signature.language == "python" else _cpp_cases
    for case in cases(_forge_result(bench, seed)):
        endless = case.expected == {Status.TIMEOUT}
        cpu_s = seed.train.cpu_s + HEAD_START_S if endless else seed.patience_s
        source = _write_candidate(bench, case)
        ended = bench.run(source, mode="train", cpu_s=cpu_s)
        if ended.score is not None:
            # The first stage of a cascade may be lenient. A search uses scores of mode val.
            ended = bench.run(source)
        yield _judge_case(case, ended)


def _python_cases(forged: str) -> list[MisbehaviourCase]:
    wrong = frozenset({Status.INVALID, Status.ERROR})
    forge = f"_os.write(1, {forged.encode()!r})\n    _os._exit(0)"
    return [
        MisbehaviourCase("raises", 'raise RuntimeError("raised on purpose")', frozenset({Status.ERROR}), FAILED),
        MisbehaviourCase("returns None", "return None", wrong, CHECK_IT),
        MisbehaviourCase("returns NaN", 'return _spoil(_wrapped(*args, **kwargs), "nan")', wrong, CHECK_IT),
        MisbehaviourCase(
            "returns another shape",
            'return _spoil(_wrapped(*args, **kwargs), "shape")',
            wrong,
            CHECK_IT,
            Level.WARNING,
        ),
        MisbehaviourCase("is no Python", "", frozenset({Status.REJECTED, Status.ERROR}), FAILED),
        MisbehaviourCase("ends its process", "_os._exit(0)", DEAD, FAILED),
        MisbehaviourCase("forges a result", forge, DEAD, IN_PROCESS, Level.WARNING),
        MisbehaviourCase("never ends", "while True:\n        pass", frozenset({Status.TIMEOUT}), FAILED),
    ]


def _cpp_cases(forged: str) -> list[MisbehaviourCase]:
    text = "".join(f"\\x{byte:02x}" for byte in forged.encode())
    forge = f'if (write(1, "{text}", {len(forged.encode())})) _exit(0); std::abort();'
    return [
        MisbehaviourCase("throws", 'throw std::runtime_error("raised on purpose");', frozenset({Status.ERROR}), FAILED),
        MisbehaviourCase("does not compile", "", frozenset({Status.REJECTED}), FAILED),
        MisbehaviourCase("crashes", "std::abort();", DEAD, FAILED),
        MisbehaviourCase("ends its process", "_exit(0);", DEAD, FAILED),
        MisbehaviourCase("forges a result", forge, DEAD, IN_PROCESS, Level.WARNING),
        MisbehaviourCase("never ends", "for (volatile int i = 0;; i = i + 1) {}", frozenset({Status.TIMEOUT}), FAILED),
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
    return with_main(
        problem.seed,
        names,
        lambda text: WRAPPED.format(seed=text, spoiling=SPOILING, function=function, body=case.body),
    )


def _forge_result(bench: ScoringBench, seed: Seed) -> str:
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
