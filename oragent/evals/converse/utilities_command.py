"""Do what ``oragent converse --utilities`` asks for: generate utilities of a problem and write them."""

from pathlib import Path

import numpy as np
from rich.console import Console

from oragent.converse.problems.registry import open_problem as problem_of
from oragent.evals.converse.evaluable_problems import stakeholders_of
from oragent.evals.converse.stakeholders import measure_diversity
from oragent.evals.converse.utility_files import write_utility_file


def utilities(spec: str, out: Path, seed: int, functions: int, console: Console) -> int:
    """Generate utilities for the problem of a name and write them; say how much they ask for."""
    problem = problem_of(spec)
    stakeholders = stakeholders_of(problem).generated(np.random.default_rng(seed), functions)
    kind = f"function-centric, {functions}" if functions else "solution-centric"
    write_utility_file(out, problem, stakeholders, f"{kind}, seed {seed}")
    diversity = measure_diversity(stakeholders)
    summary = (
        f"{diversity.utilities} utilities, {diversity.unique} with one maximiser, over {diversity.optima} different "
    )
    console.print(f"{summary}{problem.vocabulary.decision}s: {out}", highlight=False, soft_wrap=True, markup=False)
    return 0
