"""The metamorphic gives no alarm on right models, and each property names the datum of a program that breaks it."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from oragent.formulate.metamorphic_tests import Property, run_metamorphic_tests
from oragent.formulate.perturbations import permute_names, perturb_data, reverse_order
from oragent.formulate.problem import DEFAULT
from oragent.formulate.running import ExecutionResult, FormulationRunner
from oragent.modelling.data.solution import SolveStatus
from oragent_benchmarks.families import FAMILIES
from oragent_benchmarks.formulate.mock_models import Error, Fault, checker_of, parameters_of, plant_error, program_of
from oragent_benchmarks.formulate.sets import read_set
from tests.formulate import transport
from tests.formulate.data import DATA, with_data

ABOUT = {
    "price": {"Unit": "EUR per ton", "Definition": "what a ton earns"},
    "hours": {"Unit": "hours", "Definition": "hours that are available"},
    "least": {"Unit": "tons", "Definition": "tons that are required"},
    "rate": {"Unit": "hours/ton", "Definition": "hours a ton takes"},
    "fee": {"Unit": "EUR", "Definition": "a fee"},
}
DATA_OF_MIX = {"price": {"a": 5.0, "b": 4.0}, "hours": 40, "least": 3.0, "rate": {"a": 2.0, "b": 1.5}, "fee": 7.0}
PROGRAM = """
import pulp
def solve(data):
    problem = pulp.LpProblem("mix", pulp.LpMaximize)
    x = {{name: pulp.LpVariable(name, 0) for name in data["price"]}}
    problem += pulp.lpSum(data["price"][n] * x[n] for n in x) - {fee}
    problem += pulp.lpSum(data["rate"][n] * x[n] for n in x) <= {hours}, "hours"
    problem += x["a"] >= {least}, "least"
    problem.solve()
    return {{"optimized_vars": x}}
"""
RIGHT = {"fee": 'data["fee"]', "hours": 'data["hours"]', "least": 'data["least"]'}
CHECKER = """
def checks(values, data):
    yield ("hours", sum(data["rate"][n] * values[n] for n in values), "<=", data["hours"], "")
    yield ("least", values["a"], ">=", data["least"], "")
    yield ("worth", sum(data["price"][n] * values[n] for n in values) - data["fee"], "maximize", None, "")
"""


def tried(runner: FormulationRunner, data=DATA_OF_MIX, checker: str = CHECKER, **parts: str):
    source = PROGRAM.format(**{**RIGHT, **parts})
    return run_metamorphic_tests(runner, source, DEFAULT, data, ABOUT, unit="EUR", checker=checker)


@pytest.mark.slow
def test_all_properties_hold_of_a_right_program(runner: FormulationRunner) -> None:
    found = tried(runner)
    assert {one.property for one in found} == set(Property)
    assert all(one.holds for one in found if one.property is not Property.NAMES), found
    assert next(one for one in found if one.property is Property.NAMES).note == "the program contains names of the data"
    assert sum(one.property is Property.TIGHTEN for one in found) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "failed", "datum"),
    [
        ({"fee": "7.0"}, Property.MONEY, "'fee'"),
        ({"hours": "40.0"}, Property.AMOUNTS, "'hours'"),
        ({"hours": '80 - data["hours"]'}, Property.TIGHTEN, "hours"),
        ({"least": '6 - data["least"]'}, Property.TIGHTEN, "least"),
        ({"least": '(1 if list(data["price"])[0] == "a" else 2) * data["least"]'}, Property.ORDER, "'price'"),
        ({"hours": '40 + 0 * data["hours"]'}, Property.AGREE, "'hours'"),
    ],
)
def test_a_property_that_fails_names_its_datum(runner: FormulationRunner, parts, failed: Property, datum: str) -> None:
    alarms = [one for one in tried(runner, **parts) if one.holds is False]
    assert failed in {one.property for one in alarms}
    assert any(datum in one.datum for one in alarms if one.property is failed)


STOCK = """
import pulp
def solve(data):
    weeks, names = data["weeks"], [row["article"] for row in data["articles"]]
    problem = pulp.LpProblem("stock", pulp.LpMaximize)
    make = pulp.LpVariable.dicts("make", names, 0)
    sell = pulp.LpVariable.dicts("sell", names, 0)
    for place, row in enumerate(data["articles"]):
        n = row["article"]
        problem += sell[n] <= data["sales"], "sales " + n
        problem += sell[n] <= data["yield"] * make[n], "yield " + n
        problem += make[n] * sum(data["hours"][place]) <= row["id"] + weeks[-1]["left"] - weeks[0]["left"], "hours " + n
    problem += pulp.lpSum(row["EUR"] * sell[row["article"]] for row in data["articles"]) - 250.5, "profit"
    problem.solve()
    return {"optimized_vars": {"make": make, "sell": sell}}
"""
TABLES = {
    "articles": [{"article": "Öl", "EUR": 4.5, "id": 400}, {"article": "Essig", "EUR": 3.0, "id": 300}],
    "hours": [[2.0, 1.0], [1.5, 4.0]], "weeks": [{"t": 1, "left": 90}, {"t": 2, "left": 120}, {"t": 3, "left": 150}],
    "sales": 55, "yield": 0.5,
}  # fmt: skip
ABOUT_TABLES = {
    "articles": {"Unit": "EUR", "Definition": "articles with price and hours"}, "hours": {"Unit": "hours"},
    "weeks": {"Unit": "hours"}, "sales": {"Unit": "tons", "Definition": "demand, which limits what is sold"},
    "yield": {"Unit": "%", "Definition": "yield that is required of the press"},
}  # fmt: skip


def test_a_right_program_with_tables_gives_no_alarm(runner: FormulationRunner) -> None:
    """Columns with units of their own, figures of the text, data told by place, an order in numbers, limits by name."""
    found = run_metamorphic_tests(runner, STOCK, DEFAULT, TABLES, ABOUT_TABLES, unit="EUR")
    assert not [one for one in found if one.holds is False]
    assert "units of their own" in next(one.note for one in found if one.property is Property.MONEY)
    rich = {name: value for name, value in TABLES.items() if name != "articles"} | {"price": {"a": 2.0}}
    assert reverse_order(rich)["weeks"] == TABLES["weeks"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("program", [transport.PROGRAM, transport.FLAT])
def test_right_programs_of_transport_give_no_alarm(runner: FormulationRunner, seed: int, program: str) -> None:
    tables = {"works": "EUR", "customers": "t", "freight": "EUR per t"}
    about = {name: {"Unit": unit, "Definition": f"{name} with capacity, demand, cost"} for name, unit in tables.items()}
    checker = transport.CHECKER if program == transport.PROGRAM else ""
    found = run_metamorphic_tests(
        runner, program, DEFAULT, transport.data(seed=seed), about, unit="EUR", checker=checker
    )
    assert not [one for one in found if one.holds is False]
    assert any(one.holds for one in found)


def test_equal_whole_numbers_stay_equal_when_figures_are_shaken() -> None:
    data = {"a": [{"id": 101, "cost": 20.5}, {"id": 102, "cost": 20.5}], "b": {"of": 101, "to": 102}}
    moved = perturb_data(data, np.random.default_rng(0))
    assert [row["id"] for row in moved["a"]] == [moved["b"]["of"], moved["b"]["to"]]
    assert moved["a"][0]["cost"] != moved["a"][1]["cost"]


@pytest.mark.slow
@pytest.mark.parametrize(("worth", "holds"), [("0", True), ("ord(n) % 2", False)])
def test_other_names_of_things_change_nothing_in_a_right_program(
    runner: FormulationRunner, worth: str, holds: bool
) -> None:
    source = (
        "import pulp\ndef solve(data):\n    problem = pulp.LpProblem('mix', pulp.LpMaximize)\n"
        "    x = {n: pulp.LpVariable(n, 0) for n in data['price']}\n"
        f"    problem += pulp.lpSum((data['price'][n] + {worth}) * x[n] for n in x)\n"
        "    problem += pulp.lpSum(data['rate'][n] * x[n] for n in x) <= data['hours'], 'hours'\n"
        "    problem.solve()\n    return {'optimized_vars': x}\n"
    )
    (found,) = (
        one for one in run_metamorphic_tests(runner, source, DEFAULT, DATA_OF_MIX, ABOUT) if one.property is Property.NAMES
    )  # fmt: skip
    assert (found.holds, found.datum) == (holds, "'a', 'b'")


def test_names_are_permuted_wherever_they_stand_and_fields_and_places_in_time_stay() -> None:
    data = {
        "price": {"bolt": 2, "nut": 3}, "kinds": ["nut", "bolt"], "stock": [{"item": "nut", "left": 4}],
        "demand": {"January": 1, "May": 2}, "at": {"p1": {"bolt": 1, "nut": 0}}, "plant": {"name": "x", "size": 3},
    }  # fmt: skip
    new, names = permute_names(data)
    assert names == ("bolt", "nut")
    assert new == {
        "price": {"nut": 2, "bolt": 3}, "kinds": ["bolt", "nut"], "stock": [{"item": "bolt", "left": 4}],
        "demand": {"January": 1, "May": 2}, "at": {"p1": {"nut": 1, "bolt": 0}}, "plant": {"name": "x", "size": 3},
    }  # fmt: skip
    assert list(reverse_order(data)["price"]) == ["nut", "bolt"]
    assert list(reverse_order(data)["demand"]) == ["January", "May"]


def test_a_program_that_reads_no_data_is_not_judged(runner: FormulationRunner) -> None:
    source = program_of(FAMILIES["knapsack"](1, 4).milp)
    assert all(one.holds is None for one in run_metamorphic_tests(runner, source, DEFAULT, {}, {}))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["product_mix", "knapsack", "diet", "transport", "lot_sizing", "investment"])
def test_right_models_of_families_give_no_alarm(runner: FormulationRunner, family: str) -> None:
    assert Counter(one.holds for one in put(runner, FAMILIES[family](1, 3).milp))[False] == 0


def test_an_error_that_the_optimum_does_not_show_is_found_on_other_figures(runner: FormulationRunner) -> None:
    """Dropping a row with room leaves the answer right; on other figures program and checker part."""
    gold = FAMILIES["product_mix"](1, 3).milp
    error = Error(Fault.DROP, "hours on lathe")
    wrong = run_metamorphic_tests(
        runner, program_of(plant_error(gold, error), parameters_of(gold)), DEFAULT, parameters_of(gold), {},
        checker=checker_of(gold), seed=1,
    )  # fmt: skip
    assert {one.property for one in wrong if one.holds is False} == {Property.AGREE}
    assert "hours on lathe" in next(one.datum for one in wrong if one.holds is False)


def put(runner: FormulationRunner, milp):
    units = {
        "Worth": "money per unit", "Constant": "money", "Coefficients": "amount per unit", "Limits": "amount",
        "Least": "unit", "Most": "unit",
    }  # fmt: skip
    about = {name: {"Unit": unit, "Definition": name} for name, unit in units.items()}
    return run_metamorphic_tests(
        runner, program_of(milp), DEFAULT, parameters_of(milp), about, unit="money", checker=checker_of(milp)
    )  # fmt: skip


@pytest.mark.slow
@with_data
def test_no_gold_model_of_the_verified_set_gives_an_alarm(runner: FormulationRunner) -> None:
    cases = read_set(f"nl4opt={DATA}/nl4opt/nl4opt_verified.json").cases
    alarms = [(case.problem.name, one) for case in cases for one in put(runner, case.gold) if one.holds is False]
    assert len(cases) == 222
    assert alarms == []


class Gapped:
    """A runner that proves less than the true one: each optimum lies within 1 % of the point that is returned."""

    def __init__(self, runner: FormulationRunner, worse: float = 0.0) -> None:
        self.runner, self.worse, self.calls = runner, worse, 0

    def run_program(self, source, interface, data) -> ExecutionResult:
        ran = self.runner.run_program(source, interface, data)
        if ran.status is not SolveStatus.OPTIMAL:
            return ran
        self.calls += 1
        point = ran.objective - 0.005 * abs(ran.objective) * (self.calls % 2)  # it maximises: now and then it is worse
        solution = replace(ran.solution, status=SolveStatus.FEASIBLE, objective=point, bound=ran.objective + 0.1)
        return replace(ran, solution=solution)

    def run_checker(self, source, ran, data):
        return self.runner.run_checker(source, ran, data)


@pytest.mark.slow
def test_an_answer_within_a_gap_is_tried_and_gives_no_false_alarm(runner: FormulationRunner) -> None:
    source = PROGRAM.format(**RIGHT)
    found = run_metamorphic_tests(Gapped(runner), source, DEFAULT, DATA_OF_MIX, ABOUT, unit="EUR", checker=CHECKER)
    assert {one.property for one in found if one.holds} >= {Property.MONEY, Property.ORDER, Property.TIGHTEN}
    assert not [one for one in found if one.holds is False]
    wrong = run_metamorphic_tests(Gapped(runner), PROGRAM.format(**{**RIGHT, "fee": "50"}), DEFAULT, DATA_OF_MIX | {"fee": 50.0},
                        ABOUT, unit="EUR")  # fmt: skip
    assert [one for one in wrong if one.property is Property.MONEY and one.holds is False]
