"""Twelve stories of two to four aims in three libraries: headline and exit code against enumeration."""

import itertools
import json
import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from oragent.formulate.folder import finalize
from oragent.formulate.formulation import FormulationResult, formulate_case
from oragent.formulate.options import choose_options
from oragent.formulate.printing import headline
from oragent.formulate.problem import ProblemText
from oragent.formulate.running import FormulationRunner
from oragent.modelling.data.display import figure
from tests.formulate.replies import play

Row = tuple[str, dict[str, float], str, float]
Aim = tuple[str, str, str, dict[str, float]]


@dataclass(frozen=True)
class Story:
    """A story: largest whole value of each decision, rows with their sentences, and aims by importance."""

    highs: dict[str, int]
    rows: tuple[Row, ...]
    # Sense, name, unit and coefficients.
    aims: tuple[Aim, ...]

    @property
    def text(self) -> str:
        limits = ". ".join(f"{row[0]} {row[2]} {row[3]:g}" for row in self.rows)
        highs = ", ".join(f"{high} {name}" for name, high in self.highs.items())
        return f"At most {highs}. {limits}. {'; then '.join(f'{aim[0]} {aim[1]}' for aim in self.aims)}."

    def truth(self) -> list[float]:
        """Return the values of the aims of the best plan."""
        relations = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}
        ranked = []
        for plan in itertools.product(*(range(high + 1) for high in self.highs.values())):
            values = dict(zip(self.highs, plan, strict=True))
            if all(relations[relation](total(terms, values), rhs) for _, terms, relation, rhs in self.rows):
                aims = [total(terms, values) for _, _, _, terms in self.aims]
                signs = [1 if aim[0] == "minimize" else -1 for aim in self.aims]
                ranked.append(([sign * value for sign, value in zip(signs, aims, strict=True)], aims))
        return min(ranked)[1]


def total(terms: dict[str, float], values: dict[str, float]) -> float:
    return sum(size * values[name] for name, size in terms.items())


STORIES = {
    # The more people, the more drivers; kilometres are a wish.
    "buses": Story(
        {"large": 3, "small": 4},
        (("fuel", {"large": 5, "small": 2}, "<=", 17),),
        (
            ("maximize", "people", "people", {"large": 50, "small": 20}),
            ("minimize", "drivers", "drivers", {"large": 1, "small": 1}),
        ),
    ),
    "bakery": Story(
        {"bread": 9, "rolls": 9, "cake": 6},
        (("oven", {"bread": 2, "rolls": 1, "cake": 3}, "<=", 20), ("orders", {"bread": 1}, ">=", 2)),
        (
            ("maximize", "profit", "EUR", {"bread": 4, "rolls": 2, "cake": 6}),
            ("maximize", "variety", "cakes", {"cake": 1}),
            ("minimize", "hours", "hours", {"bread": 1, "rolls": 2, "cake": 1}),
        ),
    ),
    "nurses": Story(
        {"early": 6, "late": 6, "night": 6},
        (
            ("cover", {"early": 1, "late": 1}, ">=", 7),
            ("nights", {"night": 1}, ">=", 2),
            ("hours", {"early": 8, "late": 8, "night": 10}, "<=", 100),
        ),
        (
            ("minimize", "shifts", "shifts", {"early": 1, "late": 1, "night": 1}),
            ("maximize", "wishes", "wishes", {"early": 3, "late": 2, "night": -1}),
        ),
    ),
    # Every aim but the last has a value of 0 at its best.
    "nothing late": Story(
        {"own": 8, "hired": 8},
        (("work", {"own": 2, "hired": 3}, ">=", 12), ("desk", {"own": 1, "hired": 1}, "<=", 7)),
        (
            ("minimize", "hired people", "hired", {"hired": 1}),
            ("minimize", "cost", "EUR", {"own": 70, "hired": 90}),
        ),
    ),
    # The first aim is negative at its best.
    "loss": Story(
        {"a": 5, "b": 5},
        (("contract", {"a": 1, "b": 2}, ">=", 6),),
        (
            ("maximize", "result", "kEUR", {"a": -3, "b": -5}),
            ("maximize", "jobs", "jobs", {"a": 2, "b": 1}),
        ),
    ),
    "depots": Story(
        {"Gera": 1, "Halle": 1, "Jena": 1, "Suhl": 1},
        (("two", {"Gera": 1, "Halle": 1, "Jena": 1, "Suhl": 1}, "==", 2), ("near", {"Gera": 1, "Jena": 1}, "<=", 1)),
        (
            ("maximize", "customers", "customers", {"Gera": 40, "Halle": 30, "Jena": 40, "Suhl": 30}),
            ("minimize", "rent", "EUR", {"Gera": 900, "Halle": 700, "Jena": 900, "Suhl": 700}),
            ("minimize", "distance", "km", {"Gera": 12, "Halle": 3, "Jena": 9, "Suhl": 4}),
        ),
    ),
    "cargo": Story(
        {"pallets": 9, "crates": 9, "drums": 5},
        (
            ("weight", {"pallets": 4, "crates": 2, "drums": 5}, "<=", 40),
            ("volume", {"pallets": 3, "crates": 3, "drums": 1}, "<=", 27),
        ),
        (
            ("maximize", "value", "EUR", {"pallets": 4, "crates": 2, "drums": 5}),
            ("minimize", "handling", "min", {"pallets": 6, "crates": 2, "drums": 9}),
            ("maximize", "drums", "drums", {"drums": 1}),
            ("minimize", "empty", "m3", {"pallets": -3, "crates": -3, "drums": -1}),
        ),
    ),
    "energy": Story(
        {"coal": 6, "gas": 6, "wind": 4},
        (("demand", {"coal": 3, "gas": 2, "wind": 1}, ">=", 18), ("grid", {"wind": 1, "gas": 1}, "<=", 6)),
        (
            ("minimize", "emissions", "t", {"coal": 3, "gas": 1}),
            ("minimize", "cost", "EUR", {"coal": 10, "gas": 25, "wind": 5}),
            ("maximize", "reserve", "MW", {"coal": 3, "gas": 2, "wind": 1}),
        ),
    ),
    # Ties in the first two aims are broken by the last two.
    "school": Story(
        {"maths": 4, "art": 4, "sport": 4, "music": 4},
        (
            ("lessons", {"maths": 1, "art": 1, "sport": 1, "music": 1}, "==", 9),
            ("hall", {"sport": 1, "music": 1}, "<=", 5),
        ),
        (
            ("minimize", "unmet", "lessons", {"maths": -1}),
            ("maximize", "joy", "points", {"art": 2, "sport": 2, "music": 1}),
            ("minimize", "teachers", "teachers", {"art": 1, "sport": 1, "music": 1}),
            ("minimize", "noise", "dB", {"maths": 6, "music": 5, "sport": 4, "art": 1}),
        ),
    ),
    "blend": Story(
        {"a": 10, "b": 10, "c": 10},
        (("mass", {"a": 1, "b": 1, "c": 1}, "==", 10), ("sugar", {"a": 5, "b": 2}, ">=", 24)),
        (
            ("minimize", "price", "cents", {"a": 7, "b": 3, "c": 1}),
            ("maximize", "taste", "points", {"a": 1, "b": 4, "c": 2}),
        ),
    ),
    # The aims have figures of a million and of a hundredth.
    "scales": Story(
        {"x": 7, "y": 7},
        (("room", {"x": 2, "y": 3}, "<=", 19),),
        (
            ("maximize", "sales", "EUR", {"x": 2000000, "y": 3000000}),
            ("minimize", "waste", "kg", {"x": 0.05, "y": 0.02}),
        ),
    ),
    # The second aim has the unit of the first.
    "fairness": Story(
        {"north": 6, "south": 6, "least": 6},
        (
            ("crews", {"north": 2, "south": 1}, "<=", 12),
            ("least north", {"least": 1, "north": -1}, "<=", 0),
            ("least south", {"least": 1, "south": -1}, "<=", 0),
        ),
        (
            ("maximize", "least visits", "visits", {"least": 1}),
            ("maximize", "all visits", "visits", {"north": 1, "south": 1}),
        ),
    ),
}
PROGRAMS = {
    "pulp": """
import pulp
def solve(data):
    m = pulp.LpProblem("m", pulp.LpMinimize)
    x = {name: pulp.LpVariable(name, 0, high, cat="Integer") for name, high in data["highs"].items()}
    total = lambda terms: pulp.lpSum(size * x[name] for name, size in terms.items())
    for name, terms, relation, rhs in data["rows"]:
        left = total(terms)
        m += left <= rhs if relation == "<=" else left >= rhs if relation == ">=" else left == rhs
    for number, (sense, name, unit, terms) in enumerate(data["aims"]):
        m.setObjective(total(terms) if sense == "minimize" else -total(terms))
        m.solve()
        value = pulp.value(total(terms))
        m += (total(terms) <= value + 1e-7) if sense == "minimize" else (total(terms) >= value - 1e-7)
    return {"optimized_vars": x}
""",
    "gurobipy": """
import gurobipy as gp
def solve(data):
    m = gp.Model()
    x = {name: m.addVar(0, high, vtype="I", name=name) for name, high in data["highs"].items()}
    total = lambda terms: gp.quicksum(size * x[name] for name, size in terms.items())
    for name, terms, relation, rhs in data["rows"]:
        left = total(terms)
        m.addConstr(left <= rhs if relation == "<=" else left >= rhs if relation == ">=" else left == rhs)
    m.ModelSense = gp.GRB.MINIMIZE
    for number, (sense, name, unit, terms) in enumerate(data["aims"]):
        weight = 1 if sense == "minimize" else -1
        m.setObjectiveN(total(terms), number, priority=len(data["aims"]) - number, weight=weight, name=name)
    m.optimize()
    return {"optimized_vars": x}
""",
    "ortools": """
from ortools.sat.python import cp_model
def solve(data):
    m, solver = cp_model.CpModel(), cp_model.CpSolver()
    x = {name: m.new_int_var(0, high, name) for name, high in data["highs"].items()}
    total = lambda terms: sum(round(100 * size) * x[name] for name, size in terms.items())
    for name, terms, relation, rhs in data["rows"]:
        left, rhs = total(terms), round(100 * rhs)
        m.add(left <= rhs if relation == "<=" else left >= rhs if relation == ">=" else left == rhs)
    for number, (sense, name, unit, terms) in enumerate(data["aims"]):
        objective = sum(size * x[name] for name, size in terms.items())
        (m.minimize if sense == "minimize" else m.maximize)(objective)
        solver.solve(m)
        best = round(100 * solver.objective_value)
        m.add(total(terms) <= best if sense == "minimize" else total(terms) >= best)
    return {"optimized_vars": x}
""",
}
CHECKER = """
def checks(values, data):
    def total(terms):
        return sum(size * values[name] for name, size in terms.items())
    for name, high in data["highs"].items():
        yield ("most " + name, values[name], "<=", high, f"{high} {name}")
        yield ("whole " + name, values[name], "integer", None, "")
    for name, terms, relation, rhs in data["rows"]:
        yield (name, total(terms), relation, rhs, f"{name} {relation} {rhs:g}")
    for sense, name, unit, terms in data["aims"]:
        yield (name, total(terms), sense, None, f"{sense} {name}")
"""


def formulate(folder: Path, runner: FormulationRunner, story: Story, program: str) -> tuple[str, dict]:
    """Return the headline and the result file of a formulation of a story."""
    facts = {"OBJECTIVE": [f"{aim[0]}: {aim[1]}" for aim in story.aims], "UNIT": [aim[2] for aim in story.aims]}
    data = {"highs": story.highs, "rows": list(story.rows), "aims": list(story.aims)}
    problem = ProblemText("story", story.text, json.loads(json.dumps(data)))
    program_reply = f"```json\n{json.dumps(facts)}\n```\n```python\n{program}\n```"

    async def work(case):
        return (await formulate_case(case, problem, choose_options("default"), runner)).to_plain()

    plain = play(
        folder, work, {"program": program_reply, "counterfactual": f"```python\n{CHECKER}\n```"}, program_reply
    )
    (folder / "problem.md").write_text(story.text)
    outcome = finalize(folder, FormulationResult.from_plain(plain))
    return headline(outcome), json.loads((folder / "result.json").read_text())


def cases() -> Iterator[object]:
    """Yield each story in each library; the first library of a story changes from story to story."""
    for number, name in enumerate(STORIES):
        for position, library in enumerate(PROGRAMS):
            is_fast = number % 4 == 0 and position == number // 4
            yield pytest.param(name, library, marks=() if is_fast else pytest.mark.slow, id=f"{name}-{library}")


@pytest.mark.parametrize(("name", "library"), list(cases()))
def test_each_aim_is_in_the_headline(runner: FormulationRunner, tmp_path: Path, name: str, library: str) -> None:
    pytest.importorskip(library)
    story = STORIES[name]
    first, result = formulate(tmp_path / "right", runner, story, PROGRAMS[library])
    assert (result["verdict"], result["exit_code"]) == ("checked", 0), result["reasons"]
    assert [aim["value"] for aim in result["aims"]] == pytest.approx(story.truth())
    assert [aim["sense"] for aim in result["aims"]] == [aim[0] for aim in story.aims]
    assert first.startswith("checked: ")
    places = [first.find(f"{figure(value)} {aim[2]}") for value, aim in zip(story.truth(), story.aims, strict=True)]
    assert -1 not in places
    assert places == sorted(places)
    assert result["objective"] == pytest.approx(story.truth()[0])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "buses" else pytest.mark.slow) for name in STORIES]
)
def test_aims_in_another_order_are_contradicted(runner: FormulationRunner, tmp_path: Path, name: str) -> None:
    story = STORIES[name]
    turned = replace(story, aims=story.aims[::-1])
    assert story.truth() != turned.truth()[::-1]
    program = PROGRAMS["pulp"].replace('enumerate(data["aims"])', 'enumerate(data["aims"][::-1])')
    first, result = formulate(tmp_path, runner, story, program)
    assert (result["verdict"], result["exit_code"]) == ("contradicted", 4), first
    assert first.startswith("contradicted: ")
