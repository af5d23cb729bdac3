"""Solve a snapshot in the sandbox, for programs whose library cannot solve such a model by HiGHS.

It imports the solvers only when a model needs them: they may conflict with those of the program.
"""

from dataclasses import dataclass

from oragent.milp.capture.snapshot import Snapshot

# Statuses of solutions with a point.
WITH_POINT = ("optimal", "feasible")


@dataclass(frozen=True)
class SnapshotSolution:
    """Solution of a snapshot, for the program; it is a claim like any other result of a program."""

    # ``optimal``, ``feasible``, ``infeasible``, ``unbounded`` or ``unknown``.
    status: str
    objective: float | None
    # ``(n,)`` values of the columns; empty without a point.
    values: list[float]


def solve_snapshot(snapshot: Snapshot, seconds: float, gap: float | None) -> SnapshotSolution:
    """Solve by HiGHS, or by SCIP if HiGHS does not support such a model.

    Raises:
        MilpError: The snapshot is incomplete, or no installed solver can solve it.
    """
    import oragent.milp  # noqa: F401  # the package first, as its parts import each other
    from oragent.milp.capture.assembling import assemble
    from oragent.milp.capture.reading import read_model
    from oragent.milp.general_solving import solve_general
    from oragent.milp.indexed_names import to_milp

    milp = to_milp(assemble(read_model(snapshot.to_text().encode())).model, flat=False)
    solution = solve_general(milp, seconds, gap or 0.0)
    values = [solution.values[variable.name] for variable in milp.variables] if solution.values else []
    return SnapshotSolution(str(solution.status), solution.objective, values)
