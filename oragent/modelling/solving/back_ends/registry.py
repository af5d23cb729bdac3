"""Back ends by name: those of this package, and those that other packages register."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import plain, quoted
from oragent.modelling.solving.back_ends.highs import HighsSolver
from oragent.modelling.solving.back_ends.protocol import Ability, Solver

DEFAULT = "highs"
# Group of entry points. Each names a class or a function that returns a ``Solver``.
GROUP = "oragent.solvers"
COMMAND_PREFIX = "command:"
HIGHS = HighsSolver()


@dataclass(frozen=True)
class SolverListing:
    """One line of ``oragent doctor``."""

    name: str
    # Name and version, or the reason why it cannot be used.
    state: str
    is_installed: bool
    abilities: frozenset[Ability]


def find_solver(name: str = DEFAULT) -> Solver:
    """Return the back end of this name, or for ``command:PROGRAM ARGUMENTS`` an adapter of that program.

    Raises:
        ModellingError: No back end has this name, or a registered one cannot be loaded.
    """
    if name.startswith(COMMAND_PREFIX):
        # It runs in the sandbox, which few solves need.
        command = import_module("oragent.modelling.solving.back_ends.command")
        solver: Solver = command.CommandSolver.from_line(name.removeprefix(COMMAND_PREFIX))
        return solver
    if name.lower() == DEFAULT:
        return HIGHS
    solvers = _own_solvers()
    if name.lower() not in solvers:
        solvers = _known_solvers()
    if name.lower() in solvers:
        return solvers[name.lower()]
    raise ModellingError(f"solver {quoted(name)} is unknown: expected {', '.join(solvers)} or {COMMAND_PREFIX}PROGRAM")


def list_solvers() -> tuple[SolverListing, ...]:
    """Return all back ends with their versions, or the reasons why they cannot be used."""
    listings = []
    for name, solver in _known_solvers().items():
        try:
            listings.append(SolverListing(name, solver.version(), True, solver.abilities))
        except ModellingError as problem:
            listings.append(SolverListing(name, str(problem), False, solver.abilities))
    return tuple(listings)


def installed_solvers() -> tuple[str, ...]:
    """Return the names of the back ends that can be used here."""
    return tuple(listing.name for listing in list_solvers() if listing.is_installed)


def solvers_able(needed: frozenset[Ability]) -> tuple[str, ...]:
    """Return the names of the back ends that have all these abilities."""
    return tuple(name for name, solver in _known_solvers().items() if needed <= solver.abilities)


@cache
def _own_solvers() -> Mapping[str, Solver]:
    mathopt = import_module("oragent.modelling.solving.back_ends.mathopt")
    gurobi = import_module("oragent.modelling.solving.back_ends.gurobi")
    solvers: dict[str, Solver] = {DEFAULT: HIGHS}
    solvers |= {kind.name: mathopt.MathOptSolver(kind) for kind in mathopt.MATHOPT_SOLVERS}
    return solvers | {"gurobi": gurobi.GurobiSolver()}


@cache
def _known_solvers() -> Mapping[str, Solver]:
    # Few solves need it, and it is slow to import.
    metadata = import_module("importlib.metadata")
    solvers = dict(_own_solvers())
    for entry in metadata.entry_points(group=GROUP):
        try:
            solvers.setdefault(entry.name.lower(), entry.load()())
        # An error in another package must not stop oragent.
        except Exception as problem:
            raise ModellingError(
                f"the registered solver {quoted(entry.name)} cannot be loaded: {plain(str(problem), 200)}; remove "
                f"or repair the package {quoted(entry.value)}"
            ) from None
    return solvers
