"""Solver back ends behind one interface."""

from typing import TYPE_CHECKING

from oragent._base.lazy_names import import_on_use

if TYPE_CHECKING:
    from oragent.modelling.solving.back_ends.protocol import Ability as Ability
    from oragent.modelling.solving.back_ends.protocol import Limit as Limit
    from oragent.modelling.solving.back_ends.protocol import Solver as Solver
    from oragent.modelling.solving.back_ends.protocol import SolverOptions as SolverOptions
    from oragent.modelling.solving.back_ends.protocol import SolverResult as SolverResult
    from oragent.modelling.solving.back_ends.protocol import SolverStatus as SolverStatus
    from oragent.modelling.solving.back_ends.registry import SolverListing as SolverListing
    from oragent.modelling.solving.back_ends.registry import find_solver as find_solver
    from oragent.modelling.solving.back_ends.registry import list_solvers as list_solvers
    from oragent.modelling.solving.back_ends.registry import solver_names as solver_names
    from oragent.modelling.solving.back_ends.registry import solvers_able as solvers_able

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

_MODULES = {
    "Ability": "oragent.modelling.solving.back_ends.protocol",
    "Limit": "oragent.modelling.solving.back_ends.protocol",
    "Solver": "oragent.modelling.solving.back_ends.protocol",
    "SolverListing": "oragent.modelling.solving.back_ends.registry",
    "SolverOptions": "oragent.modelling.solving.back_ends.protocol",
    "SolverResult": "oragent.modelling.solving.back_ends.protocol",
    "SolverStatus": "oragent.modelling.solving.back_ends.protocol",
    "find_solver": "oragent.modelling.solving.back_ends.registry",
    "list_solvers": "oragent.modelling.solving.back_ends.registry",
    "solver_names": "oragent.modelling.solving.back_ends.registry",
    "solvers_able": "oragent.modelling.solving.back_ends.registry",
}
__getattr__ = import_on_use(__name__, _MODULES)
