"""Score the programs that ship with problems again, and compare with their evidence: ``check_evidence.py [PROBLEM ...]``.

Seed and program are scored on ``val``, ``test``, the recorded fresh set and the named sets, at the recorded sizes, as ``oragent
eval PROBLEM --candidate discovered/TITLE --mode MODE`` does. Scores are reproducible on machines of one kind, so figures may
differ by rounding alone. ``--noise=X`` allows the relative difference X, for processors or packages that round differently.
``--modes=val,...`` leaves out the other sets. The exit code is 1 if a figure differs, or if a set or a problem cannot be scored.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence

from ship_discovered import ROOT, Scorer, set_evidence

from oragent._base.errors import OragentError
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.capabilities import FRESH_SEED, list_unmet
from oragent.evaluation.discovered import Evidence, SetEvidence, find_discovered, list_discovered
from oragent.evaluation.problem import Problem, find_problem, list_problems

MODES = ("val", "test", "fresh", "sets")
# Absolute difference of figures that were rounded to six digits, from either side.
ROUNDED = 1.1e-6


def recorded_sizes(problem: Problem, recorded: SetEvidence, mode: str) -> list[int]:
    """Return the sizes of a set if it has only some of the problem's; empty means all."""
    declared = problem.about.sizes.get("test" if mode == "fresh" else mode, [])
    if recorded.sizes.keys() < set(map(str, declared)):
        return [int(size) for size in recorded.sizes]
    return []


def score_set(score: Scorer, source: str, recorded: SetEvidence, mode: str) -> SetEvidence:
    """Return the scores of seed and program on one set."""
    sizes = recorded_sizes(score.problem, recorded, mode)
    drawn = [] if recorded.fresh_seed is None else [f"{FRESH_SEED}={recorded.fresh_seed}"]
    texts = (score.problem.seed, source)
    return set_evidence(score.problem, *(score(text, mode, *drawn, sizes=sizes) for text in texts))


def recorded_sets(evidence: Evidence, modes: Sequence[str]) -> Iterator[tuple[str, SetEvidence]]:
    """Yield the recorded scores of each mode; ``sets`` are all named sets."""
    for mode in modes:
        if mode == "sets":
            yield from evidence.sets.items()
        elif (recorded := getattr(evidence, mode)) is not None:
            yield mode, recorded


def find_differences(recorded: SetEvidence, scored: SetEvidence, noise: float) -> Iterator[str]:
    """Yield a line for each figure that differs from the recorded one."""
    figures = {"seed": (recorded.seed, scored.seed), "best": (recorded.best, scored.best)}
    for size in recorded.sizes.keys() | scored.sizes.keys():
        figures[f"best at {size}"] = (recorded.sizes.get(size, math.nan), scored.sizes.get(size, math.nan))
    for name, (old, new) in figures.items():
        if not math.isclose(old, new, rel_tol=noise, abs_tol=ROUNDED):
            yield f"{name}: recorded {old:g}, scored {new:g}"


def check_program(score: Scorer, title: str, evidence: Evidence, modes: Sequence[str], noise: float) -> bool:
    """Print a line for each set of a program; return True if all figures are those of its evidence."""
    source = find_discovered(score.problem, title).read_text(encoding="utf-8")
    equal = True
    for mode, recorded in recorded_sets(evidence, modes):
        try:
            scored = score_set(score, source, recorded, mode)
        except OragentError as failure:
            print(f"{score.problem.name} {title} {mode}: {failure}", flush=True)
            equal = False
            continue
        differences = list(find_differences(recorded, scored, noise))
        equal = equal and not differences
        what = "; ".join(differences) or f"seed {scored.seed:g}, best {scored.best:g}, as recorded"
        print(f"{score.problem.name} {title} {mode}: {what}", flush=True)
    return equal


def main() -> int:
    """Score the programs of the named problems, or of all problems; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", metavar="PROBLEM")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--noise", type=float, default=0.0)
    options = parser.parse_args()
    modes = options.modes.split(",")
    if unknown := set(modes) - set(MODES):
        parser.error(f"--modes has {', '.join(sorted(unknown))}, and not only {', '.join(MODES)}")
    problems = [find_problem(name, ROOT) for name in options.problems] or list_problems(ROOT)
    equal = True
    with EvaluationRunner(1) as run:
        for problem in problems:
            programs, unmet = list_discovered(problem), list_unmet(problem)
            if programs and unmet:
                print(f"{problem.name}: {'; '.join(unmet)}", flush=True)
                equal = False
                continue
            score = Scorer(problem, run)
            for title, evidence in programs.items():
                equal = check_program(score, title, evidence, modes, options.noise) and equal
    return int(not equal)


if __name__ == "__main__":
    sys.exit(main())
