"""Interface between a model as arrays and a solver: request, options and result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Vector


class Ability(StrEnum):
    """Parts of a model, and kinds of results, that a back end may support."""

    LINEAR = "linear rows"
    INTEGER = "integer variables"
    CONTINUOUS = "continuous variables"
    CONVEX_OBJECTIVE = "convex quadratic objectives"
    # Also nonconvex, and with integer variables.
    QUADRATIC_OBJECTIVE = "any quadratic objective"
    QUADRATIC_ROWS = "quadratic rows"
    INDICATORS = "indicators"
    ORDERED_SETS = "SOS1 and SOS2"
    SEMI_CONTINUOUS = "semi-continuous variables"
    # Duals of linear models.
    DUALS = "duals"
    START = "a start point"
    THREADS = "threads"
    GAP = "a gap"
    TIME = "a time limit"
    NODES = "a node limit"
    ITERATIONS = "an iteration limit"
    SEED = "a seed"


class SolverStatus(StrEnum):
    """Outcome that a solver claims. The caller checks it."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    INFEASIBLE_OR_UNBOUNDED = "infeasible or unbounded"
    # Stopped by a limit or an error, possibly with a point.
    STOPPED = "stopped"


class Limit(StrEnum):
    """Limit that ended a solve."""

    TIME = "time"
    NODES = "nodes"
    ITERATIONS = "iterations"
    GAP = "gap"
    MEMORY = "memory"
    OTHER = "other"


@dataclass(frozen=True)
class SolverOptions:
    """Limits of one solve.

    Raises:
        ModellingError: A limit is negative, or the number of threads is not positive.
    """

    # Wall-clock limit. None for none.
    seconds: float | None = None
    # Relative gap at which the search stops.
    gap: float = 0.0
    threads: int = 1
    # Limit of branch-and-bound nodes, which is deterministic. None for none.
    nodes: int | None = None
    # Limit of simplex or first-order iterations, which is deterministic. None for none.
    iterations: int | None = None
    seed: int = 0
    # Basis of HiGHS for a linear model with the same rows and columns, from which HiGHS looks for an optimum first.
    # Other back ends ignore it. The point and the duals may differ where they are not unique.
    basis: object = field(default=None, compare=False)

    def __post_init__(self) -> None:
        limits = {"time": self.seconds, "gap": self.gap, "nodes": self.nodes, "iterations": self.iterations}
        for name, value in limits.items():
            if value is not None and not value >= 0:
                raise ModellingError(f"{name} {value}: expected a number from 0 on")
        if self.threads < 1 or self.seed < 0:
            raise ModellingError(
                f"{self.threads} threads, seed {self.seed}: expected at least one thread and a seed from 0 on"
            )


@dataclass(frozen=True)
class SolverResult:
    """Unchecked result of a back end. All figures are in the model's own sense."""

    status: SolverStatus
    # Name and version of the solver.
    solver: str
    # ``(n,)`` values of a point that the solver considers feasible, or None.
    values: Vector | None = None
    # Bound that the solver claims, or None.
    bound: float | None = None
    # ``(m,)`` change of the objective per unit of each right-hand side. Only for linear models.
    row_duals: Vector | None = None
    # Limit that ended the solve, or None.
    limit: Limit | None = None
    # Counts such as ``nodes`` and ``iterations``.
    work: Mapping[str, float] = field(default_factory=dict)
    # Native object of the solver, or None.
    engine: object = None


class Solver(Protocol):
    """A back end. It receives arrays with supported features; other features are linearised before."""

    # Name by which users choose it.
    name: str
    abilities: frozenset[Ability]
    # Command that installs it.
    install: str

    def version(self) -> str:
        """Return name and version. If it is not installed, raise ``ModellingError`` with the command to install it."""
        ...

    def solve(self, arrays: Arrays, options: SolverOptions, start: Vector | None = None) -> SolverResult:
        """Solve a model once.

        Args:
            arrays: The model.
            options: Limits. Those that the back end does not support are ignored.
            start: ``(n,)`` point, feasible or not, which is used if the back end supports it.

        Raises:
            ModellingError: It is not installed, its licence is too small, or it does not support the model.
        """
        ...


def not_installed(name: str, install: str) -> ModellingError:
    """Return the error of a back end that is not installed."""
    return ModellingError(f"solver {name} is not installed: {install}")
