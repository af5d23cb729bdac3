"""Check that a problem's folder fulfils the contract, and describe violations."""

import ast
import builtins
import json
from collections.abc import Callable, Generator, Iterator
from itertools import chain, repeat
from pathlib import Path

import numpy as np

from oragent._base.errors import CandidateError, ProblemError
from oragent._base.racing import displayed_metrics
from oragent.authoring.bench import (
    Breed,
    ContractFinding,
    Level,
    ScoringBench,
    Seed,
    explain_failure,
    judge_score,
    make_finding,
)
from oragent.authoring.noise_check import check_noise
from oragent.authoring.seed_checks import (
    breed_offspring,
    check_command_line,
    check_function,
    check_hooks,
    check_misbehaviour,
    check_references,
    check_variants,
    check_work,
    describe_randomness,
)
from oragent.authoring.wrong_answers import check_wrong_answers
from oragent.evaluation import Evaluation, EvaluationRunner, Job, run_evaluation
from oragent.evaluation.capabilities import find_options, list_unmet
from oragent.evaluation.problem import Feature, Problem, evaluation_root, load_problem
from oragent.programs.inspection import parse_expression
from oragent.programs.multi_file import with_main

EITHER = (
    "The evaluator draws numbers or reads the clock, or the heuristic does where its text does not show it: "
    "'function of its arguments', below, says whether it is the heuristic, which should make a generator with a fixed "
    "seed, np.random.default_rng(0), in every call. If not, seed every generator of the evaluator by mode, size, index"
)
BY_MODELS = "none are bred: gp breeds Python only, so a search for these candidates asks a model"
MODULES = {"np", "math", "torch"}
# Number of children. A seed with a place for primitives gets some into a third of its children.
CHILDREN = 60
NO_PLACE = (
    "gp finds no place for them in the seed: let it return arithmetic or calls of np, math or torch, "
    "not what another function returns"
)
# At its first call, the function evaluates every primitive on its real arguments. Then it continues as the seed.
TRIED = """{seed}

import math as _math
import sys as _sys
import numpy as _np

_modules = {{"np": _np, "math": _math, "torch": _sys.modules.get("torch")}}
_wrapped, _tried = {function}, False


{header}
    global _tried
    names = dict(locals())
    if not _tried:
        for text in {primitives!r}:
            try:
                eval(text, {{**_modules, **names}})
            except Exception as problem:
                raise RuntimeError(f"primitive {{text!r}} fails on the seed's arguments: {{problem!r}}") from None
        _tried = True
    return _wrapped(**names)
"""


def check_problem(
    folder: Path, root: Path | None, breed: Breed, timeout_s: float | None = None, *, quick: bool = False
) -> Iterator[ContractFinding]:
    """Check a problem step by step. Later steps depend on earlier ones.

    Args:
        folder: Folder of the problem.
        root: Root of the project, for data and checkpoints. None means the project that contains the folder, or the
            folder.
        breed: Function that breeds children of the seed, to test score and features.
        timeout_s: CPU seconds of one evaluation; by default the limit in problem.yaml.
        quick: Whether to evaluate in mode val only once, skip single sizes and mode test, and breed fewer variants.

    Yields:
        Findings as they are made. A failure that makes further checks useless ends them. A full check takes about 30
        evaluations, most of them in mode train.
    """
    try:
        problem = load_problem(folder)
        beside = problem.companions
    except ProblemError as error:
        yield ContractFinding(Level.FAILURE, "folder", str(error))
        return
    read = f"problem.yaml, {problem.about.evaluator} and {', '.join(problem.about.candidate.names)} can be read"
    yield ContractFinding(Level.OK, "folder", f"{read}; {beside}" if beside.files else read)
    missing = list_unmet(problem)
    yield make_finding("what it needs", "\n".join(missing), "everything is here")
    if missing:
        return
    yield _check_docstring(problem)
    with EvaluationRunner() as forked:
        # A fresh interpreter and a fork of another one must give the same score.
        ways: Iterator[Callable[[Job], Evaluation]] = chain([run_evaluation], repeat(forked))
        patience_s = timeout_s or problem.about.timeout_s
        bench = ScoringBench(problem, evaluation_root(problem, root), patience_s, breed, lambda job: next(ways)(job))
        yield from _check_steps(bench, quick)


def _check_steps(bench: ScoringBench, quick: bool) -> Iterator[ContractFinding]:
    seed = yield from _score_seed(bench, quick)
    if seed is None:
        return
    yield _check_features(bench.problem.about.features, seed)
    yield _check_metrics(seed)
    yield check_function(bench, seed)
    bred = bench.problem.signature.language == "python"
    if bred:
        yield _check_primitives(bench, seed)
    yield check_hooks(bench, seed)
    yield from check_references(bench, seed)
    yield from check_work(bench, seed)
    yield from check_command_line(bench, seed, quick)
    yield from check_misbehaviour(bench, seed)
    if bred:
        yield from check_wrong_answers(bench, seed)
    if not quick:
        offers = find_options(bench.problem, bench.root, bench.score)
        yield check_noise(bench, seed, offers, breed_offspring(bench) if bred else ())
    yield check_variants(bench, seed, quick) if bred else ContractFinding(Level.OK, "variants of the seed", BY_MODELS)


def _check_docstring(problem: Problem) -> ContractFinding:
    signature = problem.signature
    kind = "docstring" if signature.language == "python" else "comment above it"
    file = problem.about.candidate.names[0]
    if problem.documentation:
        complaint = ""
    else:
        complaint = (
            f"{signature.function} in {file} has no {kind}; it is what a language model is shown: say what goes in "
            "and what must come out, with shapes and units"
        )
    return make_finding("function", complaint, f"{signature.text} with a {kind}", Level.WARNING)


def _score_seed(bench: ScoringBench, quick: bool) -> Generator[ContractFinding, None, Seed | None]:
    """Score the seed in mode val as a search does, without ``--mode``."""
    train = bench.run(mode="train")
    yield judge_score("seed in mode train", train)
    if train.score is None:
        return None
    # The first evaluation may have compiled something, so its time is not used.
    warm = bench.run(mode="train")
    yield _check_repeat("same score twice", train, warm, bench.problem.seed)
    val = bench.run()
    yield judge_score("seed in mode val", val)
    if val.score is None:
        return None
    if not quick:
        yield _check_repeat("val is the default mode", val, bench.run(mode="val"), bench.problem.seed)
    return Seed(train if warm.score is None else warm, val)


def _check_repeat(title: str, first: Evaluation, second: Evaluation, source: str) -> ContractFinding:
    complaint = ""
    if (first.score, first.features) != (second.score, second.features):
        then = explain_failure(second) if second.score is None else f"score {second.score}, cell {second.features}"
        remedy = describe_randomness(source) or EITHER
        complaint = (
            f"the seed got score {first.score}, cell {first.features}; then, in a second process, {then}. {remedy}"
        )
        if title != "same score twice":
            complaint += "; without --mode the evaluator must run mode val"
    return make_finding(title, complaint, "equal to the last bit, each from a copy in a folder of its own")


def _check_features(declared: tuple[Feature, ...], seed: Seed) -> ContractFinding:
    complaint = _describe_misfit(declared, seed.train.features) or _describe_misfit(declared, seed.val.features)
    names = ", ".join(f"{feature.name} ({feature.bins})" for feature in declared)
    praise = f"within their bins: {names}" if declared else "none declared: the archive is a plain ranking"
    return make_finding("features", complaint, praise)


def _describe_misfit(declared: tuple[Feature, ...], features: tuple[float, ...] | None) -> str:
    """Explain why the features of an evaluation do not name a cell of the archive; empty if they do."""
    if features is None:
        if declared:
            return f"problem.yaml declares {len(declared)}, the evaluator printed None"
        return ""
    if len(features) != len(declared):
        return f"problem.yaml declares {len(declared)}, the evaluator printed {features}; make them as many"
    for feature, value in zip(declared, features, strict=True):
        if feature.kind == "number":
            continue
        if type(value) is not int:
            return f"{feature.name} is {value}, and no bin: print whole numbers, or declare kind: number"
        if not 0 <= value < feature.bins:
            return f"{feature.name} is {value}, its bins are 0 to {feature.bins - 1}; clip it, or declare more bins"
    return ""


def _check_metrics(seed: Seed) -> ContractFinding:
    complaint = ""
    if not (seed.train.metrics and seed.val.metrics):
        complaint = "there are none; print figures by which a person or a model sees where a candidate is good or bad"
    else:
        try:
            json.dumps([seed.train.metrics, seed.val.metrics])
        except (TypeError, ValueError) as problem:
            complaint = f"they cannot be stored ({problem}); use numbers, text, lists and dicts with text as keys"
    return make_finding("metrics", complaint, ", ".join(map(str, displayed_metrics(seed.val.metrics))))


def _check_primitives(bench: ScoringBench, seed: Seed) -> ContractFinding:
    """Read every primitive, then evaluate all of them once on real arguments."""
    about, signature = bench.problem.about, bench.problem.signature
    if not about.primitives:
        nothing = "none declared: breeding without a model has only the seed to build on"
        return ContractFinding(Level.OK, "primitives", nothing)
    complaint = next(filter(None, (_describe_unfit(text, signature.parameters) for text in about.primitives)), "")
    if complaint:
        return ContractFinding(Level.FAILURE, "primitives", complaint)
    header = f"def {signature.function}({', '.join(signature.parameters)}):"
    source = with_main(
        bench.problem.seed,
        about.candidate.names,
        lambda text: TRIED.format(seed=text, function=signature.function, header=header, primitives=about.primitives),
    )
    ended = bench.run(source, mode="train", cpu_s=seed.patience_s)
    if ended.score is None:
        return ContractFinding(Level.FAILURE, "primitives", f"{ended.message}; mend it in problem.yaml")
    rng = np.random.default_rng(0)
    is_placed = any({"insert", "replace"} & {*bench.breed_child(rng).operator.split("+")} for _ in range(CHILDREN))
    praise = f"all {len(about.primitives)} can be evaluated, and combined with the seed"
    return make_finding("primitives", "" if is_placed else NO_PLACE, praise, Level.WARNING)


def _describe_unfit(text: str, parameters: tuple[str, ...]) -> str:
    """Explain why an expression cannot be inserted; empty if it can."""
    try:
        tree = parse_expression(text)
    except CandidateError as problem:
        return f"{text!r} is not a Python expression ({problem}); mend it in problem.yaml"
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    defined = {*parameters, *bound, *MODULES, *vars(builtins)}
    unknown = [name.id for name in names if name.id not in defined]
    if unknown:
        return f"{text!r} uses {unknown[0]!r}; only {', '.join(parameters)}, np, math and torch are known in it"
    return ""
