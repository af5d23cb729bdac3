"""Check whether a schedule is the only one that a utility is greatest at."""

from collections.abc import Callable
from dataclasses import replace

from oragent.converse.decision import Solved
from oragent.converse.problems.oracle import OfDistrict, Solving, to_restrictions
from oragent.converse.solving import build_model
from oragent.converse.state import RestrictionState
from oragent.evals.converse.people.utilities import Utility, maximum_utility, rank_outcomes
from oragent.milp.model import Objective as Cost
from oragent.milp.model import Relation, Row
from oragent.milp.solution import SolveStatus
from oragent.milp.solving import solve


def is_unique(
    problem: OfDistrict,
    utility: Utility,
    schedule: str,
    solver: Callable[[RestrictionState], Solved],
    limit_s: float = 60.0,
) -> bool | None:
    """Return whether only this schedule has the greatest utility: no other is, by a no-good cut in each best outcome.

    Returns:
        None where a limit came first.
    """
    greatest = maximum_utility(utility, Solving(problem, solver))
    times = len(problem.district.times)
    chosen = {f"x[{school},{time + 1}]": 1.0 for school, time in enumerate(problem.district.chosen(schedule), 1)}
    exclusion = Row("another schedule", chosen, Relation.AT_MOST, len(chosen) - 1.0)
    for outcome, constraints in rank_outcomes(utility, times):
        if utility.value(outcome, times) < greatest - 1e-9:
            return True
        milp = build_model(problem, RestrictionState((0.0, 0.0), to_restrictions(problem.district, constraints)))
        solution = solve(replace(milp, rows=(*milp.rows, exclusion), objective=Cost()), limit_s, duals=False)
        if solution.status.has_point:
            return False
        if solution.status is not SolveStatus.INFEASIBLE:
            return None
    return True
