"""Content of a conversation's page as plain data: state, pivot tables, scenarios, messages."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from oragent._base.errors import ModellingError, OragentError
from oragent._base.text_format import escape_text
from oragent.converse.models.message_record import MessageRecord
from oragent.converse.models.model_conversation import ModelConversation
from oragent.converse.models.result_text import headline, view_result
from oragent.converse.models.scenario_table import ScenarioRow, scenario_row, scenario_rows, table_cells
from oragent.modelling.data.display import figure as figure_text
from oragent.modelling.data.indexed import Family, IndexedModel, ParameterFamily, VariableFamily
from oragent.modelling.operations.requests import WhatIfRequest, WhyNotRequest
from oragent.modelling.operations.results import RepairResult
from oragent.modelling.operations.slices import fold, kind_prefix
from oragent.modelling.references.figures import format_figure
from oragent.modelling.references.reference_text import label_text, name_text

# Limits: rows and columns of a pivot table, messages on the page, families in its lists, KPIs.
MAX_ROWS, MAX_COLUMNS, MAX_MESSAGES, MAX_FAMILIES, MAX_KPIS = 60, 30, 50, 300, 7
# Maximum number of labels in a list.
MAX_LABELS = 1000
SUM = "*"


def page_state(conversation: ModelConversation) -> dict[str, Any]:
    """Return the content of the page except its pivot table."""
    bench = conversation.workbench
    study, model = bench.session.study, bench.model
    rows = scenario_rows(bench)
    now = next(row for row in rows if row.name == study.label(study.changes) or row.name == "now")
    content = {
        "name": model.name or "model",
        "size": f"{model.shape[1]} variables, {model.shape[0]} rows",
        "asking": conversation.is_asking,
        "absence": conversation.absence,
        "status": now.status,
        "kpis": list(_kpis(model, rows[0], now, _tried(conversation))),
        "in_force": bench.state.lines,
        "trial": _trial(conversation),
        "scenarios": table_cells(rows),
        "messages": [_message(record) for record in conversation.records[-MAX_MESSAGES:]],
        "count": len(conversation.records),
    }
    # The page asks for these by their own names.
    families = [_family(model, family) for family in (*model.variables, *model.parameters)][:MAX_FAMILIES]
    shown: dict[str, Any] = _escaped(content)
    return shown | {"families": families, "present": now.name}


def _kpis(
    model: IndexedModel, base: ScenarioRow, now: ScenarioRow, tried: ScenarioRow | None
) -> Iterator[dict[str, str]]:
    """Return objective and totals of the base model, of the present state and of the last trial."""
    rows = {"before": base, "after": now} | ({"tried": tried} if tried else {})
    name = f"{model.objective.name} ({model.objective.sense})"
    figures = {
        key: format_figure(row.objective) if row.objective.value is not None else row.status
        for key, row in rows.items()
    }
    yield {"name": name, **figures}
    totals = {name for row in rows.values() for name in row.totals}
    order = sorted(totals, key=lambda name: (len({row.totals.get(name) for row in rows.values()}) == 1, name))
    for name in order[: MAX_KPIS - 1]:
        figures = {
            key: format_figure(row.totals[name]) if name in row.totals else row.status for key, row in rows.items()
        }
        yield {"name": f"total {name}", **figures}


def _tried(conversation: ModelConversation) -> ScenarioRow | None:
    """Return the outcome of the last trial; None without one."""
    study = conversation.workbench.session.study
    if study.trial is None or study.trial == study.changes:
        return None
    try:
        return scenario_row(study, "tried", study.scenario(study.trial))
    except OragentError:
        return None


def _trial(conversation: ModelConversation) -> dict[str, str] | None:
    """Return the last trial, which ``keep`` would apply."""
    study = conversation.workbench.session.study
    if study.trial is None or study.trial == study.changes:
        return None
    results = [result for record in conversation.records for result in record.results]
    for result in reversed(results):
        if isinstance(result, RepairResult) or isinstance(result.request, WhatIfRequest | WhyNotRequest):
            return {"line": result.line, "text": headline(result)}
    return None


def _family(model: IndexedModel, family: Family) -> dict[str, Any]:
    return {
        "name": family.name,
        "kind": "data" if isinstance(family, ParameterFamily) else "variables",
        "sets": list(family.sets),
        "size": len(family),
        "unit": escape_text(family.unit),
    }


def _message(record: MessageRecord) -> dict[str, Any]:
    return {
        "said": record.said,
        "note": record.note,
        "parts": [{"kind": part.kind, "text": part.text, "mark": part.mark} for part in record.parts],
        "results": [asdict(view_result(result, MAX_ROWS)) for result in record.results],
    }


def _escaped(value: Any) -> Any:
    """Return plain data with every text escaped, except keys."""
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(item) for item in value]
    return escape_text(value) if isinstance(value, str) else value


def pivot_table(conversation: ModelConversation, question: Mapping[str, str]) -> dict[str, Any]:
    """Return a family by two of its indices; each other index is fixed at a label or summed.

    Args:
        conversation: Conversation with the state.
        question: ``family``; ``rows`` and ``columns``: positions of index sets, from 0; ``fixed.K``: label of the
            index at position K; ``search``: text that labels of the rows contain.

    Raises:
        ModellingError: The question names an unknown family, index or label.
    """
    model = conversation.workbench.model
    family = next(
        (candidate for candidate in (*model.variables, *model.parameters) if candidate.name == question.get("family")),
        None,
    )
    if family is None:
        raise ModellingError("no such family of variables or data")
    places = [_place(question, key, family) for key in ("rows", "columns")]
    figures, note = _figures(conversation, family)
    bounds, prefix = _bounds(model, family), kind_prefix(model, family)
    chosen = np.ones(len(family), dtype=bool)
    summed = []
    for axis, name in enumerate(family.sets):
        label = question.get(f"fixed.{axis}", SUM)
        if axis in places:
            continue
        if label == SUM:
            summed.append(name)
        else:
            chosen &= family.keys[:, axis] == model.index_set(name).position_of.get(label)
    members = np.flatnonzero(chosen)
    searched = fold(question.get("search", ""))
    cells: dict[tuple[int, int], list[int]] = {}
    for member in members.tolist():
        key = [int(family.keys[member, axis]) if axis is not None else 0 for axis in places]
        cells.setdefault((key[0], key[1]), []).append(member)
    row_keys = sorted({row for row, _ in cells if searched in fold(_label(model, family, places[0], row))})
    column_keys = sorted({column for _, column in cells})
    rows = [
        {
            "label": escape_text(_label(model, family, places[0], row)),
            "cells": [
                _cell(model, family, cells.get((row, column), []), figures, bounds, prefix)
                for column in column_keys[:MAX_COLUMNS]
            ],
        }
        for row in row_keys[:MAX_ROWS]
    ]
    hidden = [max(0, len(row_keys) - MAX_ROWS), max(0, len(column_keys) - MAX_COLUMNS)]
    columns = [escape_text(_label(model, family, places[1], column)) for column in column_keys[:MAX_COLUMNS]]
    return {"columns": columns, "rows": rows, "hidden": hidden, "summed": summed, "note": note}


def _place(question: Mapping[str, str], key: str, family: Family) -> int | None:
    text = question.get(key, "")
    if not text:
        return None
    places = {str(axis): axis for axis in range(len(family.sets))}
    if text not in places:
        raise ModellingError(f"{key}: expected the place of an index of {family.name!r}, from 0")
    return places[text]


def _label(model: IndexedModel, family: Family, axis: int | None, key: int) -> str:
    return family.name if axis is None else model.index_set(family.sets[axis]).labels[key]


def _figures(conversation: ModelConversation, family: Family) -> tuple[np.ndarray | None, str]:
    """Return the figures of all members, or the reason why there are none."""
    study = conversation.workbench.session.study
    if isinstance(family, ParameterFamily):
        return study.present.model.cells[family.positions], ""
    try:
        return study.point(study.present)[family.positions], ""
    except OragentError as problem:
        return None, escape_text(str(problem))


def _bounds(model: IndexedModel, family: Family) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the bounds of all members of a family of variables."""
    if not isinstance(family, VariableFamily):
        return None
    low, high = (side.evaluate(model.cells)[family.positions] for side in (model.low, model.high))
    return low, high


def _cell(
    model: IndexedModel,
    family: Family,
    members: list[int],
    figures: np.ndarray | None,
    bounds: tuple[np.ndarray, np.ndarray] | None,
    prefix: str,
) -> dict[str, Any]:
    if not members:
        return {"text": "", "name": ""}
    text = "–"
    if figures is not None:
        text = figure_text(float(figures[members].sum()))
    if len(members) > 1:
        name = f"{prefix}{_slice_name(model, family, members)}" if isinstance(family, VariableFamily) else ""
        return {"text": text, "name": name, "sum": True}
    cell = {"text": text, "name": f"{prefix}{model.member_name(family, members[0])}"}
    if bounds is not None:
        low, high = (float(side[members[0]]) for side in bounds)
        if low == high:
            cell["state"] = "forbidden" if high == 0 else "fixed"
    return cell


def _slice_name(model: IndexedModel, family: Family, members: list[int]) -> str:
    """Return the reference to members that differ in some indices; those indices are not restricted."""
    keys = family.keys[members]
    indices = []
    for axis, name in enumerate(family.sets):
        positions = np.unique(keys[:, axis])
        indices.append(label_text(model.index_set(name).labels[int(positions[0])]) if len(positions) == 1 else "*")
    return f"{name_text(family.name)}[{', '.join(indices)}]"


def label_choices(conversation: ModelConversation, name: str) -> list[str]:
    """Return labels of an index set, for a list on the page."""
    return list(conversation.workbench.model.index_set(name).labels[:MAX_LABELS])
