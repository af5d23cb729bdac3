"""Solve and verify optimisation models from Python."""

from pathlib import Path

from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import Solution
from oragent.modelling.opening import open_model
from oragent.modelling.solving.back_ends import SolverOptions
from oragent.modelling.solving.model_solving import solve as solve_model


def solve(
    model: str | Path | IndexedModel,
    *,
    solver: str = "highs",
    seconds: float | None = None,
    gap: float = 0.0,
    threads: int = 1,
    nodes: int | None = None,
) -> Solution:
    """Solve an optimisation model; objective and feasibility are recomputed from the values.

    Args:
        model: A ``.json``, ``.lp`` or ``.mps`` file, a program (``.py``, which runs in the sandbox), a run's folder,
            or an ``oragent.modelling.IndexedModel``.
        solver: ``highs``, ``scip``, ``cp-sat``, ``glop``, ``pdlp``, ``gurobi``, or ``command:PROGRAM ARGUMENTS``.
        seconds: Wall-clock limit; None for none.
        gap: Relative gap at which the search may end.
        threads: Threads of the solver.
        nodes: Limit of branch-and-bound nodes; None for none.

    Returns:
        Status, objective, values by variable, bound, and sensitivities of a linear model.

    Raises:
        ModellingError: There is no model, or the solver cannot solve such a model.
    """
    if not isinstance(model, IndexedModel):
        model = open_model(Path(model), guesses_families=False)
    return solve_model(model, solver=solver, options=SolverOptions(seconds, gap, threads, nodes))
