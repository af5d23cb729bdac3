"""Recorder of highspy."""

import os
import sys
from typing import Any

import numpy as np

from oragent.modelling.capture.recorder import Recorder, find_by_index, package_version
from oragent.modelling.capture.snapshot import MemberKey, Snapshot, quadratic_term, without_huge
from oragent.modelling.capture.tables import flat_key, label_text

COLUMN_ADDERS = ("addVariable", "addVar", "addVars", "addCol", "addCols", "addIntegral", "addBinary", "addBinaries")
ROW_ADDERS = ("addConstr", "addConstrs", "addRow", "addRows")


def install(highspy: Any, recorder: Recorder) -> None:
    """Watch the solver, families of variables, and constraints."""
    version = package_version(highspy)
    engine = highspy.Highs
    _take_banner(engine)
    keys: dict[int, dict[int, MemberKey]] = {}
    row_keys: dict[int, dict[int, MemberKey]] = {}
    for name in ("addVariables", "addIntegrals", "addBinaries"):
        if hasattr(engine, name):
            setattr(engine, name, _keyed(getattr(engine, name), recorder, keys))
    _watch_rows(engine, recorder, row_keys)
    recorder.watch_additions(engine, COLUMN_ADDERS, "columns", lambda model: int(model.getNumCol()))
    recorder.watch_additions(engine, ROW_ADDERS, "rows", lambda model: int(model.getNumRow()))

    def snapshot(model: Any, *arguments: Any, **named: Any) -> Snapshot:
        _limit(model, recorder)
        taken = _snapshot(highspy, model, version)
        given = keys.get(id(model), {}), row_keys.get(id(model), {})
        find = find_by_index(highspy.highs.highs_var), find_by_index(highspy.highs.highs_cons)
        return recorder.fill_keys(taken, model, *find, given)

    recorder.watch_solve(engine, ("run", "solve", "optimize", "startSolve"), version, snapshot, _claim)
    for name in ("minimize", "maximize"):
        # Both set the objective, then call a solve that is recorded.
        setattr(engine, name, _plain(getattr(engine, name)))


def _take_banner(engine: Any) -> None:
    """Make one solver with output suppressed: since version 1.16 HiGHS prints a banner for the first one."""
    sys.stdout.flush()
    try:
        kept, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    except OSError:
        # No file can be opened. Then this process was forked from one that has already made a solver.
        return
    try:
        os.dup2(null, 1)
        engine()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(null)


def _limit(model: Any, recorder: Recorder) -> None:
    """Limit a solve to the remaining time, to one thread if the program chose none, and to the gap of the run."""
    threads = model.getOptionValue("threads")[1] or 1
    model.setOptionValue("threads", threads)
    requested = model.getOptionValue("time_limit")[1]
    model.setOptionValue("time_limit", float(min(requested, model.getRunTime() + recorder.remaining_s(threads))))
    if recorder.gap is not None:
        model.setOptionValue("mip_rel_gap", float(recorder.gap))


def _plain(method: Any) -> Any:
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        return method(self, *arguments, **named)

    return call


def _keyed(original: Any, recorder: Recorder, keys: dict[int, dict[int, MemberKey]]) -> Any:
    def add(model: Any, *arguments: Any, **named: Any) -> Any:
        before = int(model.getNumCol())
        with recorder.quiet():
            made = original(model, *arguments, **named)
        if recorder.is_quiet:
            return made
        _note_keys(keys, model, made, named)
        recorder.places.note("columns", model, before, int(model.getNumCol()) - before)
        return made

    return add


def _watch_rows(engine: Any, recorder: Recorder, keys: dict[int, dict[int, MemberKey]]) -> None:
    """Read the keys of constraints that are given as a mapping or by the loops of a generator."""
    original = engine.addConstrs

    def add(model: Any, *arguments: Any, **named: Any) -> Any:
        arguments = tuple(
            _noting_items(item, model, recorder) if hasattr(item, "__next__") else item for item in arguments
        )
        made = original(model, *arguments, **named)
        _note_keys(keys, model, made, named)
        return made

    engine.addConstrs = add


def _note_keys(keys: dict[int, dict[int, MemberKey]], model: Any, made: Any, named: dict[str, Any]) -> None:
    """Note the keys of variables or constraints that were made as a dict with a name."""
    prefix = str(named.get("name_prefix") or "").rstrip("_[( ")
    if isinstance(made, dict) and prefix:
        for label, member in made.items():
            labels = [label_text(part) for part in flat_key(label)]
            keys.setdefault(id(model), {})[int(member.index)] = (prefix, labels, "framework")


def _noting_items(items: Any, model: Any, recorder: Recorder) -> Any:
    """Yield the items of a generator, and note each with the current loop variables of the generator."""
    row = int(model.getNumRow())
    for item in items:
        frame = getattr(items, "gi_frame", None)
        if frame is not None:
            recorder.places.note_frame("rows", model, row, frame)
        row += 1
        yield item


def _snapshot(highspy: Any, model: Any, version: str) -> Snapshot:
    problem = model.getLp()
    maximize = problem.sense_ == highspy.ObjSense.kMaximize
    snapshot = Snapshot(version, str(problem.model_name_ or ""), maximize, float(problem.offset_))
    count, rows = problem.num_col_, problem.num_row_
    kinds = list(problem.integrality_)
    whole = (highspy.HighsVarType.kInteger, highspy.HighsVarType.kSemiInteger)
    for at, kind in enumerate(kinds):
        if kind in (highspy.HighsVarType.kSemiContinuous, highspy.HighsVarType.kSemiInteger):
            snapshot.add_feature("semi_continuous", variable=at)
    if model.getHessianNumNz():
        _add_hessian(snapshot, highspy, model.getModel().hessian_)
    names, row_names = list(problem.col_names_), list(problem.row_names_)
    low, high, cost = list(problem.col_lower_), list(problem.col_upper_), list(problem.col_cost_)
    for at in range(count):
        integer = bool(kinds) and kinds[at] in whole
        name = names[at] if at < len(names) else ""
        snapshot.add_column(name, without_huge(low[at]), without_huge(high[at]), integer, cost[at])
    snapshot.rows = [row_names[at] if at < len(row_names) else "" for at in range(rows)]
    snapshot.row_low = list(map(without_huge, problem.row_lower_))
    snapshot.row_high = list(map(without_huge, problem.row_upper_))
    matrix = problem.a_matrix_
    starts, indices, values = (np.asarray(part) for part in (matrix.start_, matrix.index_, matrix.value_))
    if matrix.format_ == highspy.MatrixFormat.kColwise:
        columns = np.repeat(np.arange(count), np.diff(starts))
        order = np.argsort(indices, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(indices.astype(np.int64), minlength=rows))])
        indices, values = columns[order], values[order]
    snapshot.starts = [int(start) for start in starts]
    snapshot.indices, snapshot.values = indices.tolist(), values.tolist()
    return snapshot


def _add_hessian(snapshot: Snapshot, highspy: Any, hessian: Any) -> None:
    """Add the quadratic terms of the objective. HiGHS holds a triangle or all of Q in x'Qx / 2."""
    starts, rows, values = list(hessian.start_), list(hessian.index_), list(hessian.value_)
    is_triangle = hessian.format_ == highspy.HessianFormat.kTriangular
    for column in range(hessian.dim_):
        for place in range(starts[column], starts[column + 1]):
            factor = 1.0 if is_triangle and rows[place] != column else 0.5
            if values[place]:
                snapshot.add_feature("quadratic", **quadratic_term(column, int(rows[place]), factor * values[place]))


def _claim(result: Any, model: Any, *arguments: Any, **named: Any) -> tuple[str, float | None, list[float] | None]:
    status = model.modelStatusToString(model.getModelStatus())
    solution = model.getSolution()
    if not solution.value_valid:
        return status, None, None
    return status, float(model.getInfo().objective_function_value), list(solution.col_value)
