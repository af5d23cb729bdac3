"""Agents with a model on what-if questions: by tools that change data and rows by name, or by a program."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from oragent._base.errors import ConfigError, OragentError
from oragent.converse.agents.guests import Guests
from oragent.converse.agents.model_agents import MOST_ROUNDS, ROLE
from oragent.converse.decision import unknown_name_error
from oragent.converse.problems.programs import ProgramForm
from oragent.converse.prompting import fill_template
from oragent.evals.converse.whatif.questions import AnswerStatus, Question, WhatIfAnswer
from oragent.evals.converse.whatif.textbooks import BASE, Key, WhatIfChange, build_textbook, plain_data, solve_changed
from oragent.llm.dialogue import Asker, ToolRounds, work_with_tools
from oragent.llm.model import Message, Tool, ToolCall
from oragent.milp import Relation, Row
from oragent.milp import SolveStatus as Solved
from oragent.milp.mathematics import to_latex
from oragent.milp.solving import solve

TEXTS = {"type": "array", "items": {"type": "string"}}
TERMS = {"type": "object", "additionalProperties": {"type": "number"}}
SOLVE_S = 20.0


async def by_tools(question: Question, asker: Asker) -> WhatIfAnswer | None:
    """T-P-P: what its last call of the solver came to; None where it never called it."""
    hands = _Hands(question.model)
    prompt = fill_template("whatif_tools", model=_describe_data(question.model))
    return await _ask_model(question, asker, prompt, hands.tools, hands)


async def by_program(question: Question, asker: Asker, guests: Guests) -> WhatIfAnswer | None:
    """C-P-P: what the model of its last program came to."""
    hands = _Programs(question.model, guests)
    prompt = fill_template("whatif_program", model=_describe_data(question.model), program=PROGRAM)
    return await _ask_model(question, asker, prompt, (SUBMIT,), hands)


async def _ask_model(
    question: Question, asker: Asker, prompt: str, tools: tuple[Tool, ...], hands: "_Hands | _Programs"
) -> WhatIfAnswer | None:
    messages = [Message("system", prompt), Message("user", question.text)]
    await work_with_tools(
        lambda sent, tools: asker.ask(ROLE, sent, 0.0, tools), messages, tools, hands, ToolRounds(MOST_ROUNDS)
    )
    return hands.answer


@dataclass
class _Hands:
    """Tools over one textbook model."""

    model: str
    data: dict[tuple[str, Key], float] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    answer: WhatIfAnswer | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools as a model is told of them."""
        table = {"type": "string", "enum": list(BASE[self.model])}
        relation = {"type": "string", "enum": [str(relation) for relation in Relation]}
        number = {"type": "number"}
        return (
            _make_tool("set_data", "Set an entry of a table of data.", {"table": table, "key": TEXTS, "value": number}),
            _make_tool("scale_data", "Multiply an entry of a table of data.",
                  {"table": table, "key": TEXTS, "factor": number}),
            _make_tool("add_row", "Add a constraint: coefficients by name of variable, relation, right-hand side.",
                  {"terms": TERMS, "relation": relation, "rhs": number}),
            _make_tool("call_solver", "Solve the changed model.", {}),
        )  # fmt: skip

    def __call__(self, call: ToolCall) -> str:
        """Do what a model asks for; what is wrong comes back in one line."""
        arguments = dict(call.arguments)
        doing: dict[str, Callable[[dict[str, Any]], str]] = {
            "set_data": lambda entry: self._set_data(entry, lambda old: _parse_number(entry["value"])),
            "scale_data": lambda entry: self._set_data(entry, lambda old: old * _parse_number(entry["factor"])),
            "add_row": self._add_row,
            "call_solver": lambda entry: self._solve_model(),
        }
        try:
            if call.problem:
                raise ConfigError(call.problem)
            if call.name not in doing:
                raise unknown_name_error(call.name, list(doing), "tool")
            return doing[call.name](arguments)
        except OragentError as problem:
            return f"error: {problem}"
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            return f"error: the arguments of {call.name} are not as its schema says: {type(problem).__name__}"

    def _set_data(self, arguments: dict[str, Any], new: Callable[[float], float]) -> str:
        name, key = str(arguments["table"]), tuple(map(str, arguments["key"]))
        table = BASE[self.model].get(name)
        if table is None:
            raise unknown_name_error(name, list(BASE[self.model]), "table of data")
        old = self.data.get((name, key), table.get(key))
        if old is None and any(len(other_key) != len(key) for other_key in table):
            other_key = "/".join(next(iter(table)))
            raise ConfigError(f"no entry {'/'.join(key)[:60]!r} in {name}; its keys are such as {other_key}")
        self.data[name, key] = new(old or 0.0)
        return f"{name}[{', '.join(key)}] = {self.data[name, key]:g}"

    def _add_row(self, arguments: dict[str, Any]) -> str:
        terms = {str(name): _parse_number(value) for name, value in arguments["terms"].items()}
        row = Row("row", terms, Relation(arguments["relation"]), _parse_number(arguments["rhs"]))
        build_textbook(self.model, WhatIfChange({}, (row,)))  # see that it names variables that there are
        self.rows.append(row)
        return f"{len(self.rows)} constraints added"

    def _solve_model(self) -> str:
        self.answer = solve_changed(self.model, WhatIfChange(self.data, tuple(self.rows)))
        return _describe_solution(self.answer)


@dataclass
class _Programs:
    """Programs over one textbook model."""

    model: str
    guests: Guests
    answer: WhatIfAnswer | None = None

    def __call__(self, call: ToolCall) -> str:
        """Build and solve what a program formulates."""
        source = call.arguments.get("program")
        if call.problem or call.name != SUBMIT.name or not isinstance(source, str):
            return f"error: {call.problem or 'call submit_formulation with the text of a program'}"
        form = ProgramForm("", "", _program_data(self.model), "", lambda name: name)
        built = self.guests.built(source, form)
        if built.milp is None:
            return f"error: {built.problem}"
        solution = solve(built.milp, SOLVE_S, duals=False)
        optimal = solution.status is Solved.OPTIMAL
        status = AnswerStatus.OPTIMAL if optimal else (
            AnswerStatus.UNBOUNDED if solution.status is Solved.UNBOUNDED else AnswerStatus.INFEASIBLE)  # fmt: skip
        self.answer = WhatIfAnswer(status, solution.objective if optimal else None)
        return _describe_solution(self.answer)


PROGRAM = """import pulp


def formulate(m, data):
    x = {v["name"]: pulp.LpVariable(v["id"], v["low"], v["high"], v["kind"]) for v in data["variables"]}
    m += pulp.lpSum(value * x[name] for name, value in data["cost"].items())
    for row in data["rows"]:
        left = pulp.lpSum(value * x[name] for name, value in row["terms"].items())
        if row["relation"] == "<=":
            m += left <= row["rhs"]
        elif row["relation"] == ">=":
            m += left >= row["rhs"]
        else:
            m += left == row["rhs"]
"""
SUBMIT = Tool("submit_formulation", "Build and solve the model of a program that defines formulate(m, data).",
              {"type": "object", "properties": {"program": {"type": "string"}}, "required": ["program"]})  # fmt: skip


def _program_data(model: str) -> dict[str, Any]:
    milp = build_textbook(model, WhatIfChange())
    return {
        "tables": plain_data(model),
        "variables": [
            {"id": f"v{position}", "name": variable.name, "low": variable.low, "high": None,
             "kind": "Integer" if variable.is_integer else "Continuous"}
            for position, variable in enumerate(milp.variables)
        ],
        "rows": [
            {"name": row.name, "terms": dict(row.terms), "relation": str(row.relation), "rhs": row.rhs}
            for row in milp.rows
        ],
        "cost": dict(milp.objective.terms),
    }  # fmt: skip


def _describe_data(model: str) -> str:
    tables = json.dumps({name: {", ".join(key): value for key, value in table.items()}
                         for name, table in BASE[model].items()}, indent=0)  # fmt: skip
    return f"{to_latex(build_textbook(model, WhatIfChange()))}\nData:\n{tables}"


def _describe_solution(answer: WhatIfAnswer) -> str:
    return f"{answer.status}" if answer.objective is None else f"{answer.status}, objective {answer.objective:.10g}"


def _parse_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
        raise ConfigError(f"expected a number, not {str(value)[:40]!r}")
    return float(value)


def _make_tool(name: str, description: str, properties: dict[str, Any]) -> Tool:
    return Tool(name, description, {"type": "object", "properties": properties, "required": list(properties)})
