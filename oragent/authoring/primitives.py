"""Check that the primitives of a problem can be inserted into a heuristic."""

import ast
import builtins
from collections.abc import Iterator

import numpy as np

from oragent._base.errors import CandidateError
from oragent.authoring.bench import ScoringBench, Seed
from oragent.authoring.finding import ContractFinding, Level, make_finding
from oragent.programs.inspection import parse_expression
from oragent.programs.parts import with_main

MODULES = {"np", "math", "torch"}
CHILDREN = 60  # a seed with a place for primitives gets some into a third of its children
NO_PLACE = (
    "gp finds no place for them in the seed: let it return arithmetic or calls of np, math or torch, "
    "not what another function returns"
)

# At its first call the function evaluates every primitive on its real arguments, then goes on as the seed.
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


def check_primitives(bench: ScoringBench, seed: Seed) -> Iterator[ContractFinding]:
    """Read every primitive, then let all of them be evaluated once on real arguments."""
    about, signature = bench.problem.about, bench.problem.signature
    if not about.primitives:
        yield ContractFinding(
            Level.OK, "primitives", "none declared: breeding without a model has only the seed to build on"
        )
        return
    complaint = next(filter(None, (_describe_unfit(text, signature.parameters) for text in about.primitives)), "")
    if complaint:
        yield ContractFinding(Level.FAILURE, "primitives", complaint)
        return
    header = f"def {signature.function}({', '.join(signature.parameters)}):"
    source = with_main(
        bench.problem.seed,
        about.candidate.names,
        lambda text: TRIED.format(seed=text, function=signature.function, header=header, primitives=about.primitives),
    )
    ended = bench.run(source, mode="train", cpu_s=seed.patience_s)
    if ended.score is None:
        yield ContractFinding(Level.FAILURE, "primitives", f"{ended.message}; mend it in problem.yaml")
        return
    complaint = "" if _can_insert_primitives(bench) else NO_PLACE
    praise = f"all {len(about.primitives)} can be evaluated, and combined with the seed"
    yield make_finding("primitives", complaint, praise, Level.WARNING)


def _can_insert_primitives(bench: ScoringBench) -> bool:
    """Return True if breeding without a model inserts primitives into children of the seed."""
    rng = np.random.default_rng(0)
    return any({"insert", "replace"} & set(bench.breed_child(rng).operator.split("+")) for _ in range(CHILDREN))


def _describe_unfit(text: str, parameters: tuple[str, ...]) -> str:
    """Say why an expression cannot be inserted; empty if it can."""
    try:
        tree = parse_expression(text)
    except CandidateError as problem:
        return f"{text!r} is no Python expression ({problem}); mend it in problem.yaml"
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    defined = {*parameters, *bound, *MODULES, *vars(builtins)}
    unknown = [name.id for name in names if name.id not in defined]
    if unknown:
        return f"{text!r} uses {unknown[0]!r}; only {', '.join(parameters)}, np, math and torch are known in it"
    return ""
