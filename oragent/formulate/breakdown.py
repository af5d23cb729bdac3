"""Figures of a solution: parts of the objective, use of limits, and charts over time."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from oragent.formulate.aims import staged_objectives
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Row, Variable
from oragent.modelling.data.model_values import Relation
from oragent.modelling.data.solution import Solution
from oragent.report.pages.value_tables import NOISE, DecisionFamily, DecisionKind, group_families

# Maximum numbers of kinds of the objective, tables of limits, and rows of such a table.
MAX_KINDS, MAX_TABLES, MAX_ROWS = 12, 6, 60
# Minimum number of limits of a table, and of periods of a chart.
MIN_LIMITS, MIN_PERIODS = 2, 4
# Maximum numbers of charts, and of periods and lines of a chart.
MAX_CHARTS, MAX_PERIODS, MAX_SERIES = 4, 400, 6
# Title of the table of limits that do not belong to a kind.
SINGLE = "single limits"
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?")
# First three letters of weekdays and months in English and German.
WEEKDAYS = frozenset(["mon", "tue", "wed", "thu", "fri", "sat", "sun", "mo", "tu", "we", "th", "fr", "sa", "su"])
GERMAN_WEEKDAYS = frozenset(["mo", "di", "mi", "do", "fr", "sa", "so", "mon", "die", "mit", "don", "fre", "sam", "son"])
MONTHS = frozenset(
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mär", "mai", "okt", "dez"]
)
# Words before the number of a period; codes of other things have others.
PERIOD_WORDS = frozenset(["", "y", "year", "q", "quarter", "month", "w", "kw", "week", "day", "period"])
ADDED_NEVER = (DecisionKind.TIME, DecisionKind.CHOICE)
NUMBERED = re.compile(r"(\D*)(\d{1,6})")


@dataclass(frozen=True)
class ObjectivePart:
    """Part of the objective from one kind of variables.

    Attributes:
        name: Common name of the variables.
        share: Size relative to the largest part, from 0 to 1.
    """

    name: str
    value: float
    share: float


@dataclass(frozen=True)
class LimitUse:
    """Use of one limit: the value of its left side, and the limit."""

    label: str
    used: float
    limit: float

    @property
    def share(self) -> float:
        """Used share of the limit, from 0 to 1."""
        return min(1.0, max(0.0, self.used / self.limit))


@dataclass(frozen=True)
class UseTable:
    """Use of the limits of one kind, such as a capacity in each period."""

    name: str
    sentence: str
    rows: tuple[LimitUse, ...]
    # Number of limits that are not shown.
    omitted: int = 0


@dataclass(frozen=True)
class TimeChart:
    """Amounts of a family of decisions over periods.

    Attributes:
        series: Values by name; the last one may be the sum of all others that are too many to show.
    """

    name: str
    unit: str
    periods: tuple[str, ...]
    series: Mapping[str, tuple[float, ...]]


def split_objective(
    milp: IndexedModel, solution: Solution, labels: Iterable[str] = (), times: Collection[str] = ()
) -> tuple[ObjectivePart, ...]:
    """Return the parts of the most important objective by kind of variable, the largest first.

    Empty for a single kind, for a quadratic objective, and for one that adds up times.

    Args:
        milp: The model.
        solution: A solution with values.
        labels: Names in the data, which end the common name of variables.
        times: Variables that are times or choices.
    """
    objective = staged_objectives(milp)[0]
    if objective.quadratic or not solution.status.has_point:
        return ()
    priced = [variable for variable in milp.variable_records if objective.terms.get(variable.name)]
    if any(variable.name in times for variable in priced):
        return ()
    totals: dict[str, float] = {}
    for family in group_families(priced, solution.values, labels):
        worth = (objective.terms[name] * solution.values[name] for name in family.entries.values())
        totals[family.name] = totals.get(family.name, 0.0) + math.fsum(worth)
    if objective.constant:
        totals["constant"] = totals.get("constant", 0.0) + objective.constant
    ranked = sorted(((n, v) for n, v in totals.items() if abs(v) > NOISE), key=lambda item: -abs(item[1]))
    if len(ranked) > MAX_KINDS:
        rest = math.fsum(value for _, value in ranked[MAX_KINDS - 1 :])
        ranked = [*ranked[: MAX_KINDS - 1], ("others", rest)]
    if len(ranked) < 2:
        return ()
    largest = max(abs(value) for _, value in ranked)
    return tuple(ObjectivePart(name, value, abs(value) / largest) for name, value in ranked)


def tabulate_use(milp: IndexedModel, solution: Solution, labels: Iterable[str] = ()) -> tuple[UseTable, ...]:
    """Return the use of upper limits by kind, in the order of the model.

    A limit counts if its left side has no negative coefficient and its right side is positive and at least 2, so that
    choices of one among several are not shown as capacities.
    """
    if not solution.status.has_point:
        return ()
    limits = {row.name: row for row in milp.row_records if _is_capacity(row) and row.name in solution.activities}
    substitutes = [Variable(name) for name in limits]
    tables, single = [], []
    for family in group_families(substitutes, solution.activities, labels):
        rows = [
            LimitUse(" ".join(index) or family.name, solution.activities[name], limits[name].rhs)
            for index, name in family.entries.items()
        ]
        sentences = {limits[name].meaning for name in family.entries.values()}
        if len(rows) < MIN_LIMITS:
            single += rows
        elif any(row.used > NOISE for row in rows):
            sentence = sentences.pop() if len(sentences) == 1 else ""
            tables.append(UseTable(family.name, sentence, tuple(rows[:MAX_ROWS]), max(0, len(rows) - MAX_ROWS)))
    if single:
        tables.append(UseTable(SINGLE, "", tuple(single[:MAX_ROWS]), max(0, len(single) - MAX_ROWS)))
    return tuple(tables[-MAX_TABLES:])


def _is_capacity(row: Row) -> bool:
    return row.relation is Relation.AT_MOST and row.rhs >= 2 and len(row.terms) > 1 and min(row.terms.values()) > 0


def chart_families(families: Sequence[DecisionFamily]) -> tuple[TimeChart, ...]:
    """Return charts of the families of amounts that have one index of periods and at most one other index."""
    charts = []
    for family in families:
        used = family.nonzero_values.values()
        is_choice = all(abs(value - 1.0) < NOISE for value in used)
        # Adding up times or choices has no meaning.
        if family.index_count not in (1, 2) or is_choice or family.kind in ADDED_NEVER:
            continue
        for position in range(family.index_count):
            periods = _periods(family, position)
            if periods:
                charts.append(_chart_family(family, position, periods))
                break
    return tuple(charts[:MAX_CHARTS])


def _chart_family(family: DecisionFamily, position: int, periods: tuple[str, ...]) -> TimeChart:
    amounts: dict[str, dict[str, float]] = {}
    for index, value in family.nonzero_values.items():
        name = " ".join(label for axis, label in enumerate(index) if axis != position) or family.name
        amounts.setdefault(name, {})[index[position]] = value
    ranked = sorted(amounts, key=lambda name: -math.fsum(map(abs, amounts[name].values())))
    shown = [name for name in amounts if name in ranked[: MAX_SERIES if len(ranked) <= MAX_SERIES else MAX_SERIES - 1]]
    series = {name: tuple(amounts[name].get(period, 0.0) for period in periods) for name in shown}
    if len(shown) < len(ranked):
        rest = [amounts[name] for name in ranked if name not in shown]
        series["others"] = tuple(math.fsum(values.get(period, 0.0) for values in rest) for period in periods)
    return TimeChart(family.name, family.unit, periods, series)


def find_periods(family: DecisionFamily) -> tuple[int, tuple[str, ...]] | None:
    """Return the position and the ordered labels of the index that holds periods; None unless exactly one does."""
    indices = []
    for position in range(family.index_count):
        periods = _periods(family, position)
        key = _time_key(periods[0]) if periods else None
        prefix = key[0].removeprefix("number").strip(" _-").lower() if key is not None else ""
        if periods and (key is None or prefix in PERIOD_WORDS or not key[0].startswith("number")):
            indices.append((position, periods))
    return indices[0] if len(indices) == 1 else None


def _periods(family: DecisionFamily, position: int) -> tuple[str, ...]:
    """Return the labels of an index in the order of time, or of the program for weekdays and months.

    Empty for labels that are not times.
    """
    labels = list(dict.fromkeys(index[position] for index in family.entries))
    names = [re.split(r"[\W\d_]", label.strip().lower())[0][:3] for label in labels]
    if MIN_PERIODS <= len(labels) <= MAX_PERIODS and any(
        set(names) <= words for words in (WEEKDAYS, GERMAN_WEEKDAYS, MONTHS)
    ):
        return tuple(labels)
    keys = [_time_key(label) for label in labels]
    if not MIN_PERIODS <= len(labels) <= MAX_PERIODS or None in keys:
        return ()
    sortable = [key for key in keys if key is not None]
    if len({key[0] for key in sortable}) > 1 or len(set(sortable)) < len(sortable):
        return ()
    ordered = sorted(sortable)
    # Numbers are periods only without gaps, since sizes and codes have some.
    if ordered[0][0].startswith("number") and ordered[-1][1] - ordered[0][1] != len(ordered) - 1:
        return ()
    by_key = dict(zip(sortable, labels, strict=True))
    return tuple(by_key[key] for key in ordered)


def _time_key(label: str) -> tuple[str, int] | None:
    """Return kind and position in time of a label."""
    text = label.strip()
    if DATE.fullmatch(text):
        try:
            return "date", date.fromisoformat(text).toordinal()
        except ValueError:
            return None
    if clock := CLOCK.fullmatch(text):
        return "clock", 60 * int(clock[1]) + int(clock[2])
    if numbered := NUMBERED.fullmatch(text):
        return f"number {numbered[1]}", int(numbered[2])
    return None
