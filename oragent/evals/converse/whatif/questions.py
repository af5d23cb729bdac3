"""What-if questions with executed answers, and the three textbook models that they change, as ``Milp``s of our own.

Coffee distribution is of Li et al. 2023 (OptiGuide, arXiv:2307.03875); multi-commodity network flow and the diet are
well-known examples of solver manuals. The diet has no solution from the outset: milk and ice cream are limited.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError
from oragent.converse.decision import unknown_name_error
from oragent.evals.converse.evaluable_problems import load_json
from oragent.milp import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.milp import SolveStatus as Solved
from oragent.milp.solution import Solution
from oragent.milp.solving import solve

# of objectives, relative where they are larger than 1
TOLERANCE = 1e-6


MODELS = ("coffee", "netflow", "diet")
SUFFIX = ".benchmark.json"
# bytes
LARGEST = 20_000_000
INFINITE = 1e100
# price; calories, protein, fat, sodium
FOODS = {
    "hamburger": (2.49, 410, 24, 26, 730),
    "chicken": (2.89, 420, 32, 10, 1190),
    "hot dog": (1.5, 560, 20, 32, 1800),
    "fries": (1.89, 380, 4, 19, 270),
    "macaroni": (2.09, 320, 12, 10, 930),
    "pizza": (1.99, 320, 15, 12, 820),
    "salad": (2.49, 320, 31, 12, 1230),
    "milk": (0.89, 100, 8, 2.5, 125),
    "ice cream": (1.59, 330, 8, 10, 180),
}
NUTRIENTS = ("calories", "protein", "fat", "sodium")
DAIRY, MOST_DAIRY = ("milk", "ice cream"), 6.0


class AnswerStatus(StrEnum):
    """How the changed model was solved."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"


@dataclass(frozen=True)
class WhatIfAnswer:
    """What the changed model gives; ``objective``: optimal value of the changed model; None unless there is one."""

    status: AnswerStatus
    objective: float | None = None


def agrees_with_gold(answer: WhatIfAnswer | None, gold: WhatIfAnswer) -> bool:
    """Return whether an answer has the status of the gold answer and, where that is optimal, its objective to 1e-6."""
    if answer is None or answer.status is not gold.status:
        return False
    if gold.objective is None:
        return True
    if answer.objective is None or not isfinite(answer.objective):
        return False
    return abs(answer.objective - gold.objective) <= TOLERANCE * max(1.0, abs(gold.objective))


@dataclass(frozen=True)
class Question:
    """A what-if question."""

    model: str
    # place in the file of its model, from 1
    number: int
    text: str
    # text of the same question in the words of its template; the text itself where that is no paraphrase
    plain: str
    # kind of change that it asks for, such as ``demand-increase``
    kind: str
    template: str
    # Gold: Python that changes data before the model is built; empty where there is none
    data_code: str
    # Gold: Python that adds rows to the model; empty where there is none
    row_code: str
    gold: WhatIfAnswer


def read_questions(folder: Path) -> tuple[Question, ...]:
    """Read the questions of all three models."""
    return tuple(question for model in MODELS for question in _of_model(folder / f"{model}{SUFFIX}", model))


def _of_model(path: Path, model: str) -> list[Question]:
    what, missing = "a file of questions", f"; expected {', '.join(MODELS)}, each {SUFFIX}"
    tree = load_json(path, LARGEST, what, what, missing)
    if isinstance(tree, dict):
        records = tree.get("questions")
    else:
        records = None
    if not isinstance(records, list) or not records:
        raise ConfigError(f"{path} must hold a list of questions, at least one, under 'questions'")
    questions = []
    for number, record in enumerate(records, 1):
        try:
            questions.append(_read_question(model, number, record))
        except ConfigError as problem:
            raise ConfigError(f"{path}, question {number}: {problem}") from None
    return questions


def _read_question(model: str, number: int, record: Any) -> Question:
    if not isinstance(record, dict):
        raise ConfigError("expected keys and values")
    text = _read_text(record, "QUESTION")
    data_code, row_code = _read_text(record, "DATA CODE", ""), _read_text(record, "CONSTRAINT CODE", "")
    if not data_code and not row_code:
        raise ConfigError("expected DATA CODE or CONSTRAINT CODE, as a question changes something")
    return Question(
        model=model,
        number=number,
        text=text,
        plain=_read_text(record, "MACRO GEN QUESTION", text),
        kind=_read_text(record, "TYPE"),
        template=_read_text(record, "raw_question_hash"),
        data_code=data_code,
        row_code=row_code,
        gold=_read_gold(record.get("GT EXEC RESULT")),
    )


def _read_text(record: dict[str, Any], key: str, default: str | None = None) -> str:
    text = record.get(key, default)
    if not isinstance(text, str) or (default is None and not text.strip()):
        raise ConfigError(f"{key} must be text, not {text!r:.40}")
    return text


def _read_gold(result: Any) -> WhatIfAnswer:
    """The executed result: an objective, or a status with more lines after it."""
    if isinstance(result, int | float) and not isinstance(result, bool) and abs(result) < 1e300:
        return WhatIfAnswer(AnswerStatus.OPTIMAL, float(result))
    if isinstance(result, str):
        first = result.partition("\n")[0].strip().lower()
    else:
        first = ""
    if first in (AnswerStatus.INFEASIBLE, AnswerStatus.UNBOUNDED):
        return WhatIfAnswer(AnswerStatus(first))
    raise ConfigError(f"GT EXEC RESULT must be a number, infeasible or unbounded, not {result!r:.40}")


Key = tuple[str, ...]
Table = Mapping[Key, float]
Data = Mapping[str, Table]


def _read_table(*entries: tuple[str, float]) -> Table:
    return {tuple(key.split("/")): float(value) for key, value in entries}


COFFEE: Data = {
    "capacity_in_supplier": _read_table(("supplier1", 150), ("supplier2", 50), ("supplier3", 100)),
    "shipping_cost_from_supplier_to_roastery": _read_table(
        ("supplier1/roastery1", 5),
        ("supplier1/roastery2", 4),
        ("supplier2/roastery1", 6),
        ("supplier2/roastery2", 3),
        ("supplier3/roastery1", 2),
        ("supplier3/roastery2", 7),
    ),
    "roasting_cost_light": _read_table(("roastery1", 3), ("roastery2", 5)),
    "roasting_cost_dark": _read_table(("roastery1", 5), ("roastery2", 6)),
    "shipping_cost_from_roastery_to_cafe": _read_table(
        ("roastery1/cafe1", 5),
        ("roastery1/cafe2", 3),
        ("roastery1/cafe3", 6),
        ("roastery2/cafe1", 4),
        ("roastery2/cafe2", 5),
        ("roastery2/cafe3", 2),
    ),
    "light_coffee_needed_for_cafe": _read_table(("cafe1", 20), ("cafe2", 30), ("cafe3", 40)),
    "dark_coffee_needed_for_cafe": _read_table(("cafe1", 20), ("cafe2", 20), ("cafe3", 100)),
}
NETFLOW: Data = {
    "capacity": _read_table(
        ("Detroit/Boston", 100),
        ("Detroit/New York", 80),
        ("Detroit/Seattle", 120),
        ("Denver/Boston", 120),
        ("Denver/New York", 120),
        ("Denver/Seattle", 120),
    ),
    "cost": _read_table(
        ("Pencils/Detroit/Boston", 10),
        ("Pencils/Detroit/New York", 20),
        ("Pencils/Detroit/Seattle", 60),
        ("Pencils/Denver/Boston", 40),
        ("Pencils/Denver/New York", 40),
        ("Pencils/Denver/Seattle", 30),
        ("Pens/Detroit/Boston", 20),
        ("Pens/Detroit/New York", 20),
        ("Pens/Detroit/Seattle", 80),
        ("Pens/Denver/Boston", 60),
        ("Pens/Denver/New York", 70),
        ("Pens/Denver/Seattle", 30),
    ),
    "inflow": _read_table(
        ("Pencils/Detroit", 50),
        ("Pencils/Denver", 60),
        ("Pencils/Boston", -50),
        ("Pencils/New York", -50),
        ("Pencils/Seattle", -10),
        ("Pens/Detroit", 60),
        ("Pens/Denver", 40),
        ("Pens/Boston", -40),
        ("Pens/New York", -30),
        ("Pens/Seattle", -30),
    ),
}
DIET: Data = {
    "cost": _read_table(*((food, figures[0]) for food, figures in FOODS.items())),
    "nutritionValues": _read_table(
        *(
            (f"{food}/{nutrient}", value)
            for food, figures in FOODS.items()
            for nutrient, value in zip(NUTRIENTS, figures[1:], strict=True)
        )
    ),
    "minNutrition": _read_table(("calories", 1800), ("protein", 91), ("fat", 0), ("sodium", 0)),
    "maxNutrition": _read_table(("calories", 2200), ("protein", INFINITE), ("fat", 65), ("sodium", 1779)),
}
BASE: Mapping[str, Data] = {"coffee": COFFEE, "netflow": NETFLOW, "diet": DIET}


@dataclass(frozen=True)
class WhatIfChange:
    """What a question changes."""

    # new values by table and key
    data: Mapping[tuple[str, Key], float] = field(default_factory=dict)
    # rows beside those of the model
    rows: tuple[Row, ...] = ()


def solve_changed(model: str, change: WhatIfChange) -> WhatIfAnswer:
    """Solve a changed model.

    Raises:
        ConfigError: The change names a table or a variable that the model has not.
    """
    return answer_of(solve(build_textbook(model, change), 30.0, duals=False))


def answer_of(solution: Solution) -> WhatIfAnswer:
    """Return the answer that a solved model gives."""
    if solution.status is Solved.OPTIMAL:
        return WhatIfAnswer(AnswerStatus.OPTIMAL, solution.objective)
    return WhatIfAnswer(AnswerStatus.UNBOUNDED if solution.status is Solved.UNBOUNDED else AnswerStatus.INFEASIBLE)


def build_textbook(model: str, change: WhatIfChange) -> Milp:
    """A textbook model with changed data and further rows."""
    data = {name: dict(table) for name, table in BASE[model].items()}
    for (table, key), value in change.data.items():
        if table not in data:
            raise unknown_name_error(table, list(data), "table of data")
        data[table][key] = value
    milp = {"coffee": _coffee_model, "netflow": _netflow_model, "diet": _diet_model}[model](data)
    names = {variable.name for variable in milp.variables}
    for row in change.rows:
        for name in row.terms:
            if name not in names:
                raise unknown_name_error(name, sorted(names), "variable")
    named = (Row(f"question {number}", row.terms, row.relation, row.rhs) for number, row in enumerate(change.rows, 1))
    return Milp(milp.variables, (*milp.rows, *named), milp.objective, milp.sense, model)


def variable_names(model: str) -> tuple[str, ...]:
    """Names of the variables of a model."""
    return tuple(variable.name for variable in build_textbook(model, WhatIfChange()).variables)


def plain_data(model: str) -> dict[str, list[list[object]]]:
    """The data of a model as JSON has them: lists of keys and values."""
    return {name: [[list(key), value] for key, value in table.items()] for name, table in BASE[model].items()}


def _linear_sum(terms: Iterator[tuple[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for name, value in terms:
        total[name] = total.get(name, 0.0) + value
    return total


def _coffee_model(data: Data) -> Milp:
    first, second = "shipping_cost_from_supplier_to_roastery", "shipping_cost_from_roastery_to_cafe"
    kinds = ("light", "dark")
    bought = {key: f"x[{key[0]},{key[1]}]" for key in data[first]}
    sold = {(kind, *key): f"y_{kind}[{key[0]},{key[1]}]" for kind in kinds for key in data[second]}
    cost = {name: data[first][key] for key, name in bought.items()}
    for (kind, roastery, cafe), name in sold.items():
        cost[name] = data[f"roasting_cost_{kind}"][roastery,] + data[second][roastery, cafe]
    rows = []
    for (roastery,) in data["roasting_cost_light"]:
        ins = ((name, 1.0) for key, name in bought.items() if key[1] == roastery)
        outs = ((name, -1.0) for key, name in sold.items() if key[1] == roastery)
        rows.append(Row(f"flow[{roastery}]", _linear_sum(iter([*ins, *outs])), Relation.EQUAL, 0.0))
    for (supplier,), capacity in data["capacity_in_supplier"].items():
        terms = {name: 1.0 for key, name in bought.items() if key[0] == supplier}
        rows.append(Row(f"supply[{supplier}]", terms, Relation.AT_MOST, capacity))
    for kind in kinds:
        for (cafe,), needed in data[f"{kind}_coffee_needed_for_cafe"].items():
            terms = {name: 1.0 for key, name in sold.items() if key[0] == kind and key[2] == cafe}
            rows.append(Row(f"{kind} demand[{cafe}]", terms, Relation.AT_LEAST, needed))
    return _make_milp([*bought.values(), *sold.values()], rows, cost, VariableKind.INTEGER)


def _netflow_model(data: Data) -> Milp:
    arcs = list(data["capacity"])
    goods = list(dict.fromkeys(key[0] for key in data["inflow"]))
    flow = {(good, *arc): f"flow[{good},{arc[0]},{arc[1]}]" for good in goods for arc in arcs}
    rows = [
        Row(f"capacity[{arc[0]},{arc[1]}]", {flow[good, *arc]: 1.0 for good in goods}, Relation.AT_MOST, capacity)
        for arc, capacity in data["capacity"].items()
    ]
    for (good, node), inflow in data["inflow"].items():
        ins = {name: 1.0 for (carried, _, end), name in flow.items() if carried == good and end == node}
        outs = {name: -1.0 for (carried, start, _), name in flow.items() if carried == good and start == node}
        rows.append(Row(f"node[{good},{node}]", {**ins, **outs}, Relation.EQUAL, -inflow))
    return _make_milp(list(flow.values()), rows, {name: data["cost"].get(key, 0.0) for key, name in flow.items()})


def _diet_model(data: Data) -> Milp:
    buy = {food: f"buy[{food}]" for (food,) in data["cost"]}
    rows = []
    for nutrient in NUTRIENTS:
        terms = {name: data["nutritionValues"][food, nutrient] for food, name in buy.items()}
        rows.append(Row(f"least {nutrient}", terms, Relation.AT_LEAST, data["minNutrition"][nutrient,]))
        if (upper := data["maxNutrition"][nutrient,]) < INFINITE:
            rows.append(Row(f"most {nutrient}", terms, Relation.AT_MOST, upper))
    rows.append(Row("limit_dairy", {buy[food]: 1.0 for food in DAIRY}, Relation.AT_MOST, MOST_DAIRY))
    return _make_milp(list(buy.values()), rows, {buy[food]: price for (food,), price in data["cost"].items()})


def _make_milp(
    names: list[str], rows: list[Row], cost: Mapping[str, float], kind: VariableKind = VariableKind.CONTINUOUS
) -> Milp:
    return Milp(tuple(Variable(name, kind=kind) for name in names), tuple(rows), Objective(dict(cost)), Sense.MINIMIZE)


def change_of(plain: Any) -> WhatIfChange:
    """A change out of JSON that a child wrote; nothing in it is trusted."""
    try:
        data = {(str(table), tuple(map(str, key))): float(value) for table, key, value in plain["data"]}
        rows = tuple(
            Row(
                "row",
                {str(name): float(coefficient) for name, coefficient in terms.items()},
                Relation(relation),
                float(rhs),
            )
            for terms, relation, rhs in plain["rows"]
        )
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise ConfigError(f"what the code left is no change of a model: {type(problem).__name__}") from None
    return WhatIfChange(data, rows)
