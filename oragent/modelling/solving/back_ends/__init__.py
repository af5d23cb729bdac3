"""Solver back ends behind one interface. ``registry`` finds them by name."""

from oragent.modelling.solving.back_ends.protocol import (
    Ability,
    Limit,
    Solver,
    SolverOptions,
    SolverResult,
    SolverStatus,
)

__all__ = ["Ability", "Limit", "Solver", "SolverOptions", "SolverResult", "SolverStatus"]
