"""An answer in the terms of the problem: sentences for rows, and decisions by index with units."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from oragent.formulate.breakdown import ADDED_NEVER, ObjectivePart, UseTable, split_objective, tabulate_use
from oragent.formulate.data import iterate_texts
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.gantt import END_NAMES, START_NAMES, PlanSchedule, build_schedule
from oragent.formulate.plan_tables import order_families
from oragent.formulate.prompting import PoolEntry
from oragent.formulate.requirements import KINDS, plain_key
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Variable
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.report.pages.time_scales import read_time_scale
from oragent.report.pages.value_tables import PULP, DecisionFamily, DecisionKind, group_families

MAX_LABELS, MAX_LABEL_LENGTH = 20_000, 80
WORDS = re.compile(r"[^\W_]+")
# Words that name times, together with words of the second set only. They are for programs whose
# author does not state the kind.
TIME_NAMES = frozenset([*START_NAMES, *END_NAMES, "makespan"])
TIME_WORDS = frozenset(
    ["t", "time", "times", "at", "of", "task", "job", "operation", "op", "hour", "minute", "day", "slot"]
)


def constraint_sentences(pool: Sequence[PoolEntry]) -> dict[str, str]:
    """Return the sentence of the problem for each constraint, by its normalised name.

    Args:
        pool: Pool entries; the formalization has the form "name: LaTeX -- sentence".
    """
    sentence_of: dict[str, str] = {}
    for entry in pool:
        rows = entry.parsed.get("CONSTRAINTS") if isinstance(entry.parsed, dict) else None
        for row in rows if isinstance(rows, list) else ():
            name, _, rest = str(row).partition(":")
            if " -- " in rest and rest.rpartition(" -- ")[2].strip():
                sentence_of[plain_key(name)] = rest.rpartition(" -- ")[2].strip()
    return sentence_of


def row_sentences(result: FormulationResult) -> dict[str, str]:
    """Return the sentence of the problem by the name of a row; that of a checker counts before that of the program."""
    return {**constraint_sentences(result.pool), **(result.checks or {}).get("sentences", {})}


def add_sentences(milp: IndexedModel, sentence_of: Mapping[str, str]) -> IndexedModel:
    """Return the model; rows without a meaning get the sentence for their name."""
    rows = tuple(
        row
        if row.meaning
        else replace(row, meaning=sentence_of.get(row.name) or sentence_of.get(plain_key(row.name), ""))
        for row in milp.row_records
    )
    return milp.with_records(rows=rows)


def shown_families(result: FormulationResult, shown: Solution | None) -> tuple[DecisionFamily, ...]:
    """Return the decisions of a plan in the order of the data; empty without a plan."""
    if result.milp is None or shown is None:
        return ()
    return order_families(group_decisions(result, result.milp, shown), result.data)


def group_decisions(result: FormulationResult, milp: IndexedModel, solution: Solution) -> tuple[DecisionFamily, ...]:
    """Group the values of a solution by family, with the labels and units of the problem."""
    names = dict(_returned_names(result.columns))
    labels = data_labels(result)
    facts = _variable_facts(result.pool)
    returned = {path[-1] for path in _iterate_paths(result.columns)}
    # Variables that the program did not return are auxiliary variables.
    variables = [variable for variable in milp.variable_records if not returned or variable.name in returned]
    grouped = group_families(
        variables, solution.values, labels, {name: _indexed_name(path, labels) for name, path in names.items()}
    )
    by_name = {variable.name: variable for variable in milp.variable_records}
    return tuple(_describe_family(family, by_name, facts, result) for family in grouped)


def _describe_family(
    family: DecisionFamily,
    variables: Mapping[str, Variable],
    facts: Mapping[str, tuple[str, str]],
    result: FormulationResult,
) -> DecisionFamily:
    """Return a family with its unit, its kind, and the origin of its times."""
    unit, stated = facts.get(_first_word(family.name), ("", ""))
    unit = family.unit or unit
    members = [variables[name] for name in family.entries.values()]
    if stated in (DecisionKind.TIME, DecisionKind.CHOICE):
        kind = DecisionKind(stated)
    elif all(variable.is_within_binary and variable.is_integer for variable in members):
        kind = DecisionKind.YES_NO
    elif _is_time(family, unit, result):
        kind = DecisionKind.TIME
    elif result.is_schedule and not unit:
        # Whole numbers without a unit count things in a schedule, such as rooms.
        kind = DecisionKind.CHOICE
    else:
        kind = DecisionKind.AMOUNT
    return replace(family, unit=unit, kind=kind, scale=read_time_scale(unit) if kind is DecisionKind.TIME else None)


def _is_time(family: DecisionFamily, unit: str, result: FormulationResult) -> bool:
    """Return True if the values start or end intervals, have an origin, or are named as times."""
    sides = (side for interval in result.intervals for side in (interval.start, interval.end))
    if {name for side in sides for name in side.terms} & set(family.entries.values()):
        return True
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", family.name)]
    telling = [word for word in words if word not in TIME_WORDS]
    return read_time_scale(unit) is not None or (len(telling) == 1 and telling[0] in TIME_NAMES)


def data_labels(result: FormulationResult) -> dict[str, None]:
    """Return the names in the data and in the returned values, which may be indices of variables and rows."""
    labels = dict.fromkeys(islice(filter(_is_label, iterate_texts(result.data)), MAX_LABELS))
    inner = {label: None for path in _iterate_paths(result.columns) for label in path[1:-1] if _is_label(label)}
    joined = {label for label in inner if "," in label and all(_is_index(part, labels) for part in label.split(","))}
    return labels | dict(islice(((label, None) for label in inner if label not in joined), MAX_LABELS - len(labels)))


def _is_index(text: str, labels: Mapping[str, None]) -> bool:
    """Return True if a part of a joined key, such as ``Köln`` of ``Köln,W1``, is an index on its own."""
    return text.strip() in labels or text.strip().isdecimal()


def _is_label(text: str) -> bool:
    return 0 < len(text) <= MAX_LABEL_LENGTH and not text.isdecimal()


def _returned_names(columns: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield variables with the keys under which they were returned, if the keys are more informative than the names."""
    for path in _iterate_paths(columns):
        *keys, column = path
        first = keys[0].split(",")[0].translate(PULP)
        # Otherwise the key lacks a prefix of the variable's name.
        if column.find(first) <= 0:
            yield column, tuple(keys)


def _iterate_paths(columns: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the keys that lead to each variable, and its name."""
    if isinstance(columns, str):
        if above:
            yield (*above, columns)
        return
    if isinstance(columns, list):
        columns = dict(enumerate(columns))
    for key, item in columns.items() if isinstance(columns, dict) else ():
        yield from _iterate_paths(item, (*above, str(key)))


def _indexed_name(keys: tuple[str, ...], labels: Mapping[str, None]) -> str:
    """Return keys as one name with indices; a comma in a label is not a separator."""
    head, *rest = keys
    if rest:
        return f"{head}[{','.join(repr(key) if key in labels and ',' in key else key for key in rest)}]"
    return head


def _variable_facts(pool: Sequence[PoolEntry]) -> dict[str, tuple[str, str]]:
    """Return unit and kind by the first word of a variable's name, from "name: meaning, unit, kind, bounds"."""
    facts: dict[str, tuple[str, str]] = {}
    for entry in pool:
        listed = entry.parsed.get("VARIABLES") if isinstance(entry.parsed, dict) else None
        for entry_text in listed if isinstance(listed, list) else ():
            name, _, rest = str(entry_text).partition(":")
            parts = [part.strip() for part in rest.split(",")]
            kind = next((index for index, part in enumerate(parts) if KINDS.search(part)), 0)
            if kind >= 2:
                unit = parts[kind - 1] if re.search(r"[^\W_]|[%€$£]", parts[kind - 1]) else ""
                facts[_first_word(name)] = unit, parts[kind].lower()
    return facts


def _first_word(name: str) -> str:
    """Return the first word of a name without its indices, normalised for comparison."""
    word = WORDS.search(name)
    if word:
        return word[0].lower()
    return ""


def break_down(
    result: FormulationResult, shown: Solution | None
) -> tuple[tuple[ObjectivePart, ...], tuple[UseTable, ...]]:
    """Return the parts of the objective by kind, and the use of limits with the sentences that state them."""
    if result.milp is None or shown is None:
        return (), ()
    milp, labels = add_sentences(result.milp, row_sentences(result)), data_labels(result)
    families = (family for family in group_decisions(result, milp, shown) if family.kind in ADDED_NEVER)
    times = {name for family in families for name in family.entries.values()}
    # The objective of an incomplete plan is no result.
    parts = () if result.status == SolveStatus.INFEASIBLE else split_objective(milp, shown, labels, times)
    return parts, tabulate_use(milp, shown, labels)


def plan_schedule(result: FormulationResult, shown: Solution | None) -> PlanSchedule | None:
    """Return the intervals of a plan; None without intervals."""
    if result.milp is None or shown is None:
        return None
    return build_schedule(result.intervals, group_decisions(result, result.milp, shown), shown.values)
