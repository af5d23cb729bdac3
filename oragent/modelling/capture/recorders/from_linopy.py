"""Recorder of linopy. HiGHS replaces every solver, because no process can be started."""

import math
from typing import Any

import numpy as np

from oragent.modelling.capture.recorder import Recorder, package_version
from oragent.modelling.capture.snapshot import MemberKey, Snapshot
from oragent.modelling.capture.tables import label_text


def install(module: Any, recorder: Recorder) -> None:
    """Watch the solves of models."""
    version = package_version(module, "linopy")
    model_class = module.Model
    solve = model_class.solve

    def solve_recorded(self: Any, *arguments: Any, **named: Any) -> Any:
        if recorder.is_quiet:
            return solve(self, *arguments, **named)
        number = recorder.record(version, lambda: _snapshot(self, version, recorder))
        options = {key: item for key, item in named.items() if key in ("io_api", "sanitize_zeros")}
        with recorder.quiet():
            result = solve(self, "highs", time_limit=recorder.remaining_s(), threads=1, **options)
        recorder.claim(number, lambda: _claim(self))
        return result

    model_class.solve = solve_recorded


def _snapshot(model: Any, version: str, recorder: Recorder) -> Snapshot:
    matrices = model.matrices
    snapshot = Snapshot(version, "", model.objective.sense == "max")
    if model.objective.is_quadratic:
        snapshot.missing.append("a quadratic objective")
    if any("sos_type" in variable.attrs for _, variable in model.variables.items()):
        snapshot.missing.append("special-ordered sets")
    constant = getattr(model.objective.expression, "const", 0.0)
    snapshot.constant = float(np.nansum(np.asarray(constant, dtype=float)))
    columns = {int(label): at for at, label in enumerate(matrices.vlabels)}
    rows = {int(label): at for at, label in enumerate(matrices.clabels)}
    kinds = list(matrices.vtypes)
    if "S" in kinds:
        snapshot.missing.append("semi-continuous variables")
    for at, kind in enumerate(kinds):
        snapshot.add_column("", matrices.lb[at], matrices.ub[at], kind in "BI", matrices.c[at])
    matrix = matrices.A.tocsr() if matrices.A is not None else None
    for at, sense in enumerate(matrices.sense):
        rhs = float(matrices.b[at])
        snapshot.rows.append("")
        snapshot.row_low.append(-math.inf if str(sense)[0] == "<" else rhs)
        snapshot.row_high.append(math.inf if str(sense)[0] == ">" else rhs)
    if matrix is not None:
        snapshot.starts, snapshot.indices = matrix.indptr.tolist(), matrix.indices.tolist()
        snapshot.values = matrix.data.tolist()
    given: tuple[dict[int, MemberKey], dict[int, MemberKey]] = ({}, {})
    for part, places, keys, names, kind in (
        (model.variables, columns, given[0], snapshot.columns, "variables"),
        (model.constraints, rows, given[1], snapshot.rows, "rows"),
    ):
        for name, member in part.items():
            _take_members(snapshot, kind, str(name), member.labels, places, keys, names)
    return recorder.fill_keys(snapshot, model, None, None, given)


def _take_members(
    snapshot: Snapshot,
    kind: str,
    family: str,
    labels: Any,
    places: dict[int, int],
    keys: dict[int, MemberKey],
    names: list[str],
) -> None:
    """Read keys from the coordinates of a variable or constraint. Masked members have no position."""
    axes = [
        [label_text(label) for label in labels.indexes[dim]]
        if dim in labels.indexes
        else [str(at) for at in range(labels.sizes[dim])]
        for dim in labels.dims
    ]
    snapshot.family_sets[kind][family] = [str(dim) for dim in labels.dims]
    for dim, axis in zip(labels.dims, axes, strict=True):
        known = snapshot.sets.setdefault(str(dim), axis)
        if set(axis) - set(known):
            snapshot.sets[str(dim)] = [*known, *(label for label in axis if label not in set(known))]
    for index, label in np.ndenumerate(labels.values):
        if int(label) in places:
            key = [axis[at] for axis, at in zip(axes, index, strict=True)]
            keys[places[int(label)]] = (family, key, "framework")
            names[places[int(label)]] = f"{family}[{','.join(key)}]" if key else family


def _claim(model: Any) -> tuple[str, float | None, Any]:
    status = str(model.termination_condition)
    if model.objective.value is None:
        return status, None, None
    by_label: dict[int, float] = {}
    for variable in dict(model.variables.items()).values():
        for label, value in zip(variable.labels.values.ravel(), variable.solution.values.ravel(), strict=True):
            by_label[int(label)] = float(value)
    return status, float(model.objective.value), [by_label.get(int(label)) for label in model.matrices.vlabels]
