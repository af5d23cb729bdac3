"""Replace every solver of PuLP by HiGHS on one thread, and record each model before it is solved.

This runs in the process of an untrusted program. A recorded model is a claim: it is solved again elsewhere.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pulp

from oragent.milp.highs import JUMP, needs_feasibility_jump, new_engine

Keep = Callable[[dict[str, Any]], None]
GAP = 1e-9  # relative, so that a printed optimum is one; HiGHS itself stops at 1e-4


class SolverLimits(NamedTuple):
    """Limits of one solve.

    Attributes:
        seconds: Longest time; None for no limit.
        gap: Relative gap at which it ends; values below ``GAP`` count as ``GAP``.
    """

    seconds: float | None = None
    gap: float = GAP


def bring_solver(
    keep: Keep, limits: Callable[[], SolverLimits] = SolverLimits, solved: Callable[[Any], None] = lambda problem: None
) -> None:
    """Replace every solver, whatever a program names.

    Args:
        keep: Called with each model, as ``snapshot`` gives it, before it is solved.
        limits: Called when a solve begins; a program may ask for fewer seconds, not for more.
        solved: Called with each ``pulp.LpProblem`` after it was solved.
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
            allowed = limits()
            solver.setOptionValue("mip_rel_gap", max(allowed.gap, GAP))
            solver.setOptionValue(JUMP, needs_feasibility_jump(len(lp.variables())))
            seconds = [limit for limit in (self.timeLimit, allowed.seconds) if limit is not None]
            if seconds:
                solver.setOptionValue("time_limit", float(min(seconds)))

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
