"""Recorder of PuLP 3 and 4. HiGHS replaces every solver, because no process can be started."""

import math
import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from oragent.modelling.capture.recorder import Recorder, package_version
from oragent.modelling.capture.snapshot import MemberKey, Snapshot, quadratic_term
from oragent.modelling.capture.snapshot_solving import WITH_POINT, solve_snapshot
from oragent.modelling.capture.tables import flat_key, label_text

# Variable that PuLP adds to an objective without terms.
DUMMY = "__dummy"
# PuLP's signs of relations.
LESS, GREATER = -1, 1
DIVISION_ERROR = (
    "an expression was divided by a variable, and the model must be linear: multiply both sides by it, such as "
    "x >= 0.5 * y in the place of x / y >= 0.5"
)
PRODUCT_ERROR = (
    "more than two variables were multiplied: a model may have products of two variables; write a product with a "
    "binary exactly with more rows"
)
NO_OBJECTIVE_ERROR = (
    "there is no objective to ask the value of: give the model one, problem += expression, before problem.solve()"
)
MAKERS = {
    "LpVariable": ("dicts", "dict", "matrix"),
    "LpProblem": ("add_variable_dicts", "add_variable_dict", "add_variable_matrix"),
}


class _Products:
    """Products of two variables in expressions of PuLP. A column represents each pair."""

    def __init__(self, pulp: Any) -> None:
        self._pulp = pulp
        # Columns by name, and the two factors of each.
        self.columns: dict[str, Any] = {}
        self.factors: dict[str, tuple[Any, Any]] = {}

    def multiply(self, left: Any, right: Any) -> Any:
        """Multiply two linear expressions.

        Raises:
            TypeError: One of them already contains a product.
        """
        first, second = (self._pulp.LpAffineExpression(side) for side in (left, right))
        if any(variable.name in self.factors for side in (first, second) for variable in side):
            raise TypeError(PRODUCT_ERROR)
        result = first * second.constant + (second - second.constant) * first.constant
        for one, value in first.items():
            for other, size in second.items():
                result += value * size * self._column(*sorted((one, other), key=lambda variable: variable.name))
        return result

    def _column(self, first: Any, second: Any) -> Any:
        name = f"{first.name}*{second.name}"
        if name not in self.columns:
            self.factors[name] = (first, second)
            self.columns[name] = self._pulp.LpVariable(name)
        return self.columns[name]

    def used_in(self, problem: Any) -> list[str]:
        """Return the names of the columns that a problem uses."""
        return [variable.name for variable in problem.variables() if variable.name in self.factors]


def install(pulp: Any, recorder: Recorder) -> None:
    """Watch solvers, families of variables, and constraints. Allow products of two variables."""
    version = package_version(pulp)
    keys: dict[str, MemberKey] = {}
    products = _Products(pulp)
    for owner, methods in MAKERS.items():
        for name in methods:
            _watch_families(getattr(pulp, owner), name, keys, recorder)
    _watch_single_variables(pulp, recorder)
    _allow_products(pulp, products, recorder)
    recorder.watch_additions(pulp.LpProblem, ("addConstraint", "addInPlace"), "rows", _count_rows)

    def solve(self: Any, problem: Any, *arguments: Any, **named: Any) -> Any:
        is_mixed = getattr(self, "mip", True) is not False
        reader = _ProblemReader(problem, version, is_mixed, recorder, keys, products)
        number = recorder.record(version, reader.snapshot)
        with recorder.quiet():
            if products.used_in(problem):
                status = _solve_products(pulp, problem, reader.snapshot(), recorder, products)
            else:
                solver = pulp.HiGHS(mip=is_mixed, msg=False, **_limits(self, recorder))
                status = solve_with_highs(solver, problem)
        recorder.claim(number, lambda: _claim(pulp, problem, products))
        return status

    solve_with_highs = pulp.HiGHS.actualSolve
    solver_class: Any
    for solver_class in _subclasses(pulp.LpSolver):
        if "actualSolve" in vars(solver_class):
            solver_class.actualSolve = solve
        solver_class.available = lambda self: True
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "pulp" and vars(module).get("LpSolverDefault", pulp) is None:
            module.LpSolverDefault = pulp.HiGHS(msg=False)  # type: ignore[attr-defined]  # PuLP 4 may have none


def _allow_products(pulp: Any, products: _Products, recorder: Recorder) -> None:
    """Allow products of two variables, and replace unclear errors of PuLP by messages that state the valid form."""
    expression = pulp.LpAffineExpression
    divide, multiply, value = expression.__truediv__, expression.__mul__, pulp.value

    def multiply_checked(self: Any, factor: Any) -> Any:
        """Multiply two expressions. A column represents the product of two variables."""
        try:
            return multiply(self, factor)
        except TypeError:
            with recorder.quiet():
                return products.multiply(self, factor)

    def raise_to_power(self: Any, exponent: Any) -> Any:
        """Square an expression."""
        if exponent != 2:
            raise TypeError(PRODUCT_ERROR)
        return self * self

    def divide_checked(self: Any, divisor: Any) -> Any:
        """Divide an expression."""
        if isinstance(divisor, pulp.LpVariable) or (isinstance(divisor, expression) and len(divisor)):
            raise TypeError(DIVISION_ERROR)
        return divide(self, divisor)

    def value_checked(item: Any) -> Any:
        """Return the value of an expression."""
        if item is None:
            raise ValueError(NO_OBJECTIVE_ERROR)
        return value(item)

    expression.__mul__, expression.__truediv__, pulp.value = multiply_checked, divide_checked, value_checked
    expression.__pow__ = pulp.LpElement.__pow__ = raise_to_power


def _solve_products(pulp: Any, problem: Any, snapshot: Snapshot, recorder: Recorder, products: _Products) -> int:
    """Solve a problem with products of variables, and set the values of its variables."""
    solution = solve_snapshot(snapshot, recorder.remaining_s(), recorder.gap)
    if solution.values:
        value_of = dict(zip(snapshot.columns, solution.values, strict=True))
        for variable in _variables(problem, products):
            factors = [factor.name for factor in products.factors.get(variable.name, ())] or [variable.name]
            variable.varValue = math.prod(value_of[name] for name in factors)
    codes = {"infeasible": pulp.LpStatusInfeasible, "unbounded": pulp.LpStatusUnbounded}
    status = pulp.LpStatusOptimal if solution.status in WITH_POINT else codes.get(solution.status, 0)
    if hasattr(problem, "assignStatus"):
        problem.assignStatus(status)
    problem.status = status
    return int(status)


def _variables(problem: Any, products: _Products) -> list[Any]:
    """Return the variables of a problem, its products, and factors of these that it does not have itself."""
    variables = [variable for variable in problem.variables() if variable.name != DUMMY]
    return [*variables, *_extra_factors(problem, products)]


def _extra_factors(problem: Any, products: _Products) -> list[Any]:
    """Return the factors of products that are not variables of the problem themselves."""
    names = {variable.name for variable in problem.variables()}
    factors = {factor.name: factor for name in products.used_in(problem) for factor in products.factors[name]}
    return [factor for name, factor in factors.items() if name not in names]


def _limits(solver: Any, recorder: Recorder) -> dict[str, Any]:
    threads = getattr(solver, "threads", None)
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        threads = 1
    requested = getattr(solver, "timeLimit", None)
    seconds = recorder.remaining_s(threads)
    if isinstance(requested, int | float) and not isinstance(requested, bool):
        seconds = min(seconds, float(requested))
    gap: Any = recorder.gap
    if gap is None:
        gap = (getattr(solver, "optionsDict", None) or {}).get("gapRel")
    return {"timeLimit": seconds, "threads": threads} | ({} if gap is None else {"gapRel": gap})


def _subclasses(owner: Any) -> list[Any]:
    found = [owner]
    for subclass in owner.__subclasses__():
        found += _subclasses(subclass)
    return found


def _watch_families(owner: Any, name: str, keys: dict[str, MemberKey], recorder: Recorder) -> None:
    original: Any = getattr(owner, name, None)
    if original is None:
        return

    def make(self: Any, name: str, *arguments: Any, **named: Any) -> Any:
        indices = named.pop("indices", None)
        if indices is None and arguments:
            indices, arguments = arguments[0], arguments[1:]
        elif indices is None:
            indices = named.pop("indexs", None)
        indices = tuple(_as_list(index) for index in indices) if isinstance(indices, tuple) else _as_list(indices)
        # Only inner calls pass the start of an index.
        with recorder.quiet():
            made = original(self, name, indices, *arguments, **named)
        if not recorder.is_quiet:
            family = name.partition("%")[0].rstrip("_")
            lists = indices if isinstance(indices, tuple) else (indices,)
            _note_members(family, made, lists, (), keys)
        return made

    if isinstance(vars(owner).get(name), classmethod):
        original = original.__func__
        setattr(owner, name, classmethod(make))
    else:
        setattr(owner, name, make)


def _as_list(index: Any) -> Any:
    if index is None or isinstance(index, list | range | Mapping):
        return index
    return list(index)


def _note_members(family: str, made: Any, lists: Any, key: tuple[Any, ...], keys: dict[str, MemberKey]) -> None:
    if isinstance(made, Mapping):
        for label, item in made.items():
            _note_members(family, item, lists[1:], (*key, *flat_key(label)), keys)
    elif isinstance(made, list):
        for label, item in zip(lists[0], made, strict=False):
            _note_members(family, item, lists[1:], (*key, *flat_key(label)), keys)
    else:
        keys[made.name] = (family, [label_text(label) for label in key], "framework")


def _watch_single_variables(pulp: Any, recorder: Recorder) -> None:
    """Note the source position of variables that are made one by one.

    Their position in the model is found by name at the solve.
    """
    original = pulp.LpVariable.__init__
    places = recorder.places.named_columns

    def make(self: Any, *arguments: Any, **named: Any) -> None:
        original(self, *arguments, **named)
        place = None if recorder.is_quiet else recorder.places.current_place()
        if place is not None:
            places[self.name] = place

    pulp.LpVariable.__init__ = make


def _count_rows(problem: Any) -> int:
    rows = problem.constraints
    return len(rows() if callable(rows) else rows)


@dataclass(frozen=True)
class _ProblemReader:
    """Reader of a problem and of its products."""

    problem: Any
    version: str
    is_mixed: bool
    recorder: Recorder
    keys: Mapping[str, MemberKey]
    products: _Products

    def snapshot(self) -> Snapshot:
        """Read columns, rows and products."""
        problem = self.problem
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = problem.to_dict() if hasattr(problem, "to_dict") else problem.toDict()
        constant = 0.0 if problem.objective is None else float(problem.objective.constant)
        snapshot = Snapshot(self.version, str(problem.name or ""), problem.sense == -1, constant)
        snapshot.objective = str(plain["objective"]["name"] or "")
        column_of = self._add_columns(snapshot, plain["variables"])
        for kind in ("sos1", "sos2"):
            _add_sets(snapshot, plain.get(kind), int(kind[-1]), column_of)
        terms, quadratic = self._split(plain["objective"]["coefficients"], column_of)
        for column, value in terms.items():
            snapshot.cost[column] += value
        for term in quadratic:
            snapshot.add_feature("quadratic", **term)
        for at, row in enumerate(plain["constraints"]):
            terms, quadratic = self._split(row["coefficients"], column_of)
            rhs = -float(row["constant"] or 0.0)
            low = -math.inf if row["sense"] == LESS else rhs
            high = math.inf if row["sense"] == GREATER else rhs
            name = str(row["name"] or f"_C{at + 1}")
            if quadratic:
                snapshot.add_quadratic_row(name, terms, quadratic, low, high)
            else:
                snapshot.add_row(name, terms, low, high)
        return _with_keys(snapshot, problem, self.recorder, self.keys, column_of)

    def _add_columns(self, snapshot: Snapshot, entries: list[dict[str, Any]]) -> dict[str, int]:
        column_of: dict[str, int] = {}
        extra = [_describe(factor) for factor in _extra_factors(self.problem, self.products)]
        for entry in [*entries, *extra]:
            low = -math.inf if entry["lowBound"] is None else entry["lowBound"]
            high = math.inf if entry["upBound"] is None else entry["upBound"]
            if entry["name"] == DUMMY or entry["name"] in self.products.factors:
                continue
            if entry["cat"] == "Binary":
                low, high = max(low, 0), min(high, 1)
            integer = self.is_mixed and entry["cat"] != "Continuous"
            column_of[entry["name"]] = snapshot.add_column(entry["name"], low, high, integer)
        return column_of

    def _split(
        self, coefficients: list[dict[str, Any]], column_of: Mapping[str, int]
    ) -> tuple[dict[int, float], list[dict[str, Any]]]:
        """Return linear terms by column, and products."""
        terms: dict[int, float] = {}
        quadratic = []
        for term in coefficients:
            name, value = term["name"], float(term["value"])
            if name in self.products.factors:
                first, second = (column_of[factor.name] for factor in self.products.factors[name])
                quadratic.append(quadratic_term(first, second, value))
            elif name in column_of:
                terms[column_of[name]] = terms.get(column_of[name], 0.0) + value
        return terms, quadratic


def _describe(variable: Any) -> dict[str, Any]:
    bounds = {"lowBound": variable.lowBound, "upBound": variable.upBound}
    return {"name": variable.name, **bounds, "cat": variable.cat}


def _add_sets(snapshot: Snapshot, sets: Any, kind: int, column_of: Mapping[str, int]) -> None:
    """Add special ordered sets, which PuLP stores as lists or dicts of weights by variable."""
    entries: Iterable[tuple[Any, Any]] = enumerate(sets or ())
    if isinstance(sets, dict):
        entries = sets.items()
    for name, members in entries:
        weights: Iterable[tuple[Any, Any]] = ()
        if isinstance(members, dict):
            weights = members.items()
        by_column = {column_of[getattr(key, "name", str(key))]: float(weight) for key, weight in weights}
        snapshot.add_feature("ordered_sets", name=f"sos_{name}", kind=kind, members=by_column)


def _with_keys(
    snapshot: Snapshot,
    problem: Any,
    recorder: Recorder,
    keys: Mapping[str, MemberKey],
    column_of: Mapping[str, int],
) -> Snapshot:
    by_name = recorder.places.named_columns
    recorder.places.columns[id(problem)] = {
        column: by_name[name] for name, column in column_of.items() if name in by_name
    }

    def find_column(value: Any) -> int | None:
        if type(value).__name__ == "LpVariable":
            return column_of.get(value.name)
        return None

    given = {column: keys[name] for name, column in column_of.items() if name in keys}
    return recorder.fill_keys(snapshot, problem, find_column, None, (given, {}))


def _claim(pulp: Any, problem: Any, products: _Products) -> tuple[str, float | None, list[Any] | None]:
    variables = _variables(problem, products)
    values = [variable.varValue for variable in variables if variable.name not in products.factors]
    status = pulp.LpStatus.get(problem.status, str(problem.status))
    if any(value is None for value in values):
        return status, None, None
    objective = None if problem.objective is None else pulp.value(problem.objective)
    return status, objective, values
