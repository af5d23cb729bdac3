"""Solver back ends behind one interface."""

from oragent.modelling.solving.back_ends.protocol import (
    Ability,
    Limit,
    Solver,
    SolverOptions,
    SolverResult,
    SolverStatus,
)
from oragent.modelling.solving.back_ends.registry import (
    SolverListing,
    find_solver,
    list_solvers,
    solver_names,
    solvers_able,
)

__all__ = [
    "Ability",
    "Limit",
    "Solver",
    "SolverListing",
    "SolverOptions",
    "SolverResult",
    "SolverStatus",
    "find_solver",
    "list_solvers",
    "solver_names",
    "solvers_able",
]
