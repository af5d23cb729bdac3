"""HiGHS through highspy: linear, mixed-integer and convex quadratic models."""

from oragent.modelling.data.arrays import Arrays, Vector
from oragent.modelling.solving.back_ends.protocol import Ability, SolverOptions, SolverResult
from oragent.modelling.solving.highs import SOLVER, run_highs


class HighsSolver:
    """Default back end, which is always installed."""

    name = "highs"
    install = 'pip install "highspy>=1.15"'
    abilities = frozenset(
        {
            Ability.LINEAR,
            Ability.INTEGER,
            Ability.CONTINUOUS,
            Ability.CONVEX_OBJECTIVE,
            Ability.SEMI_CONTINUOUS,
            Ability.DUALS,
            Ability.START,
            Ability.THREADS,
            Ability.GAP,
            Ability.TIME,
            Ability.NODES,
            Ability.ITERATIONS,
            Ability.SEED,
        }
    )

    def version(self) -> str:
        """Return name and version."""
        return SOLVER

    def solve(self, arrays: Arrays, options: SolverOptions, start: Vector | None = None) -> SolverResult:
        """Solve a model once; see ``Solver``."""
        return run_highs(arrays, options, start)
