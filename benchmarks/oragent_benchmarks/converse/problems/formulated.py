"""Any optimisation model as a decision problem: variables can be fixed or forbidden, rows and objectives bounded.

It is also a base class for custom problems: pass a model and its objectives, and override methods for better texts.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from oragent._base.errors import ConfigError, ModellingError
from oragent._base.text_format import one_line
from oragent.converse.prompting import quote_line
from oragent.modelling.data.display import number
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Row
from oragent.modelling.data.model_values import INFINITY, Relation, Sense
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.model_solving import breaches
from oragent_benchmarks.converse.decision import (
    Goal,
    ProposedDecisions,
    Solved,
    Vocabulary,
    format_figure,
    unknown_name_error,
)
from oragent_benchmarks.converse.problems.programs import ProgramForm
from oragent_benchmarks.converse.problems.reply_formats import escape_cell, read_objects, read_tables
from oragent_benchmarks.converse.prompting import fill_template
from oragent_benchmarks.converse.solving import begin, by_milp, find_extreme
from oragent_benchmarks.converse.state import RestrictionState

LIMIT_S = 12.0
NONZERO = 1e-9
# Maximum numbers of variables in a table, and of rows below it.
MAX_SHOWN, MAX_ROWS = 60, 12
# Maximum number of variables that can be bounded by name.
MAX_BOUNDED = 5000
# Maximum numbers of rows and variables in a description, and of terms of one row.
MAX_DESCRIBED, MAX_TERMS = 200, 40
DIGITS = 9


class FormulatedProblem:
    """Decision problem of a model.

    Args:
        milp: Model of the problem.
        goals: Objectives; empty for the objective of the model. Rows with terms are additional named expressions.
        name: Name of the problem; empty for the name of the model.
        limit_s: Seconds of a solve.
    """

    protected: tuple[str, ...] = ()

    def __init__(
        self, milp: IndexedModel, goals: Sequence[Goal] = (), name: str = "", limit_s: float = LIMIT_S
    ) -> None:
        self.base, self.limit_s = milp, limit_s
        self.name = name or milp.name or "model"
        first = tuple(goals) or (_objective_goal(milp),)
        taken = {word for goal in first for word in (goal.name, goal.word)}
        senses = {Relation.AT_LEAST: Sense.MAXIMIZE}
        rows = tuple(
            Goal(row.name, row.name, "", row.terms, meaning=row.meaning, sense=senses.get(row.relation, Sense.MINIMIZE))
            for row in milp.row_records
            if row.terms and row.name not in taken
        )
        taken |= {row.name for row in rows}
        variable_goals = tuple(
            Goal(variable.name, variable.name, variable.unit, {variable.name: 1.0}, meaning=variable.meaning)
            for variable in milp.variable_records[:MAX_BOUNDED]
            if not variable.is_binary and variable.name not in taken
        )
        self.goals, self.expressions = len(first), (*first, *rows, *variable_goals)
        self._limits = {row.name: row.limits for row in milp.row_records}
        bounds = {variable.name: (variable.low, variable.high) for variable in milp.variable_records}
        self._limits |= {goal.name: bounds[goal.name] for goal in variable_goals}
        self.protected = tuple(row.name for row in milp.row_records)
        self.vocabulary = Vocabulary("fix_variable", "variable", "value", lower_bounds=True)
        self._variables = {variable.name: variable for variable in milp.variable_records}

    def limits(self, name: str) -> tuple[float, float] | None:
        """Return the model's own limits of a row or variable among the expressions; None if it sets no limit."""
        limits = self._limits.get(name)
        if limits in (None, (-INFINITY, INFINITY)):
            return None
        return limits

    def extreme(self, state: RestrictionState, position: int, sense: Sense) -> Solved:
        """Return the smallest or largest value of an expression in a state, with the best decision that reaches it."""
        return find_extreme(self, state, position, sense, self.limit_s)

    @cached_property
    def first(self) -> Solved:
        """Optimum of the unchanged model.

        Raises:
            ModellingError: The model has no solution.
        """
        solved = self.solve(begin(self))
        if not solved.decision:
            words = {
                SolveStatus.UNBOUNDED: "has no optimum: its objective improves without end",
                SolveStatus.UNKNOWN: "could not be solved in time",
            }.get(solved.status, "is infeasible")
            raise ModellingError(
                f"{one_line(self.name, 60)} {words}; 'oragent solve --explain' says why: correct the model first"
            )
        return solved

    @property
    def default(self) -> str:
        """Opening solution of a conversation."""
        return self.first.decision

    def item(self, text: str) -> str:
        """Return the variable with this name."""
        if text.strip() in self._variables:
            return text.strip()
        near = [name for name in self._variables if name.casefold() == text.strip().casefold()]
        if len(near) == 1:
            return near[0]
        raise unknown_name_error(text, list(self._variables), "variable")

    def option(self, item: str, text: str) -> str:
        """Return the value in a text.

        Raises:
            ConfigError: The text is not a number, or the variable cannot have this value.
        """
        variable = self._variables[item]
        try:
            value = float(text.replace(",", ""))
        except ValueError:
            raise ConfigError(f"{text[:40]!r} is not a value of {one_line(item, 60)}; expected a number") from None
        if not variable.low <= value <= variable.high or (variable.is_integer and value != round(value)):
            whole = "a whole number " if variable.is_integer else ""
            ends = f"{variable.low:g} to {variable.high:g}"
            raise ConfigError(f"{value:g} is not a value of {one_line(item, 60)}; expected {whole}from {ends}")
        return f"{value:.12g}"

    def options(self, item: str) -> tuple[str, ...]:
        """Return both values of a binary variable."""
        if self._variables[item].is_binary:
            return ("0", "1")
        return ()

    def short(self, item: str) -> str:
        """Return the name."""
        return item

    def rows(self, item: str, option: str, forbid: bool) -> tuple[Row, ...]:
        """Return the rows that fix a variable at a value, or exclude the value.

        Raises:
            ConfigError: The excluded value is inside of the range of the variable.
        """
        value, variable = float(option), self._variables[item]
        if not forbid:
            return (Row(f"fix {item}", {item: 1.0}, Relation.EQUAL, value),)
        name = f"forbid {item} = {option}"
        if value == variable.low and variable.is_integer:
            return (Row(name, {item: 1.0}, Relation.AT_LEAST, value + 1),)
        if value == variable.high and variable.is_integer:
            return (Row(name, {item: 1.0}, Relation.AT_MOST, value - 1),)
        raise ConfigError(
            f"{one_line(item, 60)} = {option} cannot be forbidden: only the least or largest value of a whole-numbered "
            "variable can; bound an expression instead"
        )

    def decision(self, values: Mapping[str, float]) -> str:
        """Return the nonzero values as JSON."""
        rounded = {
            variable.name: round(float(values.get(variable.name, 0.0)), DIGITS) + 0.0
            for variable in self.base.variable_records
        }
        return json.dumps({name: value for name, value in rounded.items() if abs(value) > NONZERO}, ensure_ascii=False)

    def features(self, decision: str) -> tuple[float, ...]:
        """Return the values of all expressions."""
        values = self.values(decision)
        return tuple(
            goal.scale * (goal.constant + sum(value * values.get(name, 0.0) for name, value in goal.terms.items()))
            for goal in self.expressions
        )

    def values(self, decision: str) -> dict[str, float]:
        """Return a decision as values by variable, without zeros."""
        return {str(name): float(value) for name, value in json.loads(decision).items()}

    def headline(self, decision: str) -> str:
        """Return an empty headline, because a decision has too many values."""
        return ""

    def render(self, decision: str) -> str:
        """Return a table of the nonzero variables, and the objectives."""
        values, features = self.values(decision), self.features(decision)
        lines = ["| Variable | Value | Unit | Meaning |", "|---|---|---|---|"]
        for name, value in list(values.items())[:MAX_SHOWN]:
            variable = self._variables[name]
            unit, meaning = _escape_cell(variable.unit), _escape_cell(variable.meaning)
            lines.append(f"| {_escape_cell(name)} | {format_figure(value)} | {unit} | {meaning} |")
        hidden = len(values) - MAX_SHOWN
        if hidden > 0:
            lines += [f"({hidden} more variables are not 0.)"]
        rest = self.base.shape[1] - len(values)
        lines += ["", *([f"Every other variable is 0 ({rest} of them)."] if rest else [])]
        objectives = [
            f"{_escape_cell(goal.word)} {format_figure(value)} {_escape_cell(goal.unit)}".strip()
            for goal, value in zip(self.expressions[: self.goals], features, strict=False)
        ]
        return "\n".join([*lines, f"Objectives: {'; '.join(objectives)}.", *self._describe_rows(features)])

    def _describe_rows(self, features: Sequence[float]) -> list[str]:
        """Describe the activity and the limits of the first rows."""
        named = zip(self.expressions[self.goals :], features[self.goals :], strict=True)
        rows = set(self.base.flat_row_names)
        row_texts = [
            f"{_escape_cell(goal.word)} {format_figure(value)} (must be {_limits_in_words(*limits, format_figure)})"
            for goal, value in named
            if goal.name in rows and (limits := self.limits(goal.name))
        ]
        # More informative limits come first.
        row_texts.sort(key=lambda text: text.endswith((" = 0)", " <= 0)", " >= 0)")))
        hidden = len(row_texts) - MAX_ROWS
        more = f"; and {hidden} more" if hidden > 0 else ""
        if row_texts:
            return [f"Rows: {'; '.join(row_texts[:MAX_ROWS])}{more}."]
        return []

    def read(self, text: str) -> ProposedDecisions:
        """Read complete decisions from JSON objects, or from tables of variables and values; missing values are 0.

        A decision is complete if it satisfies the base model; otherwise its first violation is reported.
        """
        decisions: dict[str, None] = {}
        problems: dict[str, None] = {}
        for pairs in [*_read_tables(text), *read_objects(text)]:
            matching = [(name, value) for name, value in pairs if name in self._variables]
            if not matching:
                continue
            strange = [name for name, _ in pairs if name not in self._variables]
            values = dict(matching)
            if strange:
                problems[str(unknown_name_error(strange[0], list(self._variables), "variable"))] = None
            elif len(values) < len(matching):
                problems[f"{one_line(matching[0][0], 60)} or another variable has two values; expected one"] = None
            elif broken := breaches(self.base, values):
                problems[f"the values break {broken[0].sentence}"] = None
            else:
                decisions[self.decision(values)] = None
        return ProposedDecisions(tuple(decisions), tuple(problems))

    def chosen(self, decision: str) -> Mapping[str, str]:
        """Return the value of each variable."""
        values = self.values(decision)
        return {variable.name: format_figure(values.get(variable.name, 0.0)) for variable in self.base.variable_records}

    def setting(self) -> str:
        """Describe the model to an optimisation agent."""
        lines = [
            f"{goal.sense} {quote_line(goal.name)}{f' ({quote_line(goal.unit)})' if goal.unit else ''}: "
            f"{linear_words(goal.terms)}{f' + {goal.constant:g}' if goal.constant else ''}"
            f"{f' ({quote_line(goal.meaning)})' if goal.meaning else ''}"
            for goal in self.expressions[: self.goals]
        ]
        title = "Objective" if self.goals == 1 else f"{self.goals} objectives"
        return fill_template(
            "setting_model",
            name=quote_line(self.name),
            count=self.base.shape[1],
            meaning=quote_line(self.base.meaning),
            objectives="\n".join(f"{title}: {text}" if index == 0 else text for index, text in enumerate(lines)),
            model="\n".join(_describe_model(self.base)),
            table=self.render(self.default),
        )

    def known(self) -> str:
        """Describe the problem to a decision agent."""
        return self.render(self.default)

    @property
    def program(self) -> ProgramForm:
        """Raise an error: agents that write programs support only districts.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(f"no agent writes programs for {one_line(self.name, 60)}: choose T-P-P or rules")

    def solve(self, state: RestrictionState) -> Solved:
        """Solve a state within ``limit_s``."""
        return by_milp(self, state, self.limit_s)


def _objective_goal(milp: IndexedModel) -> Goal:
    objective = milp.objective_record
    is_variable = objective.terms == {objective.name: 1.0} and not objective.constant
    taken = set(milp.flat_row_names) | {
        variable.name for variable in milp.variable_records if not (is_variable and variable.name == objective.name)
    }
    word = objective.name if objective.name and objective.name not in taken else "objective"
    return Goal(
        "objective",
        word,
        objective.unit,
        objective.terms,
        objective.constant,
        sense=milp.sense,
        meaning=objective.meaning or objective.name,
    )


def _describe_model(milp: IndexedModel) -> Iterator[str]:
    """Describe the rows and variables of a model; only the first ones of a large model."""
    yield f"Rows ({milp.shape[0]}):"
    for row in milp.row_records[:MAX_DESCRIBED]:
        meaning = f" ({quote_line(row.meaning)})" if row.meaning else ""
        yield f"- {quote_line(row.name)}: {linear_words(row.terms)} {_limits_in_words(*row.limits)}{meaning}"
    yield f"Variables ({milp.shape[1]}):"
    for variable in milp.variable_records[:MAX_DESCRIBED]:
        whole = "whole number " if variable.is_integer else ""
        kind = "0 or 1" if variable.is_binary else f"{whole}{_limits_in_words(variable.low, variable.high)}"
        unit = f", {quote_line(variable.unit)}" if variable.unit else ""
        meaning = f" ({quote_line(variable.meaning)})" if variable.meaning else ""
        yield f"- {quote_line(variable.name)}: {kind}{unit}{meaning}"


def linear_words(terms: Mapping[str, float]) -> str:
    """Write a linear expression such as ``4 tables + 6 chairs``; shorten a long one to its first terms."""
    parts = [
        f"{'-' if value < 0 else '+'} {'' if abs(value) == 1 else f'{number(abs(value))} '}{quote_line(name)}"
        for name, value in list(terms.items())[:MAX_TERMS]
    ]
    more = f" + {len(terms) - MAX_TERMS} more terms" if len(terms) > MAX_TERMS else ""
    return f"{' '.join(parts).removeprefix('+ ') or '0'}{more}"


def _read_tables(text: str) -> list[list[tuple[str, float]]]:
    tabled = []
    for table in read_tables(text):
        heads = [head.casefold() for head in table.header]
        if "variable" in heads and "value" in heads:
            name, value = heads.index("variable"), heads.index("value")
            pairs = [(row[name], _parse_number(row[value])) for row in table.rows]
            tabled.append([(key, number) for key, number in pairs if number is not None])
    return tabled


def _parse_number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _escape_cell(text: str) -> str:
    return escape_cell(one_line(text, 80))


def _limits_in_words(low: float, high: float, write: Callable[[float], str] = number) -> str:
    """Write limits in words: ``<= 40``, ``= 3``, ``2 to 8`` or ``without limit``."""
    if low == high:
        return f"= {write(low)}"
    if math.isfinite(low) and math.isfinite(high):
        return f"{write(low)} to {write(high)}"
    if math.isfinite(high):
        return f"<= {write(high)}"
    if math.isfinite(low):
        return f">= {write(low)}"
    return "without limit"
