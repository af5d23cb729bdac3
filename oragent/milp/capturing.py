"""One solver in the place of all that PuLP knows: HiGHS on one thread, which keeps every model before it solves it.

It is brought into the process of a stranger's program. What it keeps is a claim: who gets it solves it again elsewhere.
"""

import json
from collections.abc import Callable
from typing import Any

import pulp

from oragent.milp.highs import JUMP, needs_feasibility_jump, new_engine

Keep = Callable[[dict[str, Any]], None]
GAP = 1e-9  # relative, so that a printed optimum is one; HiGHS itself stops at 1e-4

_SOLVES: dict[str, float] = {}  # what each solve may take and leave open, once that is set


def bound(limit_s: float, gap: float) -> None:
    """Set for all further solves of this process the seconds that each may take, and the gap at which it may stop."""
    _SOLVES.update(limit_s=limit_s, gap=max(gap, GAP))


def bring_solver(
    keep: Keep,
    limit_s: Callable[[], float] | float | None = None,
    solved: Callable[[Any], None] = lambda problem: None,
    gap: float = GAP,
) -> None:
    """Put this solver in the place of every other one, whatever a program names.

    Args:
        keep: Called with each model, as ``snapshot`` gives it, before it is solved.
        limit_s: Seconds of one solve, or what gives them when it begins; a program may ask for less, not for more.
        solved: Called with each ``pulp.LpProblem`` after it was solved.
        gap: Relative gap at which a solve ends.
    """

    class Captured(pulp.HiGHS):  # type: ignore[misc]  # PuLP's classes have no types
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            requested = kwargs.get("timeLimit")
            usable = isinstance(requested, int | float) and not isinstance(requested, bool)
            whole = kwargs.get("mip", True) is not False
            super().__init__(mip=whole, msg=False, timeLimit=requested if usable else None)

        def available(self) -> bool:
            return True

        def createAndConfigureSolver(self, lp: Any) -> None:  # PuLP's name
            lp.solverModel = solver = new_engine()
            solver.setOptionValue("mip_rel_gap", _SOLVES.get("gap", gap))
            solver.setOptionValue(JUMP, needs_feasibility_jump(len(lp.variables())))
            own = limit_s() if callable(limit_s) else limit_s
            limits = [limit for limit in (self.timeLimit, own, _SOLVES.get("limit_s")) if limit is not None]
            if limits:
                solver.setOptionValue("time_limit", float(min(limits)))

        def actualSolve(self, lp: Any, *args: Any, **kwargs: Any) -> Any:  # PuLP's name
            keep(snapshot(lp, self.mip))
            status = super().actualSolve(lp)
            solved(lp)
            return status

    classes = {solver: type(solver.__name__, (Captured,), {"name": solver.name}) for solver in pulp.apis._all_solvers}
    pulp.apis._all_solvers[:] = list(classes.values())
    for module in (pulp, pulp.apis, pulp.pulp):
        for name, value in list(vars(module).items()):
            if isinstance(value, type) and value in classes:
                setattr(module, name, classes[value])
        module.LpSolverDefault = Captured()


def snapshot(problem: Any, whole: bool = True) -> dict[str, Any]:
    """A ``pulp.LpProblem`` as it is now, as JSON has it.

    Args:
        problem: The problem.
        whole: Whether its integers are to be integers; a program may ask for the relaxation.

    Returns:
        ``data`` as its ``to_dict`` gives it, and ``constant``, the objective's, which that leaves out.
    """
    data = problem.toDict() if hasattr(problem, "toDict") else problem.to_dict()
    constant = getattr(problem.objective, "constant", 0.0) if problem.objective is not None else 0.0
    plain = json.loads(json.dumps(data, default=float))
    if not whole:
        for variable in plain["variables"]:
            low, high = (variable[side] for side in ("lowBound", "upBound"))
            if variable["cat"] == "Binary":
                variable["lowBound"], variable["upBound"] = (0 if low is None else low, 1 if high is None else high)
            variable["cat"] = "Continuous"
    return {"data": plain, "constant": float(constant)}
