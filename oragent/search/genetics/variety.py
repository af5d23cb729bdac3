"""Whether the genetic operators have a place in a seed heuristic, found out before a run begins."""

import numpy as np

from oragent._base.errors import CandidateError
from oragent.evaluation.problem import Problem
from oragent.programs.parameters import read_parameters
from oragent.search.genetics.variation import vary_unit

# children that are bred at most, and how many of them must change something within the seed
MOST_CHILDREN, LEAST_CHANGED = 40, 2
# the operator that puts arithmetic around the whole result, whatever that is
AROUND = "wrap"


def has_place(problem: Problem) -> bool:
    """Return True if children of the seed differ within it, and not only by arithmetic around the whole result."""
    signature, rng = problem.signature, np.random.default_rng(0)
    changed = 0
    for _ in range(MOST_CHILDREN):
        try:
            child = vary_unit(problem.seed, None, signature, problem.seed, primitives=problem.about.primitives, rng=rng)
        except CandidateError:
            continue
        changed += child.operator.partition("+")[0] != AROUND
        if changed >= LEAST_CHANGED:
            return True
    return False


def describe_missing_place(problem: Problem) -> str:
    """Say that genetic programming can vary next to nothing in a problem's seed, and what to do; else an empty text."""
    if has_place(problem):
        return ""
    if read_parameters(problem.seed).parameters:
        remedy = f"tune its numbers with 'oragent sweep {problem.name}'"
    else:
        remedy = f"declare its numbers (# param: NAME = 3, 1..9) and tune them with 'oragent sweep {problem.name}'"
    return (
        "careful: gp finds next to nothing to vary in the seed heuristic, which returns no arithmetic and no calls "
        f"of np or math; {remedy}, or name a model with --model"
    )
