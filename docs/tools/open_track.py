"""Score published rules and shipped programs in the guided and in the open track, and print a table: ``open_track.py [PROBLEM ...]``.

In the open track only the time of the whole evaluation is limited (``--heuristic_s none`` of ``oragent eval``). Scores are of
``val``. Programs use a fixed amount of work, so the last column has what more of it gives within the limit of the open track.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace

from harden_rules import RULES
from out_of_distribution import RULES_ONLY, read_rule
from ship_discovered import ROOT, Scorer

from oragent._base.errors import ProblemError
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.discovered import find_discovered, list_discovered
from oragent.evaluation.problem import LimitSettings, Problem, find_problem
from oragent.programs.parameters import read_value, write_values

OPEN = LimitSettings(heuristic_s=None)
# Constant of each shipped program that controls its work; a rule has none.
WORK = {
    "tsp_constructive": "KICKS",
    "tsp_aco": "KICKS",
    "tsp_gls": "KICKS",
    "cvrp_aco": "ROUNDS",
    "op_aco": "ROUNDS",
    "mkp_aco": "NODES",
    "bpp_offline_aco": "TRIES",
    "bpp_online": "GENERATIONS",
}
# Constants that a program binds together, and the same apart.
APART = "TRIES, ROUNDS = 14, 150", "TRIES = 14\nROUNDS = 150"
HEAD = (
    "| problem | program | guided | open | more work | score | time of the function |",
    "|---|---|---|---|---|---|---|",
)


def with_work(source: str, constant: str, factor: float) -> str:
    """Return a program with another amount of work."""
    source = source.replace(*APART)
    return write_values(source, {constant: round(factor * read_value(source, constant))})


def show(score: Scorer, source: str) -> tuple[str, str]:
    """Return score and CPU seconds of the function, or the reason why there is none."""
    try:
        scored = score(source, "val")
    except ProblemError as failure:
        return str(failure).split(": ")[1], "-"
    return f"{scored['score']:.6g}", f"{scored['heuristic_seconds']:.1f} s"


def list_cells(problem: Problem, run: EvaluationRunner, factor: float) -> Iterator[tuple[str, ...]]:
    """Yield the cells of a row for the published rule and for each shipped program, whose guided score is recorded."""
    guided = Scorer(problem, run)
    unlimited = replace(guided, settings=OPEN)
    if rule := read_rule(problem):
        yield f"`{problem.name}`", "published rule", show(guided, rule)[0], show(unlimited, rule)[0], "", "", ""
    for title, evidence in list_discovered(problem).items():
        source = find_discovered(problem, title).read_text(encoding="utf-8")
        mark = "" if problem.name in RULES_ONLY else " ⚙"
        cells = [f"`{problem.name}`", f"shipped{mark}", f"{evidence.val.best:.6g}", show(unlimited, source)[0]]
        if factor > 1 and (constant := WORK.get(problem.name)):
            cells += [f"{factor:g} times", *show(unlimited, with_work(source, constant, factor))]
        else:
            cells += ["", "", ""]
        yield tuple(cells)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", metavar="PROBLEM")
    parser.add_argument("--factor", type=float, default=4.0, help="on the work of shipped programs (default: 4)")
    options = parser.parse_args()
    print("\n".join(HEAD))
    with EvaluationRunner(1) as run:
        for name in options.problems or RULES:
            for cells in list_cells(find_problem(name, ROOT), run, options.factor):
                print(f"| {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
