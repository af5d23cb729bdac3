"""CPU time and memory of solving large generated models: three layers of ours, highspy, linopy and PuLP.

``arrays`` has no names, ``indexed`` has families with labels as operations on models use them, and ``named`` has an
object for each variable and row.

Each measurement is a process of its own, so that its peak memory is its own. Times are CPU seconds for building the
model from NumPy arrays and solving it; memory is the peak resident set. Models: transport, multi-period flow, staffing
and assignment (LP), duties and lot sizes (MIP, stopped at a gap of 5 %).

Run: python tests/benchmarks/bench_solvers.py
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names
from oragent.modelling.operations import ModelSession, SolveLimits
from oragent.modelling.operations.explanation import explain
from oragent.modelling.operations.outcomes import solution_outcome
from oragent.modelling.solving.array_solving import solve_arrays
from oragent.modelling.solving.back_ends import SolverOptions
from oragent.modelling.solving.model_solving import solve

GAP = 0.05
LAYERS = ("highspy", "arrays", "indexed", "named", "linopy", "pulp")
LIMIT_S = 550


def build(low, high, integer, cost, entries, row_low, row_high) -> Arrays:
    lines, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    matrix = Sparse.from_entries(lines, columns, values, (len(row_low), len(cost)))
    return Arrays(Sense.MINIMIZE, cost, 0.0, low, high, integer, matrix, row_low, row_high)


def transport(depots: int, customers: int) -> Arrays:
    rng = np.random.default_rng(1)
    count = depots * customers
    demand = rng.integers(1, 20, customers).astype(float)
    supply = np.full(depots, np.ceil(1.2 * demand.sum() / depots))
    i, j, columns = np.repeat(np.arange(depots), customers), np.tile(np.arange(customers), depots), np.arange(count)
    entries = [(i, columns, np.ones(count)), (depots + j, columns, np.ones(count))]
    low = np.concatenate([np.full(depots, -np.inf), demand])
    high = np.concatenate([supply, np.full(customers, np.inf)])
    cost = rng.integers(1, 100, count).astype(float)
    return build(np.zeros(count), np.full(count, np.inf), np.zeros(count, bool), cost, entries, low, high)


def stock(products: int, periods: int) -> Arrays:
    """Production and stock of products that share machines."""
    rng = np.random.default_rng(2)
    count = products * periods
    make, keep = np.arange(count), count + np.arange(count)
    product, period = np.repeat(np.arange(products), periods), np.tile(np.arange(periods), products)
    demand = rng.integers(0, 50, count).astype(float)
    later = period > 0
    entries = [
        (make, make, np.ones(count)),
        (make, keep, -np.ones(count)),
        (make[later], keep[later] - 1, np.ones(int(later.sum()))),
        (count + period, make, rng.uniform(0.5, 2.0, products)[product]),
    ]
    load = np.full(periods, 45.0 * products)
    cost = np.concatenate([rng.uniform(1, 9, count), np.full(count, 0.1)])
    low = np.concatenate([demand, np.full(periods, -np.inf)])
    high = np.concatenate([demand, load])
    return build(np.zeros(2 * count), np.full(2 * count, np.inf), np.zeros(2 * count, bool), cost, entries, low, high)


def staffing(patterns: int, hours: int, length: int) -> Arrays:
    """Shift patterns, each covering a stretch of hours."""
    rng = np.random.default_rng(3)
    start = rng.integers(0, hours, patterns)
    columns = np.repeat(np.arange(patterns), length)
    lines = (np.repeat(start, length) + np.tile(np.arange(length), patterns)) % hours
    need = rng.integers(5, 60, hours).astype(float)
    cost = rng.uniform(1, 2, patterns)
    entries = [(lines, columns, np.ones(len(lines)))]
    free = np.zeros(patterns, bool)
    return build(np.zeros(patterns), np.full(patterns, np.inf), free, cost, entries, need, np.full(hours, np.inf))


def assignment(size: int) -> Arrays:
    """People and tasks, one to one."""
    rng = np.random.default_rng(6)
    count = size * size
    i, j, columns = np.repeat(np.arange(size), size), np.tile(np.arange(size), size), np.arange(count)
    entries = [(i, columns, np.ones(count)), (size + j, columns, np.ones(count))]
    cost, free, ones = rng.integers(1, 1000, count).astype(float), np.zeros(count, bool), np.ones(2 * size)
    return build(np.zeros(count), np.full(count, np.inf), free, cost, entries, ones, ones)


def duties(agents: int, jobs: int) -> Arrays:
    """Jobs given to agents with limited hours: the generalised assignment problem."""
    rng = np.random.default_rng(5)
    count = agents * jobs
    i, j, columns = np.repeat(np.arange(agents), jobs), np.tile(np.arange(jobs), agents), np.arange(count)
    hours = rng.integers(5, 25, count).astype(float)
    limit = np.full(agents, np.floor(0.8 * hours.mean() * jobs / agents))
    entries = [(j, columns, np.ones(count)), (jobs + i, columns, hours)]
    low = np.concatenate([np.ones(jobs), np.full(agents, -np.inf)])
    high = np.concatenate([np.ones(jobs), limit])
    cost = rng.integers(10, 50, count).astype(float)
    return build(np.zeros(count), np.ones(count), np.ones(count, bool), cost, entries, low, high)


def lots(products: int, periods: int) -> Arrays:
    """Lot sizes of products that share a machine, with a set-up for each lot."""
    rng = np.random.default_rng(4)
    count = products * periods
    make, stock, begin = np.arange(count), count + np.arange(count), 2 * count + np.arange(count)
    period = np.tile(np.arange(periods), products)
    demand = rng.integers(0, 20, count).astype(float)
    later = np.flatnonzero(period > 0)
    largest = np.repeat(demand.reshape(products, periods).sum(axis=1), periods)
    rows, ones = np.arange(count), np.ones(count)
    entries = [
        (rows, make, ones),
        (rows, stock, -ones),
        (later, stock[later - 1], np.ones(len(later))),
        (count + rows, make, ones),
        (count + rows, begin, -largest),
        (2 * count + period, make, ones),
    ]
    limit = np.full(periods, np.ceil(1.3 * demand.sum() / periods))
    low = np.concatenate([demand, np.full(count + periods, -np.inf)])
    high = np.concatenate([demand, np.zeros(count), limit])
    cost = np.concatenate([np.zeros(count), rng.integers(1, 4, count), rng.integers(20, 80, count)]).astype(float)
    integer = np.repeat([False, False, True], count)
    upper = np.concatenate([np.full(2 * count, np.inf), ones])
    return build(np.zeros(3 * count), upper, integer, cost, entries, low, high)


MODELS: dict[str, Callable[[], Arrays]] = {
    "transport": lambda: transport(50, 1000),
    "stock": lambda: stock(500, 100),
    "staffing": lambda: staffing(40_000, 1_000, 8),
    "assignment": lambda: assignment(300),
    "duties": lambda: duties(40, 1_250),
    "lots": lambda: lots(500, 40),
    "transport 1e6": lambda: transport(250, 2000),
}


def by_highspy(arrays: Arrays) -> float:
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("mip_rel_gap", GAP)
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = arrays.matrix.shape
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = arrays.cost, arrays.low, arrays.high
    lp.row_lower_, lp.row_upper_ = arrays.row_low, arrays.row_high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    matrix = arrays.matrix
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.starts, matrix.columns, matrix.values
    if arrays.integer.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[whole] for whole in arrays.integer.astype(int).tolist()]
    highs.passModel(lp)
    highs.run()
    np.array(highs.getSolution().col_value)
    return highs.getInfo().objective_function_value


def by_arrays(arrays: Arrays) -> float:
    return solve_arrays(arrays, SolverOptions(gap=GAP)).objective


def indexed(arrays: Arrays) -> IndexedModel:
    """Return the model with families of variables by kind, and of rows by relation."""
    builder = IndexedModelBuilder()
    columns = np.empty(len(arrays.cost), dtype=np.int64)
    for name, kind, chosen in (("x", "continuous", ~arrays.integer), ("y", "integer", arrays.integer)):
        if chosen.any():
            builder.add_set(name, range(int(chosen.sum())), is_ordered=True)
            figures = {"low": arrays.low[chosen], "high": arrays.high[chosen]}
            columns[chosen] = builder.add_variables(name, [name], kind=kind, **figures)
    matrix = arrays.matrix
    for relation, chosen, rhs in _blocks(arrays):
        block = matrix.select_rows(chosen)
        name = f"r{relation}"
        builder.add_set(name, range(len(chosen)), is_ordered=True)
        entries = {"rows": block.row_indices, "columns": columns[block.columns], "values": block.values}
        builder.add_rows(name, [name], relation, rhs=rhs[chosen], **entries)
    builder.set_objective("cost", arrays.sense, columns, arrays.cost)
    return builder.build()


def by_indexed(arrays: Arrays) -> float:
    result = ModelSession(indexed(arrays), SolveLimits(gap=GAP)).ask("solve")
    return result.objective.value


def named(arrays: Arrays) -> IndexedModel:
    names = [f"x[{index}]" for index in range(len(arrays.cost))]
    kinds = [VariableKind.INTEGER if whole else VariableKind.CONTINUOUS for whole in arrays.integer]
    bounds = zip(arrays.low.tolist(), arrays.high.tolist(), strict=True)
    variables = tuple(Variable(n, low, high, k) for n, (low, high), k in zip(names, bounds, kinds, strict=True))
    rows = []
    for index, (low, high) in enumerate(zip(arrays.row_low.tolist(), arrays.row_high.tolist(), strict=True)):
        ends = slice(arrays.matrix.starts[index], arrays.matrix.starts[index + 1])
        places, values = arrays.matrix.columns[ends].tolist(), arrays.matrix.values[ends].tolist()
        terms = {names[place]: value for place, value in zip(places, values, strict=True)}
        relation = Relation.EQUAL if low == high else Relation.AT_MOST if high < np.inf else Relation.AT_LEAST
        rows.append(Row(f"r[{index}]", terms, relation, high if high < np.inf else low))
    objective = Objective(dict(zip(names, arrays.cost.tolist(), strict=True)))
    return IndexedModel.from_records(variables, tuple(rows), objective, arrays.sense)


def by_names(arrays: Arrays) -> float:
    return solve(named(arrays), gap=GAP, duals=False).objective


def by_linopy(arrays: Arrays) -> float:
    """All integer or all continuous models; linopy has one kind for each block of variables."""
    if arrays.integer.any() and not arrays.integer.all():
        raise SystemExit("mixed kinds")
    import linopy
    import pandas as pd
    import xarray as xr
    from scipy.sparse import csr_matrix

    model = linopy.Model()
    index = pd.RangeIndex(len(arrays.cost), name="c")
    low, high = pd.Series(arrays.low, index), pd.Series(arrays.high, index)
    x = model.add_variables(low, high, name="x", integer=bool(arrays.integer.all()))
    matrix = arrays.matrix
    rows = csr_matrix((matrix.values, matrix.columns, matrix.starts), shape=matrix.shape)
    for sense, chosen, rhs in _blocks(arrays):
        block = rows[chosen]
        width = int(np.diff(block.indptr).max())
        places = np.full((len(chosen), width), -1)
        values = np.zeros((len(chosen), width))
        line = np.repeat(np.arange(len(chosen)), np.diff(block.indptr))
        column = np.arange(block.nnz) - np.repeat(block.indptr[:-1], np.diff(block.indptr))
        places[line, column], values[line, column] = block.indices, block.data
        shape, constants = ("r", "_term"), np.zeros(len(chosen))
        data = xr.Dataset({"coeffs": (shape, values), "vars": (shape, places), "const": ("r", constants)})
        expression = linopy.LinearExpression(data, model)
        model.add_constraints(expression, sense, xr.DataArray(rhs[chosen], dims="r"), name=f"r{sense}")
    model.add_objective((pd.Series(arrays.cost, index) * x).sum())
    model.solve(solver_name="highs", io_api="direct", output_flag=False, threads=1, mip_rel_gap=GAP, progress=False)
    return float(model.objective.value)


def _blocks(arrays: Arrays):
    equal = arrays.row_low == arrays.row_high
    most, least = ~equal & np.isfinite(arrays.row_high), ~equal & np.isfinite(arrays.row_low)
    blocks = (("=", equal, arrays.row_high), ("<=", most, arrays.row_high), (">=", least, arrays.row_low))
    return [(sense, np.flatnonzero(chosen), rhs) for sense, chosen, rhs in blocks if chosen.any()]


def by_pulp(arrays: Arrays) -> float:
    import pulp

    problem = pulp.LpProblem("p", pulp.LpMinimize)
    variables = []
    for index, (low, high) in enumerate(zip(arrays.low.tolist(), arrays.high.tolist(), strict=True)):
        kind = "Integer" if arrays.integer[index] else "Continuous"
        variables.append(pulp.LpVariable(f"x{index}", low, None if high == np.inf else high, kind))
    problem += pulp.LpAffineExpression(zip(variables, arrays.cost.tolist(), strict=True))
    for sense, chosen, rhs in _blocks(arrays):
        for index in chosen.tolist():
            ends = slice(arrays.matrix.starts[index], arrays.matrix.starts[index + 1])
            places, values = arrays.matrix.columns[ends].tolist(), arrays.matrix.values[ends].tolist()
            left = pulp.LpAffineExpression([(variables[p], v) for p, v in zip(places, values, strict=True)])
            code = {"=": 0, "<=": -1, ">=": 1}[sense]
            problem += pulp.LpConstraint(left, code, rhs=float(rhs[index]))
    problem.solve(pulp.HiGHS(msg=False, threads=1, gapRel=GAP))
    return pulp.value(problem.objective)


SOLVES = {
    "highspy": by_highspy,
    "arrays": by_arrays,
    "indexed": by_indexed,
    "named": by_names,
    "linopy": by_linopy,
    "pulp": by_pulp,
}


def measure(model: str, layer: str) -> None:
    """Print one measurement as JSON."""
    arrays = MODELS[model]()
    # imports and the first solver are no part of the measurement
    SOLVES[layer](transport(2, 3)) if layer != "linopy" else __import__("linopy")
    began = time.process_time()
    objective = SOLVES[layer](arrays)
    spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = {"nonzeros": len(arrays.matrix.values), "columns": len(arrays.cost), "rows": len(arrays.row_low)}
    print(json.dumps({"cpu_s": spent, "peak_mb": peak, "objective": objective, **size}))


def measure_explanation() -> None:
    """Print how the CPU time of an explanation grows with the number of variables."""
    for customers in (250, 500, 1000, 2000):
        milp = named(transport(50, customers))
        solution = solve(milp)
        began = time.process_time()
        explain(group_by_names(milp), outcome=solution_outcome(solution))
        print(f"explain: {milp.shape[1]:,} variables, {time.process_time() - began:.2f} CPU s", flush=True)


def main() -> None:
    print(f"{'model':14} {'nonzeros':>9} {'columns':>8} " + " ".join(f"{layer:>16}" for layer in LAYERS))
    for model in MODELS:
        cells, head = [], ""
        for layer in LAYERS:
            words = [sys.executable, str(Path(__file__).resolve()), model, layer]
            try:
                ended = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=True)
                result = json.loads(ended.stdout.splitlines()[-1])
                cells.append(f"{result['cpu_s']:8.2f} {result['peak_mb']:4.0f} MB")
                head = f"{model:14} {result['nonzeros']:9,} {result['columns']:8,} "
            except (subprocess.SubprocessError, ValueError, IndexError) as problem:
                cells.append(f"{type(problem).__name__[:16]:>16}")
        print(head + " ".join(f"{cell:>16}" for cell in cells), flush=True)
    measure_explanation()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(*sys.argv[1:])
    else:
        main()
