"""Agents on what-if questions: by rules on their words, by tools that change data and rows, or by a program."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from oragent._base.errors import ConfigError, OragentError
from oragent.converse.agents.guests import Guests
from oragent.converse.agents.model_agents import MOST_ROUNDS, ROLE
from oragent.converse.decision import unknown_name_error
from oragent.converse.problems.programs import ProgramForm
from oragent.converse.prompting import fill_template
from oragent.evals.converse.whatif import questions
from oragent.llm.dialogue import Asker, ToolRounds, work_with_tools
from oragent.llm.model import Message, Tool, ToolCall
from oragent.milp import Relation, Row
from oragent.milp.mathematics import to_latex
from oragent.milp.solving import solve

PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s?(?:%|percent)")
NUMBER = re.compile(r"(?<![\w.])\$?(\d+(?:\.\d+)?)(?![\w.]*%|\d)")
HALF = re.compile(r"\b(?:half|halv\w+|50\s?%|50 percent|fifty percent)", re.IGNORECASE)
WORDS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "a single": 1,
    "couple": 2,
    "dozen": 12,
}
BOTH_WAYS = re.compile(
    r"\b(?:exclusiv\w+ (?:relation|partner|arrange|agree|deal|suppl|trad)\w*|relationship|partnership|between|"
    r"mutual\w*|convers\w+|reciprocal|vice versa|purchas\w+|buy\w*|sell\w*|sales|sourc\w+)\b",
    re.IGNORECASE,
)
AGAINST = re.compile(
    r"\b(?:not|never|avoid\w*|refrain\w*|prevent\w*|stop\w*|discourag\w+|against|why don|bad|unwise|impractical|"
    r"inadvisable|unadvisable|unfavou?rable|undesirable|unsuitable|inappropriate|negative\w*|hindranc\w+|hinder\w*|"
    r"drawback\w*|downside\w*|disadvantag\w+|obstacle\w*|barrier\w*|issue\w*|problem\w*|restrict\w*|limit\w*|"
    r"challeng\w+|consequence\w*|caution\w*|concern\w*|risk\w*|(?:should|is|do|are|ca|could|would)n['’]t)\b",
    re.IGNORECASE,
)
EXTRA = re.compile(
    r"\b(?:extra|more|additional\w*|supplementa\w+|add|added|another|further|increase\w*)\b", re.IGNORECASE
)
COST = re.compile(r"\b(?:cost\w*|price\w*|rate|charge\w*|expense\w*|fee\w*|expenditure)\b|\$", re.IGNORECASE)
SYNONYMS = {
    "hot dog": r"hot ?dogs?|frankfurters?|sausages?",
    "fries": r"fries|french fr\w+|fried potato\w*|chips",
    "ice cream": r"ice ?creams?",
    "macaroni": r"macaronis?|pasta|mac and cheese|mac",
    "chicken": r"chickens?|poultry",
    "milk": r"milks?|dairy",
    "salad": r"salads?|greens",
    "pizza": r"pizzas?",
    "hamburger": r"hamburgers?|burgers?",
}


TEXTS = {"type": "array", "items": {"type": "string"}}
TERMS = {"type": "object", "additionalProperties": {"type": "number"}}
SOLVE_S = 20.0
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
SUBMIT = Tool(
    "submit_formulation",
    "Build and solve the model of a program that defines formulate(m, data).",
    {"type": "object", "properties": {"program": {"type": "string"}}, "required": ["program"]},
)


def read_change(question: questions.Question) -> questions.WhatIfChange | None:
    """Read the change of a question from its words alone; None if it is not understood."""
    text = " ".join(question.text.split())
    return {"coffee": _parse_coffee, "netflow": _parse_netflow, "diet": _parse_diet}[question.model](text)


def _parse_coffee(text: str) -> questions.WhatIfChange | None:
    suppliers, roasteries, cafes = (_numbered_names(kind, text) for kind in ("supplier", "roastery", "cafe"))
    roasteries = roasteries or _numbered_names("roaster", text, "roastery")
    if suppliers and roasteries:
        if COST.search(text) and (number := _find_number(_without_names(text))) is not None:
            return _change_data("shipping_cost_from_supplier_to_roastery", (suppliers[0], roasteries[0]), number)
        return questions.WhatIfChange(rows=_zero_rows([f"x[{suppliers[0]},{roasteries[0]}]"]))
    if suppliers and HALF.search(text):
        capacity = questions.COFFEE["capacity_in_supplier"][suppliers[0],]
        return _change_data("capacity_in_supplier", (suppliers[0],), capacity / 2)
    if cafes and roasteries:
        return _exclusive_rows(roasteries[0], cafes[0], both=bool(BOTH_WAYS.search(text)))
    share = PERCENT.search(text)
    if cafes and share:
        if re.search(r"\blight\b", text, re.IGNORECASE):
            kinds = ["light"]
        else:
            kinds = ["light", "dark"]
        tables = [f"{kind}_coffee_needed_for_cafe" for kind in kinds]
        return questions.WhatIfChange(
            {(name, (cafes[0],)): questions.COFFEE[name][cafes[0],] * (1 + float(share[1]) / 100) for name in tables}
        )
    return None


def _exclusive_rows(roastery: str, cafe: str, *, both: bool) -> questions.WhatIfChange:
    """A roastery sells to one cafe alone; with ``both`` the cafe buys there alone, too."""
    arcs = [
        arc
        for arc in questions.COFFEE["shipping_cost_from_roastery_to_cafe"]
        if (arc[0] == roastery) != (arc[1] == cafe)
    ]
    shut = [arc for arc in arcs if both or arc[0] == roastery]
    return questions.WhatIfChange(
        rows=_zero_rows(f"y_{kind}[{arc[0]},{arc[1]}]" for kind in ("light", "dark") for arc in shut)
    )


def _parse_netflow(text: str) -> questions.WhatIfChange | None:
    cities = _in_order(text, {key[1]: re.escape(key[1]) for key in questions.NETFLOW["inflow"]})
    goods = _in_order(text, {"Pencils": r"pencils?", "Pens": r"pens?"})
    if goods and len(cities) >= 2:
        start, end = _shipment_ends(text, cities)
        number = _find_number(text)
        if number is not None and (COST.search(text) or "$" in text or "dollar" in text.casefold()):
            return _change_data("cost", (goods[0], start, end), number)
        name = f"flow[{goods[0]},{start},{end}]"
        if (start, end) not in questions.NETFLOW["capacity"]:
            return questions.WhatIfChange()
        if AGAINST.search(text):
            value = 1.0
        else:
            value = 0.0
        return questions.WhatIfChange(rows=(Row("row", {name: 1.0}, Relation.EQUAL, value),))
    if cities and HALF.search(text):
        return _change_costs(lambda key: key[1] == cities[0], lambda cost: cost / 2)
    number = _find_number(text)
    if cities and number is not None:
        return _change_costs(lambda key: key[2] == cities[0], lambda cost: cost + number)
    return None


def _parse_diet(text: str) -> questions.WhatIfChange | None:
    foods = _in_order(text, {food: SYNONYMS.get(food, re.escape(food)) for food in questions.FOODS})
    if not foods:
        return None
    number = _find_number(text)
    if number is None:
        return questions.WhatIfChange(rows=_zero_rows([f"buy[{foods[0]}]"]))
    if EXTRA.search(text):
        return questions.WhatIfChange(rows=(Row("row", {f"buy[{foods[0]}]": 1.0}, Relation.AT_LEAST, number),))
    return questions.WhatIfChange(rows=(Row("row", {f"buy[{foods[0]}]": 1.0}, Relation.EQUAL, number),))


def _numbered_names(kind: str, text: str, name: str = "") -> list[str]:
    return [f"{name or kind}{match[1]}" for match in re.finditer(rf"\b{kind}\s?#?(\d)\b", text, re.IGNORECASE)]


def _without_names(text: str) -> str:
    return re.sub(r"\b(?:supplier|roastery|cafe)\s?#?\d\b", " ", text, flags=re.IGNORECASE)


def _find_number(text: str) -> float | None:
    match = NUMBER.search(text) or re.search(r"(\d+(?:\.\d+)?)(?=-(?:unit|dollar|value|point))", text)
    if match:
        return float(match[1])
    words = [value for word, value in WORDS.items() if re.search(rf"\b{word}\b", text, re.IGNORECASE)]
    if words:
        return float(words[0])
    return None


def _in_order(text: str, patterns: dict[str, str]) -> list[str]:
    hits = [
        (hit.start(), name)
        for name, pattern in patterns.items()
        for hit in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
    ]
    return list(dict.fromkeys(name for _, name in sorted(hits)))


def _shipment_ends(text: str, cities: list[str]) -> tuple[str, str]:
    """Start and end of a shipment: "from" and "to" decide, else the order."""
    first, second = cities[:2]
    turned = re.search(rf"\bto {re.escape(first)}\b.*\bfrom {re.escape(second)}\b", text, re.IGNORECASE)
    if turned:
        return (second, first)
    return (first, second)


def _change_costs(chosen: Callable[[questions.Key], bool], changed: Callable[[float], float]) -> questions.WhatIfChange:
    return questions.WhatIfChange(
        {("cost", key): changed(cost) for key, cost in questions.NETFLOW["cost"].items() if chosen(key)}
    )


def _change_data(table: str, key: questions.Key, value: float) -> questions.WhatIfChange:
    return questions.WhatIfChange({(table, key): value})


def _zero_rows(names: Iterable[str]) -> tuple[Row, ...]:
    return tuple(Row("row", {name: 1.0}, Relation.EQUAL, 0.0) for name in names)


async def by_tools(question: questions.Question, asker: Asker) -> questions.WhatIfAnswer | None:
    """T-P-P: what its last call of the solver came to; None where it never called it."""
    hands = _Hands(question.model)
    prompt = fill_template("whatif_tools", model=_describe_data(question.model))
    return await _ask_model(question, asker, prompt, hands.tools, hands)


async def by_program(question: questions.Question, asker: Asker, guests: Guests) -> questions.WhatIfAnswer | None:
    """C-P-P: what the model of its last program came to."""
    hands = _Programs(question.model, guests)
    prompt = fill_template("whatif_program", model=_describe_data(question.model), program=PROGRAM)
    return await _ask_model(question, asker, prompt, (SUBMIT,), hands)


async def _ask_model(
    question: questions.Question, asker: Asker, prompt: str, tools: tuple[Tool, ...], hands: "_Hands | _Programs"
) -> questions.WhatIfAnswer | None:
    messages = [Message("system", prompt), Message("user", question.text)]
    await work_with_tools(
        lambda sent, tools: asker.ask(ROLE, sent, 0.0, tools), messages, tools, hands, ToolRounds(MOST_ROUNDS)
    )
    return hands.answer


@dataclass
class _Hands:
    """Tools over one textbook model."""

    model: str
    data: dict[tuple[str, questions.Key], float] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    answer: questions.WhatIfAnswer | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools as a model is told of them."""
        table = {"type": "string", "enum": list(questions.BASE[self.model])}
        relation = {"type": "string", "enum": [str(relation) for relation in Relation]}
        number = {"type": "number"}
        return (
            _make_tool("set_data", "Set an entry of a table of data.", {"table": table, "key": TEXTS, "value": number}),
            _make_tool(
                "scale_data", "Multiply an entry of a table of data.", {"table": table, "key": TEXTS, "factor": number}
            ),
            _make_tool(
                "add_row",
                "Add a constraint: coefficients by name of variable, relation, right-hand side.",
                {"terms": TERMS, "relation": relation, "rhs": number},
            ),
            _make_tool("call_solver", "Solve the changed model.", {}),
        )

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
        table = questions.BASE[self.model].get(name)
        if table is None:
            raise unknown_name_error(name, list(questions.BASE[self.model]), "table of data")
        old = self.data.get((name, key), table.get(key))
        if old is None and any(len(other_key) != len(key) for other_key in table):
            other_key = "/".join(next(iter(table)))
            raise ConfigError(f"no entry {'/'.join(key)[:60]!r} in {name}; its keys are such as {other_key}")
        self.data[name, key] = new(old or 0.0)
        return f"{name}[{', '.join(key)}] = {self.data[name, key]:g}"

    def _add_row(self, arguments: dict[str, Any]) -> str:
        terms = {str(name): _parse_number(value) for name, value in arguments["terms"].items()}
        row = Row("row", terms, Relation(arguments["relation"]), _parse_number(arguments["rhs"]))
        questions.build_textbook(
            self.model, questions.WhatIfChange({}, (row,))
        )  # see that it names variables that there are
        self.rows.append(row)
        return f"{len(self.rows)} constraints added"

    def _solve_model(self) -> str:
        self.answer = questions.solve_changed(self.model, questions.WhatIfChange(self.data, tuple(self.rows)))
        return _describe_solution(self.answer)


@dataclass
class _Programs:
    """Programs over one textbook model."""

    model: str
    guests: Guests
    answer: questions.WhatIfAnswer | None = None

    def __call__(self, call: ToolCall) -> str:
        """Build and solve what a program formulates."""
        source = call.arguments.get("program")
        if call.problem or call.name != SUBMIT.name or not isinstance(source, str):
            return f"error: {call.problem or 'call submit_formulation with the text of a program'}"
        form = ProgramForm("", "", _program_data(self.model), "", lambda name: name)
        built = self.guests.built(source, form)
        if built.milp is None:
            return f"error: {built.problem}"
        self.answer = questions.answer_of(solve(built.milp, SOLVE_S, duals=False))
        return _describe_solution(self.answer)


def _program_data(model: str) -> dict[str, Any]:
    milp = questions.build_textbook(model, questions.WhatIfChange())
    return {
        "tables": questions.plain_data(model),
        "variables": [
            {
                "id": f"v{position}",
                "name": variable.name,
                "low": variable.low,
                "high": None,
                "kind": "Integer" if variable.is_integer else "Continuous",
            }
            for position, variable in enumerate(milp.variables)
        ],
        "rows": [
            {"name": row.name, "terms": dict(row.terms), "relation": str(row.relation), "rhs": row.rhs}
            for row in milp.rows
        ],
        "cost": dict(milp.objective.terms),
    }


def _describe_data(model: str) -> str:
    tables = json.dumps(
        {
            name: {", ".join(key): value for key, value in table.items()}
            for name, table in questions.BASE[model].items()
        },
        indent=0,
    )
    return f"{to_latex(questions.build_textbook(model, questions.WhatIfChange()))}\nData:\n{tables}"


def _describe_solution(answer: questions.WhatIfAnswer) -> str:
    if answer.objective is None:
        return f"{answer.status}"
    return f"{answer.status}, objective {answer.objective:.10g}"


def _parse_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
        raise ConfigError(f"expected a number, not {str(value)[:40]!r}")
    return float(value)


def _make_tool(name: str, description: str, properties: dict[str, Any]) -> Tool:
    return Tool(name, description, {"type": "object", "properties": properties, "required": list(properties)})
