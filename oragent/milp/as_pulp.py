"""Convert models to and from PuLP, and replace PuLP's solvers by HiGHS. Each model is recorded before its solve.

The replacement runs in the process of an untrusted program. A recorded model is only a claim and is solved again
elsewhere.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from oragent._base.distribution import require_package
from oragent._base.errors import MilpError
from oragent.milp.highs import JUMP, needs_feasibility_jump, new_engine
from oragent.milp.model import INFINITY, Milp, Objective, Relation, Row, SafeNaming, Sense, Variable, VariableKind
from oragent.milp.plain import quoted

# PuLP's constants LpMinimize and LpMaximize, and LpConstraintLE, EQ and GE.
SENSES = {1: Sense.MINIMIZE, -1: Sense.MAXIMIZE}
RELATIONS = {-1: Relation.AT_MOST, 0: Relation.EQUAL, 1: Relation.AT_LEAST}
KINDS = {"Continuous": VariableKind.CONTINUOUS, "Integer": VariableKind.INTEGER, "Binary": VariableKind.INTEGER}
Keep = Callable[[dict[str, Any]], None]
# Relative gap. HiGHS's own default is 1e-4, which is too wide for an optimum.
GAP = 1e-9
# Variable that PuLP adds to an objective without terms.
DUMMY = "__dummy"


@dataclass(frozen=True)
class PulpForm:
    """A model in PuLP, with substitutes for names that PuLP would change."""

    problem: Any
    naming: SafeNaming

    def to_milp(self) -> Milp:
        """Return the model with its own names."""
        return self.naming.undo(from_pulp(self.problem))


def to_pulp(milp: Milp) -> PulpForm:
    """Build the problem. Names with spaces or signs get substitutes, because PuLP would change them."""
    require_package("pulp", "formulate", "a model as a problem of PuLP")
    import pulp

    milp.require_linear("a problem of PuLP")
    naming = SafeNaming.for_milp(milp)
    safe = naming.apply(milp)
    title = "".join(letter if letter.isalnum() else "_" for letter in milp.name) or "model"
    problem = pulp.LpProblem(title, {ours: theirs for theirs, ours in SENSES.items()}[milp.sense])
    columns = {}
    for variable in safe.variables:
        bounds = (bound if math.isfinite(bound) else None for bound in (variable.low, variable.high))
        if variable.is_integer:
            category = pulp.LpInteger
        else:
            category = pulp.LpContinuous
        columns[variable.name] = problem.add_variable(variable.name, *bounds, cat=category)
    terms = safe.objective.terms
    # Zero costs are included, because PuLP drops variables that occur nowhere.
    costs = {column: terms.get(name, 0.0) for name, column in columns.items()}
    problem += pulp.LpAffineExpression(costs, safe.objective.constant)
    relations = {ours: theirs for theirs, ours in RELATIONS.items()}
    for row in safe.rows:
        expression = pulp.LpAffineExpression({columns[name]: value for name, value in row.terms.items()})
        problem += pulp.LpConstraint(expression, relations[row.relation], row.name, row.rhs)
    return PulpForm(problem, naming)


def from_pulp(problem: Any) -> Milp:
    """Convert a ``pulp.LpProblem`` to a model, including the constant of the objective.

    Raises:
        MilpError: The problem has no variable, has special ordered sets, or has figures that are not finite.
    """
    if hasattr(problem, "toDict"):
        data = problem.toDict()
    else:
        data = problem.to_dict()
    return from_pulp_dict(data, problem.objective.constant if problem.objective is not None else 0.0)


def from_pulp_dict(data: Any, constant: float = 0.0) -> Milp:
    """Convert the result of ``LpProblem.to_dict()`` to a model.

    Args:
        data: Untrusted data in PuLP's form.
        constant: Constant of the objective, which PuLP omits.

    Raises:
        MilpError: The data do not have PuLP's form, or contain special ordered sets.
    """
    try:
        if data.get("sos1") or data.get("sos2"):
            raise MilpError("the problem has special ordered sets; expected only rows: use binary variables instead")
        variables = tuple(read_variable(entry) for entry in data["variables"])
        if len(variables) > 1:
            variables = tuple(one for one in variables if (one.name, one.low, one.high) != (DUMMY, 0.0, 0.0))
        names, parameters = {variable.name for variable in variables}, data["parameters"]
        objective = Objective(_read_terms(data["objective"]["coefficients"], names), constant)
        rows = tuple(_read_rows(data["constraints"], names))
        return Milp(variables, rows, objective, SENSES[parameters["sense"]], parameters["name"] or "")
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        missing = quoted(f"{type(problem).__name__}: {problem}")
        raise MilpError(f"not a problem as PuLP's to_dict() writes it ({missing}): pass its result unchanged") from None


def read_variable(entry: Mapping[str, Any]) -> Variable:
    """Read name, bounds and category of a variable in the form of ``LpProblem.to_dict()``."""
    if entry["lowBound"] is None:
        low = -INFINITY
    else:
        low = entry["lowBound"]
    if entry["upBound"] is None:
        high = INFINITY
    else:
        high = entry["upBound"]
    if entry["cat"] == "Binary":
        low, high = max(low, 0), min(high, 1)
    return Variable(entry["name"], low, high, KINDS[entry["cat"]])


def _read_rows(entries: list[Mapping[str, Any]], names: set[str]) -> Iterator[Row]:
    taken = {entry["name"] for entry in entries}
    unnamed = 0
    for entry in entries:
        name = entry["name"]
        while not name or (entry["name"] is None and name in taken):
            unnamed += 1
            name = f"_C{unnamed}"
        if entry["constant"]:
            rhs = -entry["constant"]
        else:
            rhs = 0.0
        yield Row(name, _read_terms(entry["coefficients"], names), RELATIONS[entry["sense"]], rhs)


def _read_terms(entries: list[Mapping[str, Any]], names: set[str]) -> dict[str, float]:
    terms: dict[str, float] = {}
    for entry in entries:
        if entry["name"] in names or entry["name"] != DUMMY:
            terms[entry["name"]] = terms.get(entry["name"], 0.0) + entry["value"]
    return terms


class SolverLimits(NamedTuple):
    """Limits of one solve."""

    # Seconds. None means no limit.
    seconds: float | None = None
    # Relative gap. Values below ``GAP`` count as ``GAP``.
    gap: float = GAP


def bring_solver(
    keep: Keep, limits: Callable[[], SolverLimits] = SolverLimits, solved: Callable[[Any], None] = lambda problem: None
) -> None:
    """Replace every solver by HiGHS, whatever solver a program selects.

    ``keep`` receives each model, as ``snapshot`` returns it, before its solve. ``limits`` is called at the start of a
    solve; a program can only reduce the seconds. ``solved`` receives each ``pulp.LpProblem`` after its solve.
    """
    import pulp

    class Captured(pulp.HiGHS):  # type: ignore[misc]  # PuLP's classes have no types
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            requested = kwargs.get("timeLimit")
            usable = isinstance(requested, int | float) and not isinstance(requested, bool)
            whole = kwargs.get("mip", True) is not False
            super().__init__(mip=whole, msg=False, timeLimit=requested if usable else None)

        def available(self) -> bool:
            return True

        # PuLP's interface prescribes the name.
        def createAndConfigureSolver(self, lp: Any) -> None:
            lp.solverModel = solver = new_engine()
            allowed = limits()
            solver.setOptionValue("mip_rel_gap", max(allowed.gap, GAP))
            solver.setOptionValue(JUMP, needs_feasibility_jump(len(lp.variables())))
            seconds = [limit for limit in (self.timeLimit, allowed.seconds) if limit is not None]
            if seconds:
                solver.setOptionValue("time_limit", float(min(seconds)))

        # PuLP's interface prescribes the name.
        def actualSolve(self, lp: Any, *args: Any, **kwargs: Any) -> Any:
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
    """Return a ``pulp.LpProblem`` in its present state as plain data. Without ``whole``, return its relaxation.

    ``data`` is the result of ``to_dict``. ``constant`` is the constant of the objective, which ``to_dict`` omits.
    """
    if hasattr(problem, "toDict"):
        data = problem.toDict()
    else:
        data = problem.to_dict()
    if problem.objective is not None:
        constant = getattr(problem.objective, "constant", 0.0)
    else:
        constant = 0.0
    plain = json.loads(json.dumps(data, default=float))
    if not whole:
        for variable in plain["variables"]:
            low, high = (variable[side] for side in ("lowBound", "upBound"))
            if variable["cat"] == "Binary":
                variable["lowBound"], variable["upBound"] = (0 if low is None else low, 1 if high is None else high)
            variable["cat"] = "Continuous"
    return {"data": plain, "constant": float(constant)}
