"""Test the published rules, the rules of ours and the discovered programs with unusual arguments; print a table."""

from collections.abc import Iterator
from pathlib import Path

import own_rules
import reevo_rules

from oragent.api.experiments import source_of
from oragent.evaluation.discovered import find_discovered, list_discovered
from oragent.evaluation.hardening import CASES, CaseOutcome
from oragent.evaluation.problem import Problem, evaluation_root, find_problem
from oragent.search.experiment_runner import ExperimentRunner

ROOT = Path(__file__).parents[2]
RULES = {
    "tsp_aco": (reevo_rules.tsp_standardised, own_rules.tsp_ranked),
    "cvrp_aco": (reevo_rules.cvrp_never_home, own_rules.cvrp_saving),
    "op_aco": (reevo_rules.op_cubed, own_rules.op_reachable),
    "mkp_aco": (reevo_rules.mkp_cubic, own_rules.mkp_dense),
    "bpp_offline_aco": (reevo_rules.bpp_complement, own_rules.bpp_large),
    "tsp_gls": (reevo_rules.gls_relative, own_rules.gls_local),
    "tsp_constructive": (reevo_rules.constructive_weighed, own_rules.constructive_lonely_first),
    "bpp_online": (reevo_rules.funsearch, own_rules.bpp_all_or_plenty),
    "dpp_ga": (reevo_rules.dpp_one_point, own_rules.dpp_voted),
}


def list_programs(problem: Problem) -> Iterator[tuple[str, str]]:
    """Yield name and text of each program of a problem."""
    for rule in RULES[problem.name]:
        yield rule.__name__, source_of(rule).replace(f"def {rule.__name__}(", f"def {problem.about.function}(")
    for title in list_discovered(problem):
        yield f"discovered/{title}", find_discovered(problem, title).read_text(encoding="utf-8")


def main() -> None:
    """Print a row for each program."""
    print("| problem | program | passed | failed | not judged, as the seed fails too |\n|---|---|---|---|---|")
    for name in RULES:
        problem = find_problem(name, ROOT)
        with ExperimentRunner(problem, evaluation_root(problem, None)) as runner:
            for title, source in list_programs(problem):
                hardened = runner.harden(source)
                failed = "; ".join(f"{case.name}: {case.reason}" for case in hardened.failures)
                unjudged = ", ".join(case.name for case in hardened.cases if case.outcome is CaseOutcome.UNJUDGED)
                passed = sum(case.outcome is CaseOutcome.PASSED for case in hardened.cases)
                row = (f"`{name}`", f"`{title}`", f"{passed} of {len(CASES)}", failed, unjudged)
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
