"""Recorder of Pyomo. HiGHS replaces every solver, because no process can be started."""

import logging
import math
from typing import Any

from oragent.modelling.capture.recorder import Recorder, package_version
from oragent.modelling.capture.snapshot import DataTable, MemberKey, Snapshot, quadratic_term
from oragent.modelling.capture.snapshot_solving import SnapshotSolution, solve_snapshot
from oragent.modelling.capture.tables import flat_key, label_text

# Components that a linear model does not have.
NOT_LINEAR = {
    "Disjunction": "disjunctions",
    "LogicalConstraint": "logical constraints",
    "Complementarity": "complementarity",
}
SOLVER = "appsi_highs"
TIME_OPTIONS = ("time_limit", "timelimit", "TimeLimit", "seconds", "sec", "tmlim")
GAP_OPTIONS = ("mipgap", "mip_gap", "MIPGap", "ratio", "ratioGap", "mip_rel_gap")


def install(module: Any, recorder: Recorder) -> None:
    """Watch the factory of solvers, and solvers that a program creates directly."""
    if module.__name__ == "pyomo.opt.base.solvers":
        factory = module.SolverFactoryClass
        make = factory.__call__

        def make_recorded(self: Any, _name: Any = None, **named: Any) -> Any:
            if recorder.is_quiet:
                return make(self, _name, **named)
            return RecordingSolver(lambda: make(self, SOLVER), str(_name), named.get("options"), recorder)

        factory.__call__ = make_recorded
        return
    base = getattr(module, "Solver", None) or getattr(module, "SolverBase", None)
    if base is not None:
        _watch_subclasses(base, recorder)


def _watch_subclasses(base: Any, recorder: Recorder) -> None:
    """Wrap ``solve`` of each class that is derived from a base class of solvers."""

    def define(cls: Any, /, **named: Any) -> None:
        super(base, cls).__init_subclass__(**named)
        solve = vars(cls).get("solve")
        if solve is None or getattr(solve, "__isabstractmethod__", False):
            return

        def solve_recorded(self: Any, model: Any, *arguments: Any, **options: Any) -> Any:
            if recorder.is_quiet:
                return solve(self, model, *arguments, **options)
            number = recorder.record(_version(), lambda: take_snapshot(model, recorder))
            with recorder.quiet():
                result = solve(self, model, *arguments, **options)
            recorder.claim(number, lambda: _claim(model, _condition_of(result)))
            return result

        cls.solve = solve_recorded

    base.__init_subclass__ = classmethod(define)


def _version() -> str:
    import pyomo.version

    return package_version(pyomo.version, "pyomo")


class RecordingSolver:
    """Solver that records a model and then solves it by HiGHS in this process.

    Args:
        make: Function that creates the solver.
        name: Name of the solver that the program requested.
        options: Options that the program gave.
    """

    def __init__(self, make: Any, name: str, options: Any, recorder: Recorder) -> None:
        from pyomo.common.collections import Bunch

        self._make, self.name, self._recorder = make, name, recorder
        self.options = Bunch(**dict(options or {}))
        self.config = Bunch()
        self._model: Any = None

    def available(self, *arguments: Any, **named: Any) -> bool:
        """Return True, because HiGHS replaces every solver."""
        return True

    def license_is_valid(self) -> bool:
        """Return True."""
        return True

    def set_instance(self, model: Any, *arguments: Any, **named: Any) -> None:
        """Set the model, as persistent solvers do."""
        self._model = model

    def set_options(self, *arguments: Any, **named: Any) -> None:
        """Ignore options of the requested solver."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("add_", "remove_", "update_", "set_", "load_")):
            # The model of a persistent solver is read again at each solve.
            return lambda *arguments, **named: None
        raise AttributeError(name)

    def __enter__(self) -> "RecordingSolver":
        return self

    def __exit__(self, *exception: object) -> None:
        return None

    def solve(self, model: Any = None, *arguments: Any, **named: Any) -> Any:
        """Record the model and solve it."""
        if model is None:
            model = self._model
        snapshots: list[Snapshot] = []

        def take() -> Snapshot:
            snapshots.append(take_snapshot(model, self._recorder))
            return snapshots[0]

        number = self._recorder.record(_version(), take)
        given = {**self.options, **dict(named.get("options") or {})}
        requested = [float(given[name]) for name in TIME_OPTIONS if name in given]
        seconds = min([self._recorder.remaining_s(), *requested])
        gap = self._recorder.gap
        if gap is None:
            gap = next((float(given[name]) for name in GAP_OPTIONS if name in given), None)
        # Pyomo's own interface to HiGHS duplicates file descriptors.
        is_ours = self._recorder.is_confined or (snapshots and snapshots[0].features)
        if is_ours and snapshots and not snapshots[0].missing:
            with self._recorder.quiet():
                solution = solve_snapshot(snapshots[0], seconds, gap)
                result = _load_solution(model, solution, bool(named.get("load_solutions", True)))
            self._recorder.claim(number, lambda: _claim(model, str(result.solver.termination_condition)))
            return result
        with self._recorder.quiet():
            solver = self._make()
            # The interface has no setting for threads; the remaining time is that of one thread.
            solver.highs_options["threads"] = 1
            if gap is not None:
                solver.config.mip_gap = gap
            result = solver.solve(model, tee=bool(named.get("tee")), load_solutions=False, timelimit=seconds)
            if len(result.solution) or _has_point(result):
                if named.get("load_solutions", True):
                    solver.load_vars()
            elif named.get("load_solutions", True):
                logging.getLogger("pyomo").warning("no solution: %s", _condition_of(result))
        self._recorder.claim(number, lambda: _claim(model, _condition_of(result)))
        return result


def _load_solution(model: Any, solution: SnapshotSolution, is_loaded: bool) -> Any:
    """Return a solution as a result of Pyomo, and set the values of the model's variables."""
    from pyomo.environ import Var
    from pyomo.opt import SolverResults, SolverStatus, TerminationCondition

    result = SolverResults()
    result.solver.status = SolverStatus.ok
    result.solver.termination_condition = getattr(TerminationCondition, solution.status)
    if solution.values and is_loaded:
        for variable, value in zip(model.component_data_objects(Var), solution.values, strict=True):
            variable.set_value(value, skip_validation=True)
    return result


def _has_point(result: Any) -> bool:
    # Value of the best point; without one it is infinite or None.
    value = result.problem.upper_bound if result.problem.sense == 1 else result.problem.lower_bound
    return _condition_of(result) in ("optimal", "feasible") or (value is not None and math.isfinite(value))


def _condition_of(result: Any) -> str:
    solver = getattr(result, "solver", None)
    condition = getattr(solver, "termination_condition", None) or getattr(result, "termination_condition", "unknown")
    return str(getattr(condition, "name", condition))


def take_snapshot(model: Any, recorder: Recorder) -> Snapshot:
    """Read the columns, rows, parameters and sets of a model."""
    from pyomo.environ import Constraint, Objective, Param, SOSConstraint, Var, minimize, value

    snapshot = Snapshot(_version(), str(model.name))
    blocks = model.block_data_objects(active=True)
    kinds = {type(part).__name__ for block in blocks for part in block.component_map(active=True).values()}
    snapshot.missing += [what for kind, what in NOT_LINEAR.items() if any(name.endswith(kind) for name in kinds)]
    cells = _add_tables(snapshot, list(model.component_objects(Param)), value)
    columns: dict[int, int] = {}
    reader = _Reader(snapshot, columns, cells)
    given: tuple[dict[int, MemberKey], dict[int, MemberKey]] = ({}, {})
    for variable in model.component_data_objects(Var):
        low, high = variable.lb, variable.ub
        if variable.fixed:
            low = high = value(variable)
        column = snapshot.add_column(
            variable.name,
            -math.inf if low is None else low,
            math.inf if high is None else high,
            variable.is_integer(),
        )
        columns[id(variable)] = column
        given[0][column] = _member_key(variable)
        reader.link_bounds(variable)
        _add_sets(snapshot, "variables", variable.parent_component())
    for ordered in model.component_data_objects(SOSConstraint, active=True):
        members = {columns[id(variable)]: float(weight) for variable, weight in ordered.get_items()}
        snapshot.add_feature("ordered_sets", name=ordered.name, kind=int(ordered.level), members=members)
    objectives = list(model.component_data_objects(Objective, active=True))
    if len(objectives) > 1:
        snapshot.missing.append("several objectives")
    for objective in objectives:
        snapshot.maximize = objective.sense != minimize
        snapshot.objective = str(objective.name)
        reader.read_objective(objective)
    for row in model.component_data_objects(Constraint, active=True):
        position = reader.read_row(row)
        if position is not None:
            given[1][position] = _member_key(row)
            _add_sets(snapshot, "rows", row.parent_component())
    reader.leave_out_partial()
    snapshot.missing = list(dict.fromkeys(snapshot.missing))
    recorder.places._models[id(model)] = model
    return recorder.fill_keys(snapshot, model, None, None, given)


def _member_key(member: Any) -> MemberKey:
    component = member.parent_component()
    if not component.is_indexed():
        return component.name, [], "framework"
    return component.name, [label_text(label) for label in flat_key(member.index())], "framework"


def _add_tables(snapshot: Snapshot, parameters: list[Any], value: Any) -> dict[int, tuple[int, int]]:
    """Add a table for each parameter. For mutable ones, return table and cell by the ``id`` of their data."""
    cells: dict[int, tuple[int, int]] = {}
    for parameter in parameters:
        keys: list[list[str]] = []
        values: list[float] = []
        for key in parameter:
            try:
                number = float(value(parameter[key]))
            except (TypeError, ValueError):
                # The cell is not a number, or has no value.
                continue
            if parameter.mutable:
                cells[id(parameter[key])] = (len(snapshot.tables), len(keys))
            keys.append([label_text(label) for label in flat_key(key)] if parameter.is_indexed() else [])
            values.append(number)
        if values:
            sets = _set_names(snapshot, parameter)
            snapshot.tables.append(DataTable(parameter.name, keys, values, sets, bool(parameter.mutable)))
    return cells


def _add_sets(snapshot: Snapshot, kind: str, component: Any) -> None:
    family_sets = snapshot.family_sets[kind]
    if component.name not in family_sets:
        family_sets[component.name] = _set_names(snapshot, component)


def _set_names(snapshot: Snapshot, component: Any) -> list[str]:
    """Return the names of a component's index sets, and add their labels; empty if one has no name."""
    if not component.is_indexed():
        return []
    parts = list(component.index_set().subsets(expand_all_set_operators=False))
    if any(part.dimen != 1 for part in parts):
        return []
    names = []
    for part in parts:
        name = part.name
        block = part.parent_block()
        # Pyomo names sets without a name of their own after their class, and does not add them to the block.
        if "[" in name or block is None or block.component(part.local_name) is not part:
            return []
        labels = [label_text(label) for label in part]
        if snapshot.sets.setdefault(name, labels) != labels:
            return []
        names.append(name)
    return names


class _Reader:
    """Reader of linear expressions, which also finds the cells of mutable parameters in their figures."""

    def __init__(self, snapshot: Snapshot, columns: dict[int, int], cells: dict[int, tuple[int, int]]) -> None:
        self._snapshot, self._columns, self._cells = snapshot, columns, cells
        # Tables with a cell in a figure that cannot be linked.
        self._partial: set[int] = set()

    def link_bounds(self, variable: Any) -> None:
        """Link the bounds of a variable that is not fixed."""
        if variable.fixed:
            self._leave_out(variable.lower, variable.upper)
            return
        self._link("low", self._columns[id(variable)], variable.lower, 1.0)
        self._link("high", self._columns[id(variable)], variable.upper, 1.0)

    def leave_out_partial(self) -> None:
        """Leave out tables with a figure that is not linked: their changes would reach only a part of the model."""
        links = self._snapshot.links
        for number in self._partial:
            table = self._snapshot.tables[number]
            table.keys, table.values = [], []
        kept = [at for at, number in enumerate(links.tables) if number not in self._partial]
        for name in ("targets", "places", "tables", "cells", "factors"):
            setattr(links, name, [getattr(links, name)[at] for at in kept])

    def read_objective(self, objective: Any) -> None:
        """Fill in costs, quadratic terms and the constant."""
        from pyomo.environ import value

        parts = self._parts(objective.expr, f"a nonlinear objective ({objective.name})")
        if parts is None:
            return
        self._snapshot.constant = float(value(parts.constant))
        for variable, figure in zip(parts.linear_vars, parts.linear_coefs, strict=True):
            column = self._columns[id(variable)]
            self._snapshot.cost[column] += float(value(figure))
            self._link("cost", column, figure, 1.0)
        for term in self._quadratic(parts):
            self._snapshot.add_feature("quadratic", **term)

    def read_row(self, row: Any) -> int | None:
        """Add a row. Return None for a row that is not linear."""
        from pyomo.environ import value

        parts = self._parts(row.body, f"nonlinear rows ({row.parent_component().name})")
        if parts is None:
            return None
        offset = float(value(parts.constant))
        low = -math.inf if row.lower is None else float(value(row.lower)) - offset
        high = math.inf if row.upper is None else float(value(row.upper)) - offset
        numbers: dict[int, float] = {}
        for variable, figure in zip(parts.linear_vars, parts.linear_coefs, strict=True):
            column = self._columns[id(variable)]
            numbers[column] = numbers.get(column, 0.0) + float(value(figure))
        quadratic = self._quadratic(parts)
        if quadratic:
            self._leave_out(row.lower, row.upper, parts.constant, *parts.linear_coefs)
            self._snapshot.add_quadratic_row(row.name, numbers, quadratic, low, high)
            return None
        first = len(self._snapshot.indices)
        position = self._snapshot.add_row(row.name, numbers, low, high)
        places = {column: first + at for at, column in enumerate(numbers)}
        for variable, figure in zip(parts.linear_vars, parts.linear_coefs, strict=True):
            self._link("entry", places[self._columns[id(variable)]], figure, 1.0)
        if row.equality or math.isinf(low) or math.isinf(high):
            self._link("rhs", position, row.upper if row.upper is not None else row.lower, 1.0)
        elif low == high:
            self._leave_out(row.lower, row.upper)
        else:
            self._link("row_low", position, row.lower, 1.0)
            self._link("row_high", position, row.upper, 1.0)
        self._link("rhs", position, parts.constant, -1.0)
        return position

    def _parts(self, expression: Any, what: str) -> Any:
        """Return the linear and quadratic parts of an expression; None for other expressions."""
        from pyomo.repn import generate_standard_repn

        parts = generate_standard_repn(expression, compute_values=False)
        if parts.nonlinear_expr is not None:
            self._snapshot.missing.append(what)
            return None
        return parts

    def _quadratic(self, parts: Any) -> list[dict[str, Any]]:
        from pyomo.environ import value

        self._leave_out(*parts.quadratic_coefs)
        return [
            quadratic_term(self._columns[id(first)], self._columns[id(second)], float(value(figure)))
            for (first, second), figure in zip(parts.quadratic_vars, parts.quadratic_coefs, strict=True)
            if float(value(figure))
        ]

    def _parameters(self, expression: Any) -> dict[int, Any]:
        """Return the mutable parameters of an expression by their ``id``."""
        from pyomo.core.expr.visitor import identify_mutable_parameters

        if isinstance(expression, int | float | None):
            return {}
        return {id(part): part for part in identify_mutable_parameters(expression) if id(part) in self._cells}

    def _leave_out(self, *expressions: Any) -> None:
        """Leave out the tables of expressions that cannot be linked."""
        self._partial |= {self._cells[key][0] for expression in expressions for key in self._parameters(expression)}

    def _link(self, target: str, place: int, expression: Any, sign: float) -> None:
        """Note the cells to which a figure refers, if it is linear in them; otherwise leave out their tables."""
        from pyomo.environ import value

        parameters = self._parameters(expression)
        if not parameters:
            return
        before = {key: float(part.value) for key, part in parameters.items()}
        start = float(value(expression))
        factors: dict[int, float] = {}
        try:
            for key, part in parameters.items():
                part._value = before[key] + 1.0
                factors[key] = float(value(expression)) - start
                part._value = before[key]
            for key, part in parameters.items():
                part._value = 2.0 * before[key] + 3.0
            moved = float(value(expression))
        finally:
            for key, part in parameters.items():
                part._value = before[key]
        expected = start + sum(factor * (before[key] + 3.0) for key, factor in factors.items())
        if not math.isclose(moved, expected, abs_tol=1e-9):
            # The expression is nonlinear, such as a product of two parameters.
            self._leave_out(expression)
            return
        for key, factor in factors.items():
            if factor:
                self._snapshot.links.add(target, place, *self._cells[key], sign * factor)


def _claim(model: Any, status: str) -> tuple[str, float | None, list[Any] | None]:
    from pyomo.environ import Objective, Var, value

    values = [variable.value for variable in model.component_data_objects(Var)]
    if any(value is None for value in values) and status not in ("optimal", "feasible"):
        return status, None, None
    objectives = list(model.component_data_objects(Objective, active=True))
    objective = value(objectives[0], exception=False) if objectives else None
    return status, objective, [0.0 if value is None else value for value in values]
