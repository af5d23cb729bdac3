"""Mock models that know the gold formulations of a set: ``oracle``, ``planted``, ``misread``, ``scripted``.

``planted:all`` plants each single error in a separate case. The models answer every role of every method, so that
commands, ablations and checks can be tested without a server.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from oragent._base.errors import ConfigError, ModelError
from oragent.formulate.options import ALL
from oragent.formulate.problem import DEFAULT
from oragent.ledger.replies import KEY
from oragent.llm.model import Model, Reply, Request, estimate_tokens
from oragent.modelling.data.display import quoted
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_values import Relation, Sense
from oragent_benchmarks.formulate.labelled import Labelled, ProblemSet

PROGRAM = '''import pulp

PARAMETERS = {parameters!r}
RELATIONS = {{"<=": pulp.LpConstraintLE, ">=": pulp.LpConstraintGE, "=": pulp.LpConstraintEQ}}


def {function}(data):
    """Build the model out of the data, solve it, return its variables."""
    given = {{name: data.get(name, value) for name, value in PARAMETERS.items()}}
    problem = pulp.LpProblem("model", pulp.{sense})
    x = {{}}
    for name, (column, low, high, whole) in {variables!r}.items():
        low, high = given["Least"].get(name, low), given["Most"].get(name, high)
        x[name] = pulp.LpVariable(column, low, high, cat="Integer" if whole else "Continuous")
    problem += pulp.lpSum(value * x[name] for name, value in given["Worth"].items()) + given["Constant"]
    for row, (relation, terms) in {rows!r}.items():
        left = pulp.LpAffineExpression([(x[name], given["Coefficients"][row][name]) for name in terms])
        problem += pulp.LpConstraint(left, RELATIONS[relation], row, given["Limits"][row])
    problem.solve()
    return {{
        "status": pulp.LpStatus[problem.status],
        "objective_value": pulp.value(problem.objective),
        "optimized_vars": x,
    }}
'''
CHECKER = """PARAMETERS = {parameters!r}


def checks(values, data):
    given = {{name: data.get(name, value) for name, value in PARAMETERS.items()}}
    for row, (relation, terms, sentence) in {rows!r}.items():
        left = sum(given["Coefficients"][row][name] * values[name] for name in terms)
        yield (row, left, relation, given["Limits"][row], sentence)
    for name, (_, low, high, whole) in {variables!r}.items():
        low, high = given["Least"].get(name, low), given["Most"].get(name, high)
        if low is not None:
            yield ("least " + name, values[name], ">=", low, "")
        if high is not None:
            yield ("most " + name, values[name], "<=", high, "")
        if whole:
            yield ("whole " + name, values[name], "integer", None, "")
    worth = sum(value * values[name] for name, value in given["Worth"].items()) + given["Constant"]
    yield ("objective", worth, {sense!r}, None, "")
"""


FEEDBACK = re.compile(r"<feedback>\n(.*?)\n</feedback>", re.DOTALL)
OPPOSITE = {Relation.AT_MOST: Relation.AT_LEAST, Relation.AT_LEAST: Relation.AT_MOST, Relation.EQUAL: Relation.AT_LEAST}
# Replacement by PuLP of special characters in names.
PULP = str.maketrans("-+[] ->/", "________")
# Roles whose prompts describe an error.
MENDING = ("supervisor_backward", "counterfactual", "optimus_debug")
WORDS = {
    "conductor": "the first of them",
    "reviewer": "It says what the problem says.",
    "syntax_analysis": "1. A name. 2. The line that is named.",
    "unite": "all of them",
    "score": "7",
    "reflection": "Read every sentence of the problem once more.",
    "coe_conductor": "the first of them",
}
STRUCTURED: Mapping[str, Any] = {
    "propose": ["as the problem says", "in another way", "in a third way"],
    "optimus_extract": {"variables": ["x"], "constraints": ["a limit"], "objective": "make it large"},
    "coe_backward": {"caused_by_me": False, "reason": "", "refined": "as before"},
}
UNITS = {
    "Worth": "money per unit",
    "Constant": "money",
    "Coefficients": "amount per unit",
    "Limits": "amount",
    "Least": "unit",
    "Most": "unit",
}
# Share of the cases in which ``misread`` misreads a figure.
MISREAD = 0.5
# Shares of the cases in which the first reply of ``scripted`` is wrong: by an exception, by a planted error.
BROKEN, PLANTED = 0.25, 0.5


def parameters_of(milp: IndexedModel) -> dict[str, Any]:
    """Return the figures of a model by parameter, without coefficients that matter only by sign or kind."""
    return {
        "Worth": dict(milp.objective_record.terms),
        "Constant": milp.objective_record.constant,
        "Coefficients": {row.name: dict(row.terms) for row in milp.row_records},
        "Limits": {row.name: row.rhs for row in milp.row_records},
        "Least": {
            variable.name: variable.low
            for variable in milp.variable_records
            if math.isfinite(variable.low) and variable.low != 0
        },
        "Most": {variable.name: variable.high for variable in milp.variable_records if math.isfinite(variable.high)},
    }


def program_of(
    milp: IndexedModel, parameters: Mapping[str, Any] | None = None, function: str = DEFAULT.function
) -> str:
    """Return a program that builds a model from its data. Without data, the program contains the figures."""
    rows = {row.name: (str(row.relation), tuple(row.terms)) for row in milp.row_records}
    return PROGRAM.format(
        parameters=dict(parameters or parameters_of(milp)),
        variables=_program_variables(milp),
        rows=rows,
        function=function,
        sense="LpMinimize" if milp.sense is Sense.MINIMIZE else "LpMaximize",
    )


def checker_of(milp: IndexedModel) -> str:
    """Return a checker of a model's rows, bounds, integrality and objective."""
    rows = {row.name: (str(row.relation), tuple(row.terms), row.meaning) for row in milp.row_records}
    return CHECKER.format(
        parameters=parameters_of(milp), variables=_program_variables(milp), rows=rows, sense=str(milp.sense)
    )


def _program_variables(milp: IndexedModel) -> dict[str, tuple[str, float | None, float | None, bool]]:
    """Return column, bounds and integrality by name. Names that are not identifiers get other column names."""

    def finite_or_none(value: float) -> float | None:
        if math.isfinite(value):
            return value
        return None

    variables: dict[str, tuple[str, float | None, float | None, bool]] = {}
    taken: set[str] = set()
    for index, variable in enumerate(milp.variable_records):
        word = variable.name.replace(" ", "_")
        column = word if word.isidentifier() and word.isascii() and word not in taken else f"x_{index}"
        taken.add(column)
        variables[variable.name] = (
            column,
            finite_or_none(variable.low),
            finite_or_none(variable.high),
            variable.is_integer,
        )
    return variables


class Fault(StrEnum):
    """Kind of error in a program."""

    # A row is missing.
    DROP = "drop"
    # The relation of a row is reversed.
    FLIP = "flip"
    # Fractions are allowed.
    INTEGRALITY = "integrality"
    # A figure is replaced by another figure of the text.
    MISREAD = "misread"


@dataclass(frozen=True)
class Error:
    """An error to be planted."""

    fault: Fault
    # Name of the row. Empty for integrality and for figures of the objective.
    row: str = ""
    # Variable whose coefficient is misread. Empty for a right-hand side.
    variable: str = ""
    figure: float = 0.0

    def __str__(self) -> str:
        return f"{self.fault} {self.row or 'objective' * (self.fault is Fault.MISREAD)} {self.variable}".strip()


def errors_of(milp: IndexedModel) -> list[Error]:
    """Return all single errors that can be planted in a model."""
    rows = milp.flat_row_names
    whole = [Error(Fault.INTEGRALITY)] if milp.has_integers else []
    return [Error(fault, row) for fault in (Fault.DROP, Fault.FLIP) for row in rows] + whole


def misreadings_of(milp: IndexedModel) -> list[Error]:
    """Return all figures of a model, each with the other figure of the model that replaces it."""
    places = [("", name, value) for name, value in milp.objective_record.terms.items()]
    for row in milp.row_records:
        places += [(row.name, name, value) for name, value in row.terms.items()] + [(row.name, "", row.rhs)]
    figures = sorted({abs(value) for _, _, value in places if abs(value) not in (0.0, 1.0)})
    errors = []
    for row_name, variable, value in places:
        others = [figure for figure in figures if figure != abs(value)]
        if abs(value) in figures and others:
            near = min(others, key=lambda figure: (abs(figure - abs(value)), figure))
            errors.append(Error(Fault.MISREAD, row_name, variable, near if value > 0 else -near))
    return errors


def plant_error(milp: IndexedModel, error: Error) -> IndexedModel:
    """Return the model with an error in it."""
    if error.fault is Fault.MISREAD:
        return _misread_figure(milp, error)
    if error.fault is Fault.INTEGRALITY:
        return milp.without_integrality()
    if error.fault is Fault.DROP:
        return milp.with_records(rows=tuple(row for row in milp.row_records if row.name != error.row))
    rows = (replace(row, relation=OPPOSITE[row.relation]) if row.name == error.row else row for row in milp.row_records)
    return milp.with_records(rows=tuple(rows))


def _misread_figure(milp: IndexedModel, error: Error) -> IndexedModel:
    if not error.row:
        terms = {**milp.objective_record.terms, error.variable: error.figure}
        return milp.with_records(objective=replace(milp.objective_record, terms=terms))
    changes: dict[str, Any] = {"rhs": error.figure}
    rows = []
    for row in milp.row_records:
        if error.variable:
            changes = {"terms": {**row.terms, error.variable: error.figure}}
        rows.append(replace(row, **changes) if row.name == error.row else row)
    return milp.with_records(rows=tuple(rows))


class GoldModel:
    """Mock model that writes the gold formulation, or one with an error until the feedback names this error.

    Args:
        golds: Model by the name of the case.
        errors: Error by the name of the case; other cases get the gold formulation.
        broken: Names of cases whose first program raises an exception.
    """

    def __init__(
        self,
        golds: Mapping[str, IndexedModel],
        errors: Mapping[str, Error] | None = None,
        name: str = "oracle",
        broken: frozenset[str] = frozenset(),
    ) -> None:
        self._golds, self._errors, self._name, self._broken = golds, errors or {}, name, broken
        self.calls = 0

    async def __call__(self, request: Request, /) -> Reply:
        """Answer in the request's role."""
        self.calls += 1
        key_match = KEY.fullmatch(request.key)
        case = key_match["case"] if key_match else request.key
        if case not in self._golds:
            raise ModelError(
                f"the model {self._name!r} has no gold formulation of {case!r}: name another model with --model"
            )
        text = self._write_reply(request, self._golds[case], self._errors.get(case))
        if case in self._broken and request.role not in MENDING:
            text = text.replace("    problem.solve()", "    problem.solve(missing)")
        prompt_tokens = sum(estimate_tokens(message.content) for message in request.messages)
        return Reply(
            text, tokens_in=prompt_tokens, tokens_out=estimate_tokens(text), money=0.0, seconds=0.0, model=self._name
        )

    def _write_reply(self, request: Request, gold: IndexedModel, error: Error | None) -> str:
        role = request.role
        # Every role that reads a figure misreads it.
        if role == "semantic_encoder":
            is_misread = error is not None and error.fault is Fault.MISREAD
            read = plant_error(gold, error) if error is not None and is_misread else gold
            return _fence("json", json.dumps(_encode_parameters(read)))
        if role == "formalization":
            return _fence("json", json.dumps(_formalize_gold(gold)))
        if role == "terminology":
            return _fence("json", json.dumps([{"terminology": "row", "interpretation": "a constraint"}]))
        if role in STRUCTURED:
            return _fence("json", json.dumps(STRUCTURED[role]))
        if role in WORDS:
            return WORDS[role]
        if role == "counterfactual":
            return _fence("python", checker_of(gold))
        if error is not None and error.fault is Fault.MISREAD and role == "program":
            # Without an encoder, the program contains the misread figure.
            return _fence("python", program_of(plant_error(gold, error)))
        if error is not None and not _names_error(request.messages[0].content, gold, error):
            return _fence("python", program_of(plant_error(gold, error), parameters_of(gold)))
        right = program_of(gold)
        # The data contain the figures of the encoder.
        if error is not None and error.fault is Fault.MISREAD:
            right = right.replace("data.get(name, value)", "value")
        return _fence("python", right)


def seed_errors(
    cases: Mapping[str, IndexedModel], seed: int, find: Callable[[IndexedModel], list[Error]] = errors_of
) -> dict[str, Error]:
    """Draw one error per case from all possible errors."""
    errors = {}
    for name, milp in cases.items():
        every = find(milp)
        if every:
            errors[name] = every[int(np.random.default_rng([seed, *name.encode()]).integers(len(every)))]
    return errors


def misread_cases(cases: Mapping[str, IndexedModel], seed: int) -> dict[str, Error]:
    """Return one misread figure for a fixed share of the cases, which are chosen by name."""
    drawn = {name: float(np.random.default_rng([seed, 2, *name.encode()]).random()) for name in cases}
    return seed_errors({name: milp for name, milp in cases.items() if drawn[name] < MISREAD}, seed, misreadings_of)


def _names_error(prompt: str, gold: IndexedModel, error: Error) -> bool:
    """Return True if the feedback in a prompt names the error."""
    feedback = FEEDBACK.search(prompt)
    if feedback is None:
        return False
    if not error.row and error.fault is Fault.MISREAD:
        return "objective" in feedback[1]
    if error.fault is Fault.INTEGRALITY:
        names = [f"whole {variable.name}" for variable in gold.variable_records]
        return any(quoted(name) in feedback[1] for name in names)
    return quoted(error.row) in feedback[1] or quoted(error.row.translate(PULP)) in feedback[1]


def _encode_parameters(gold: IndexedModel) -> dict[str, Any]:
    return {
        name: {"Type": "float", "Definition": name.lower(), "Unit": UNITS[name], "Kind": "vector", "Value": value}
        for name, value in parameters_of(gold).items()
    }


def _formalize_gold(gold: IndexedModel) -> dict[str, Any]:
    return {
        "VARIABLES": [f"{variable.name}: {variable.kind}" for variable in gold.variable_records],
        "CONSTRAINTS": [f"{row.name}: {row.relation} {row.rhs} -- {row.meaning}" for row in gold.row_records],
        "OBJECTIVE": f"{gold.sense}",
        "UNIT": "money",
    }


def _fence(tag: str, text: str) -> str:
    return f"```{tag}\n{text}\n```"


@dataclass(frozen=True)
class StandIn:
    """A set with a mock model that knows its answers."""

    cases: ProblemSet
    model: Model
    errors: Mapping[str, Error] = field(default_factory=dict)


def expand_errors(cases: ProblemSet) -> tuple[ProblemSet, dict[str, Error]]:
    """Return the set with one copy of each case for each error that can be planted in its gold formulation."""
    expanded: list[Labelled] = []
    errors: dict[str, Error] = {}
    for case in cases.supported:
        for index, error in enumerate(errors_of(case.gold) if case.gold is not None else ()):
            name = f"{case.problem.name}-e{index}"
            errors[name] = error
            expanded.append(replace(case, problem=replace(case.problem, name=name)))
    return replace(cases, cases=tuple(expanded), title=f"{len(expanded)} single errors in {cases.title}"), errors


def open_stand_in(name: str, cases: ProblemSet, seed: int) -> StandIn:
    """Return the mock model of that name for a set."""
    errors: dict[str, Error] = {}
    if name == ALL:
        cases, errors = expand_errors(cases)
    golds = {case.problem.name: case.gold for case in cases.supported if case.gold is not None}
    missing = [case.problem.name for case in cases.supported if case.gold is None]
    if missing:
        raise ConfigError(
            f"the model {name!r} needs gold formulations, and {cases.name} has none of {missing[0]!r}: name another "
            "--model, or another --set"
        )
    broken: frozenset[str] = frozenset()
    if name == "planted":
        errors = seed_errors(golds, seed)
    elif name == "misread":
        errors = misread_cases(golds, seed)
    elif name == "scripted":
        drawn = {case: float(np.random.default_rng([seed, 1, *case.encode()]).random()) for case in golds}
        broken = frozenset(case for case, share in drawn.items() if share < BROKEN)
        errors = {
            case: error for case, error in seed_errors(golds, seed).items() if BROKEN <= drawn[case] < BROKEN + PLANTED
        }
    return StandIn(cases, GoldModel(golds, errors, name, broken), errors)
