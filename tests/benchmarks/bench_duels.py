"""Duels whose answers are known: the rule that ReEvo published for a problem is better than its seed heuristic.

    python tests/benchmarks/bench_duels.py [PROBLEM...]

Each round draws 8 new instances of each size of val. The last column of the table is the answer for the seed heuristic
against a copy of itself with another name.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "tools")]

import reevo_rules  # noqa: E402
from harden_rules import RULES  # noqa: E402

import oragent  # noqa: E402
from oragent.api.experiments import source_of  # noqa: E402
from oragent.evals.duel.runner import Duel  # noqa: E402
from oragent.evaluation.problem import find_problem  # noqa: E402

PROBLEMS = ("tsp_constructive", "tsp_aco", "op_aco", "mkp_aco", "bpp_offline_aco")


def decide(name: str) -> tuple[str, Duel, Duel]:
    """Return the name of the published rule, its duel with the seed, and that of the seed with a copy."""
    problem = find_problem(name, ROOT)
    rule = next(rule for rule in RULES[name] if rule.__module__ == reevo_rules.__name__)
    source = source_of(rule).replace(f"def {rule.__name__}(", f"def {problem.about.function}(")
    given = {"problem": problem, "on": "practice", "instances": 8, "seeds": 8}
    copy = problem.seed + "\n# A copy of the seed.\n"
    return rule.__name__, oragent.duel(source, **given), oragent.duel(copy, **given)


def main(names: list[str]) -> None:
    print("| problem | rule | better | instances | gain | p | the seed and a copy |\n|---|---|---|---|---|---|---|")
    for name in names:
        rule, duel, copy = decide(name)
        verdict = duel.verdict
        better = {"first": "the rule", "second": "the seed"}.get(verdict.decision, "open")
        gain = f"{100 * verdict.fixed.mean:+.3g} % ({100 * verdict.low:+.3g} to {100 * verdict.high:+.3g})"
        row = (name, rule, better, verdict.fixed.pairs, gain, f"{verdict.p:.2g}", copy.verdict.decision)
        print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or [*PROBLEMS])
