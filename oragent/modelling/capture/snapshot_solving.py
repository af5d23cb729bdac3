"""Solve a snapshot in the sandbox, for programs whose library cannot solve such a model with HiGHS.

Solvers are imported only when a model needs them, because they may conflict with those of the program.
"""

import importlib
from dataclasses import dataclass

from oragent.modelling.capture.snapshot import Snapshot

# Statuses of solutions that have a point.
WITH_POINT = ("optimal", "feasible")


@dataclass(frozen=True)
class SnapshotSolution:
    """Solution of a snapshot for the program. Like any other result of a program, it is only a claim."""

    # ``optimal``, ``feasible``, ``infeasible``, ``unbounded`` or ``unknown``.
    status: str
    objective: float | None
    # ``(n,)`` values of the columns; empty without a point.
    values: list[float]


def solve_snapshot(snapshot: Snapshot, seconds: float, gap: float | None) -> SnapshotSolution:
    """Solve by HiGHS, or by SCIP if HiGHS does not support such a model.

    Raises:
        ModellingError: The snapshot is incomplete, or no installed solver can solve it.
    """
    # Import the package first, because its parts import each other.
    importlib.import_module("oragent.modelling")
    read_model = importlib.import_module("oragent.modelling.capture.reading").read_model
    assemble = importlib.import_module("oragent.modelling.capture.assembling").assemble
    solve = importlib.import_module("oragent.modelling.solving.model_solving").solve
    model = assemble(read_model(snapshot.to_text().encode())).model.without_flat_names()
    solution = solve(model, seconds, gap or 0.0, duals=False)
    values = [solution.values[name] for name in model.column_names] if solution.values else []
    return SnapshotSolution(str(solution.status), solution.objective, values)
