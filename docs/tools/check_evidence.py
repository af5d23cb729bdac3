"""Score the programs that ship with problems again, and compare with their evidence: ``check_evidence.py [PROBLEM ...]``.

Seed and program are scored on ``val``, ``test``, the recorded fresh set and the named sets, at the recorded sizes, as ``oragent
eval PROBLEM --candidate discovered/TITLE --mode MODE`` does. Of problems without a program, the seed is scored on the named sets, and
the program of another problem where one is recorded. Scores are reproducible on machines of one kind, so figures may
differ by rounding alone. ``--noise=X`` allows the relative difference X, for processors or packages that round differently.
``--modes=val,...`` leaves out the other sets. The exit code is 1 if a figure differs, or if a set or a problem cannot be scored.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence

from baselines import drawn_sets, read_references
from out_of_distribution import read_borrowed, try_score
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


def check_rows(score: Scorer, noise: float) -> bool:
    """Print a line for each named set of a problem without a program; return True if all scores are those recorded."""
    recorded, equal = read_references(score.problem.folder)["baselines"], True
    for mode in drawn_sets(score.problem):
        for name, source in (("seed", score.problem.seed), ("borrowed", read_borrowed(score.problem))):
            if (old := recorded.get(mode, {}).get(name)) is None:
                continue
            new = try_score(score, source, mode)
            same = new is not None and math.isclose(old, new, rel_tol=noise, abs_tol=ROUNDED)
            equal = equal and same
            print(
                f"{score.problem.name} {mode}: {name} {new}, {'as recorded' if same else f'recorded {old:g}'}",
                flush=True,
            )
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
            recorded = programs or ("sets" in modes and read_references(problem.folder)["baselines"])
            if recorded and unmet:
                print(f"{problem.name}: {'; '.join(unmet)}", flush=True)
                equal = False
                continue
            score = Scorer(problem, run)
            if not programs and recorded:
                equal = check_rows(score, options.noise) and equal
            for title, evidence in programs.items():
                equal = check_program(score, title, evidence, modes, options.noise) and equal
    return int(not equal)


if __name__ == "__main__":
    sys.exit(main())
