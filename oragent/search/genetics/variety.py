"""Check before a run that the genetic operators can vary a seed heuristic."""

import numpy as np

from oragent._base.errors import CandidateError
from oragent.evaluation.problem import Problem
from oragent.programs.parameters import read_parameters
from oragent.search.genetics.variation import vary_unit

# Maximum number of children to breed, and minimum number of different ones that must change the inside of the seed.
MAX_CHILDREN, MIN_CHANGED = 40, 4
# Operator that wraps the whole result in arithmetic.
AROUND = "wrap"


def has_place(problem: Problem) -> bool:
    """Return True if children change the inside of the seed, and do not only wrap its result in arithmetic."""
    signature, rng = problem.signature, np.random.default_rng(0)
    changed: set[str] = set()
    for _ in range(MAX_CHILDREN):
        try:
            child = vary_unit(problem.seed, None, signature, problem.seed, primitives=problem.about.primitives, rng=rng)
        except CandidateError:
            continue
        if child.operator.partition("+")[0] != AROUND:
            changed.add(child.source)
        if len(changed) >= MIN_CHANGED:
            return True
    return False


def describe_missing_place(problem: Problem) -> str:
    """Return advice if genetic programming can vary almost nothing in the seed of a problem; empty otherwise."""
    if has_place(problem):
        return ""
    if read_parameters(problem.seed).parameters:
        remedy = f"tune its numbers with 'oragent sweep {problem.name}'"
    else:
        remedy = f"declare its numbers (# param: NAME = 3, 1..9) and tune them with 'oragent sweep {problem.name}'"
    return (
        "careful: gp finds next to nothing to vary in the seed heuristic, which has hardly any arithmetic, calls of np "
        f"or math, numbers or branches; {remedy}, or name a model with --model"
    )
