"""The metamorphic gives no alarm on right models, and each property names the datum of a program that breaks it."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oragent.formulate.metamorphic_tests import Property, PropertyResult, run_metamorphic_tests
from oragent.formulate.model_comparison import CheckRow, find_counterexample
from oragent.formulate.perturbations import (
    iterate_keys,
    iterate_numbers,
    map_numbers,
    permute_names,
    perturb_data,
    reverse_order,
    scale_data,
)
from oragent.formulate.problem import DEFAULT, ProgramInterface
from oragent.formulate.running import ExecutionResult, FormulationRunner, Report
from oragent.modelling.data.features import ModelFeatures, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import INFINITY, Relation, Sense, VariableKind
from oragent.modelling.data.solution import Solution, SolveStatus, SolveVerdict
from oragent.modelling.solving.model_solving import solve
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
Build = Callable[[Mapping[str, Any]], IndexedModel]


class LocalRunner:
    """Builds models by a function in this process, in place of programs in a sandbox."""

    def __init__(self, build: Build, checks: Callable[[Mapping[str, Any]], list[CheckRow]] | None = None) -> None:
        self.build, self.checks = build, checks
        self.solve: Callable[[IndexedModel], Solution] = lambda milp: solve(milp, duals=False)

    def run_program(self, source: str, interface: ProgramInterface, data: Mapping[str, Any]) -> ExecutionResult:
        interface.arguments_for(data)
        try:
            milp = self.build(data)
        except KeyError as problem:
            return ExecutionResult(SolveVerdict.RUNTIME_ERROR, str(problem))
        return ExecutionResult(None, milp=milp, solution=self.solve(milp))

    def run_checker(self, source: str, ran: ExecutionResult, data: Mapping[str, Any]) -> Report:
        if self.checks is None:
            return Report("it does not run")
        assert ran.milp is not None
        assert ran.solution is not None
        names = set(ran.milp.flat_variable_names)
        return Report("", (), find_counterexample(ran.milp, ran.solution, self.checks(data), names, 10.0))


def mix(sense: Sense = Sense.MAXIMIZE, **parts: Callable[[Mapping[str, Any]], float]) -> Build:
    """Return a program for two products: their worth minus a fee, or in a minimisation their cost plus a fee."""

    def build(data: Mapping[str, Any]) -> IndexedModel:
        names = ("hours", "least", "fee")
        figures = {name: float(parts[name](data) if name in parts else data[name]) for name in names}
        relation = Relation.AT_MOST if sense is Sense.MAXIMIZE else Relation.AT_LEAST
        rows = (
            Row("hours", {name: data["rate"][name] for name in data["price"]}, relation, figures["hours"]),
            Row("least", {"a": 1.0}, Relation.AT_LEAST, figures["least"]),
        )
        kind = VariableKind(parts["kind"](data)) if "kind" in parts else VariableKind.CONTINUOUS
        high = parts["high"](data) if "high" in parts else INFINITY
        variables = tuple(Variable(name, 0, high, kind) for name in data["price"])
        worth = parts.get("worth", lambda data: 0.0)(data)
        terms = {name: price + worth * (name == "b") for name, price in data["price"].items()}
        return IndexedModel.from_records(variables, rows, Objective(terms, sense.sign * figures["fee"]), sense)

    return build


def mix_checks(data: Mapping[str, Any]) -> list[CheckRow]:
    return [
        CheckRow("hours", dict(data["rate"]), "<=", data["hours"]),
        CheckRow("least", {"a": 1.0}, ">=", data["least"]),
        CheckRow("worth", dict(data["price"]), "maximize", data["fee"]),
    ]


def run_tests(
    build: Build,
    data: Mapping[str, Any] = DATA_OF_MIX,
    about: Mapping[str, Any] = ABOUT,
    *,
    unit: str = "EUR",
    source: str = "",
    checker: str = "",
    checks: Callable[[Mapping[str, Any]], list[CheckRow]] | None = None,
    runner: LocalRunner | None = None,
) -> dict[Property, list[PropertyResult]]:
    """Return the results of each property."""
    runner = runner or LocalRunner(build, checks)
    results: dict[Property, list[PropertyResult]] = {}
    for result in run_metamorphic_tests(runner, source, DEFAULT, data, about, unit=unit, checker=checker):  # type: ignore[arg-type]
        assert result.note or result.holds
        results.setdefault(result.property, []).append(result)
    return results


def verdicts(results: Mapping[Property, list[PropertyResult]]) -> dict[Property, list[bool | None]]:
    return {key: [result.holds for result in several] for key, several in results.items()}


def map_to_figures(value: Any) -> list[float]:
    """Return all figures of the data."""
    if isinstance(value, dict | list):
        return [
            figure for item in (value.values() if isinstance(value, dict) else value) for figure in map_to_figures(item)
        ]
    return [float(value)] if isinstance(value, int | float) else []


HOLD = {Property.MONEY: [True], Property.AMOUNTS: [True], Property.ORDER: [True], Property.TIGHTEN: [True, True]}
READS_ALL = " ".join(f"data['{name}']" for name in DATA_OF_MIX)


@pytest.mark.parametrize("sense", Sense)
def test_all_properties_hold_of_a_right_program(sense: Sense) -> None:
    """A minimisation needs at least the hours, so that its words are those of a floor."""
    about = ABOUT
    if sense is Sense.MINIMIZE:
        about = {**ABOUT, "hours": {"Unit": "hours", "Definition": "hours that are required"}}
    results = run_tests(mix(sense), about=about)
    found = verdicts(results)
    assert found.pop(Property.NAMES) == [False]  # the row "least" is about the product with the name a
    assert found == HOLD
    named = verdicts(run_tests(mix(sense), about=about, source="x['a']"))
    assert named[Property.NAMES] == [None]
    # Both money and the amounts are named with their data.
    assert (results[Property.MONEY][0].datum, results[Property.AMOUNTS][0].datum) == (
        "'price', 'fee'",
        "'hours', 'least', 'fee'",
    )
    assert [result.datum for result in results[Property.TIGHTEN]] == ["hours", "least"]


FAULTS = {
    "a fee of the text": (mix(fee=lambda data: 7.0), Property.MONEY, "'fee'"),
    "half of a fee": (mix(fee=lambda data: 3.5 + data["fee"] / 2), Property.MONEY, "'fee'"),
    "hours of the text": (mix(hours=lambda data: 40.0), Property.AMOUNTS, "'hours'"),
    "hours turned": (mix(hours=lambda data: 80 - data["hours"]), Property.TIGHTEN, "hours"),
    "least turned": (mix(least=lambda data: 6 - data["least"]), Property.TIGHTEN, "least"),
    "least of a minimisation turned": (
        mix(Sense.MINIMIZE, least=lambda data: 56 - data["least"]), Property.TIGHTEN, "least",
    ),
    "by place": (
        mix(least=lambda data: data["least"] * (1 if next(iter(data["price"])) == "a" else 2)), Property.ORDER, "'price'",
    ),
    "by name": (mix(least=lambda data: 0.0, worth=lambda data: 1.5), Property.NAMES, "'a', 'b'"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_property_that_fails_names_its_datum(fault: str) -> None:
    build, failed, datum = FAULTS[fault]
    alarms = [result for result in run_tests(build)[failed] if result.holds is False]
    assert len(alarms) == 1
    assert datum in alarms[0].datum
    assert alarms[0].note


def test_other_names_of_things_change_nothing_in_a_right_program() -> None:
    results = run_tests(mix(least=lambda data: 0.0))
    assert [(result.holds, result.datum) for result in results[Property.NAMES]] == [(True, "'a', 'b'")]
    # A program that fails with other names is not judged.
    (failed,) = run_tests(mix(least=lambda data: {5.0: 0.0}[data["price"]["a"]]))[Property.NAMES]
    assert failed.holds is None
    (unnamed,) = run_tests(lambda data: mix()({**DATA_OF_MIX, **data}), {"hours": 40, "least": 3.0})[Property.NAMES]
    assert unnamed.holds is None


def without(*names: str) -> dict[str, object]:
    return {name: about for name, about in ABOUT.items() if name not in names}


# Why money, and why amounts are not tested; True where they are.
UNTESTED: dict[str, tuple[dict[str, Any], bool | None, bool | None]] = {
    "another unit": ({"unit": "USD"}, None, True),
    "no unit of the objective": ({"unit": ""}, None, True),
    "another spelling": ({"unit": " eur "}, True, True),
    "a parameter without a unit": ({"about": without("rate")}, None, None),
    "no amounts": ({"about": {name: {"Unit": "hours/ton"} for name in ABOUT}}, None, None),
    "percent": ({"about": {name: {"Unit": "%"} for name in ABOUT}}, None, None),
    "facts that are texts": ({"about": {**ABOUT, "rate": "hours/ton"}}, None, None),
    "a figure of the program": ({"source": "x = 8"}, None, None),
    "harmless figures": ({"source": "x[0] + 1.0 / 2"}, True, True),
    "figures of the data": ({"source": "40 - 7.0 * 3e0"}, True, True),
    "a negative figure of the data": (
        {"source": "7.0", "parts": {"fee": lambda data: -data["fee"]}, "data": {**DATA_OF_MIX, "fee": -7.0}}, True, True,
    ),
    "a parameter of texts": ({"data": {**DATA_OF_MIX, "places": ["x", "y"]}}, True, True),
    "figures of texts and comments": ({"source": "'at 55'  # 66"}, True, True),
    "a figure in a name": ({"source": "x55 = row.y"}, True, True),
    "a table": ({"data": {**DATA_OF_MIX, "rows": [{"n": "x", "m": 5}]}, "about": {**ABOUT, "rows": {"Unit": "t"}}}, None, None),
    "bounded integers": ({"parts": {"kind": lambda data: "integer", "high": lambda data: 900}}, True, None),
    "integers": ({"parts": {"kind": lambda data: "integer"}}, True, True),
    "bounds": ({"parts": {"high": lambda data: 900}}, True, True),
}  # fmt: skip


@pytest.mark.parametrize("case", UNTESTED)
def test_scaled_data_are_tested_where_every_figure_is_known(case: str) -> None:
    changes, money, amounts = UNTESTED[case]
    changes = dict(changes)
    results = run_tests(mix(**changes.pop("parts", {})), **changes)
    assert [result.holds for result in results[Property.MONEY]] == [money]
    assert [result.holds for result in results[Property.AMOUNTS]] == [amounts]


def test_a_model_with_products_is_not_scaled() -> None:
    def square(data: Mapping[str, Any]) -> IndexedModel:
        features = ModelFeatures(quadratic=(QuadraticTerm("x", "x", 1.0),))
        row = Row("least", {"x": 1.0}, Relation.AT_LEAST, data["least"])
        return IndexedModel.from_records(
            (Variable("x", 0, 99),), (row,), Objective({"x": 1.0}), Sense.MINIMIZE, features=features
        )

    results = verdicts(run_tests(square, {"least": 4.0}, {"least": {"Unit": "EUR", "Definition": "required"}}))
    assert (results[Property.MONEY], results[Property.AMOUNTS]) == ([None], [None])


@pytest.mark.parametrize(
    "build",
    [
        mix(least=lambda data: 99.0),
        lambda data: mix()({**data, "rate": {"a": -1.0, "b": -1.0}}),
        lambda data: mix()(DATA_OF_MIX),
    ],
    ids=["infeasible", "unbounded", "reads nothing"],
)
def test_a_program_without_an_optimum_or_without_data_is_not_judged(build: Build) -> None:
    results = verdicts(run_tests(build, checker="data['hours']", checks=mix_checks))
    assert results == {each: [None] for each in Property}


def test_an_argument_that_the_data_lack_is_no_fault() -> None:
    interface = ProgramInterface("solve", ("hours", "workers"), "")
    results = run_metamorphic_tests(LocalRunner(mix()), "", interface, DATA_OF_MIX, ABOUT)  # type: ignore[arg-type]
    assert {result.holds for result in results} == {None}


TIGHTENED: dict[str, tuple[Build, Mapping[str, Any], list[bool]]] = {
    # The figure is a price too, and a coefficient.
    "a price": (mix(worth=lambda data: data["hours"] - 40), {}, [True]),
    "a coefficient": (lambda data: mix()({**data, "rate": {"a": data["least"], "b": 1.5}}), {}, [True]),
    "a kind": (mix(kind=lambda data: "integer" if data["hours"] < 39 else "continuous"), {}, [True]),
    "both words": (mix(), {"hours": {"Definition": "available, at least"}}, [True]),
    "no words": (mix(), {"hours": {"Definition": "hours"}, "least": {"Definition": ""}}, []),
    "a list": (mix(), {"rate": {"Definition": "maximum"}}, [True, True]),
}


@pytest.mark.parametrize("case", TIGHTENED)
def test_only_figures_that_are_limits_are_tightened(case: str) -> None:
    build, words, expected = TIGHTENED[case]
    about = {name: {**ABOUT[name], **words.get(name, {})} for name in ABOUT}
    assert verdicts(run_tests(build, about=about)).get(Property.TIGHTEN, []) == expected


@pytest.mark.parametrize(("value", "count"), [(0.0, 0), (-2.0, 0), (True, 0), (0.5, 1)])
def test_figures_that_are_not_above_zero_are_not_tightened(value: float, count: int) -> None:
    results = run_tests(mix(), {**DATA_OF_MIX, "least": value})
    assert [result.datum for result in results[Property.TIGHTEN]] == ["hours", "least"][: 1 + count]


def test_a_limit_is_tightened_by_a_tenth() -> None:
    """The steps are seen in the models that are solved; one without a plan is passed over."""
    seen = []

    def build(data: Mapping[str, Any]) -> IndexedModel:
        seen.append((data["hours"], data["least"], data["cap"]))
        milp = mix()(data)
        return milp.with_records(rows=(*milp.row_records, Row("cap", {"b": 1.0}, Relation.AT_MOST, data["cap"])))

    data = {**DATA_OF_MIX, "hours": 6.0, "least": 3.0, "cap": 50.0}
    about = {**ABOUT, "cap": {"Unit": "tons", "Definition": "at most"}}
    results = run_tests(build, data, about)
    rounded = {tuple(round(figure, 9) for figure in figures) for figures in seen}
    assert {(5.4, 3.0, 50.0), (6.0, 3.3, 50.0), (6.0, 3.0, 45.0)} <= rounded
    assert [(result.datum, result.holds) for result in results[Property.TIGHTEN]] == [("cap", True)]


@pytest.mark.parametrize(
    ("sense", "before", "bound", "after", "holds"),
    [
        # The optimum lies between the point and the bound.
        (Sense.MAXIMIZE, 100.0, 110.0, 105.0, True),
        (Sense.MAXIMIZE, 100.0, 110.0, 111.0, False),
        (Sense.MINIMIZE, 100.0, 90.0, 95.0, True),
        (Sense.MINIMIZE, 100.0, 90.0, 89.0, False),
        # A millionth of the objective, or of 1 for small ones.
        (Sense.MAXIMIZE, 1e6, 1e6, 1e6 + 0.5, True),
        (Sense.MAXIMIZE, 1e6, 1e6, 1e6 + 2.0, False),
        (Sense.MAXIMIZE, -1e6, -1e6, -1e6 + 0.5, True),
        (Sense.MAXIMIZE, 0.1, 0.1, 0.1 + 5e-7, True),
        (Sense.MAXIMIZE, 0.1, 0.1, 0.1 + 1.5e-6, False),
    ],
)
def test_a_tightened_limit_gives_no_better_optimum_than_the_bound(
    sense: Sense, before: float, bound: float, after: float, holds: bool
) -> None:
    runner = LocalRunner(mix(sense))
    status = SolveStatus.OPTIMAL if before == bound else SolveStatus.FEASIBLE

    def solve_by_hand(milp: IndexedModel) -> Solution:
        if milp.row_records[0].rhs in (40.0, 81.0):
            return Solution(status, objective=before - (milp.row_records[0].rhs != 40.0), bound=bound)
        return Solution(SolveStatus.OPTIMAL, objective=after, bound=after)

    runner.solve = solve_by_hand
    results = run_tests(runner.build, about=ABOUT | {"least": {"Unit": "tons"}}, runner=runner)
    assert verdicts(results)[Property.TIGHTEN] == [holds]


def test_at_most_eight_parameters_are_tightened_and_six_named() -> None:
    names = [f"limit{at}" for at in "abcdefghi"]

    def build(data: Mapping[str, Any]) -> IndexedModel:
        rows = tuple(Row(name, {name: 1.0}, Relation.AT_MOST, data[name]) for name in names)
        return IndexedModel.from_records(
            tuple(map(Variable, names)), rows, Objective(dict.fromkeys(names, 1.0)), Sense.MAXIMIZE
        )

    about = {name: {"Unit": "t", "Definition": "at most"} for name in names}
    results = run_tests(build, dict.fromkeys(names, 5.0), about, unit="t")
    assert verdicts(results)[Property.TIGHTEN] == [True] * 8
    assert results[Property.AMOUNTS][0].datum.count("limit") == results[Property.ORDER][0].datum.count("limit") == 6


@pytest.mark.parametrize(
    ("data", "holds"),
    [
        ({"rate": {"a": 2.0, "b": 1.5}}, True),
        ({"rate": {"jan": 2.0, "feb": 1.5}}, None),
        ({"rows": [{"n": "x", "m": 5.5}, {"n": "y", "m": 2.5}]}, True),
        ({"rows": [{"n": "x", "m": 1}, {"n": "y", "m": 2}]}, None),
        ({"rate": 3.0}, None),
    ],
)
def test_only_an_order_without_meaning_is_changed(data: dict[str, Any], holds: bool | None) -> None:
    def build(data: Mapping[str, Any]) -> IndexedModel:
        figure = sum(map_to_figures(data))
        return IndexedModel.from_records((Variable("x", 0, figure),), (), Objective({"x": 1.0}), Sense.MAXIMIZE)

    assert verdicts(run_tests(build, data, {}))[Property.ORDER] == [holds]


def test_program_and_checker_are_compared_on_other_figures() -> None:
    def agreement(build: Build, checks: Any = mix_checks, checker: str = READS_ALL) -> list[PropertyResult]:
        return run_tests(build, checker=checker, checks=checks).get(Property.AGREE, [])

    assert [result.holds for result in agreement(mix())] == [True] * 3
    # One failure is enough, and it names the row of the checker.
    (failed,) = agreement(mix(hours=lambda data: 40.0))
    assert (failed.holds, failed.datum) == (False, "'hours'")
    assert failed.note
    assert agreement(mix(), checker="") == []
    assert [result.holds for result in agreement(mix(), checker="data.hours")] == [None]
    # Figures that the checker does not read stay as they are.
    least = mix(least=lambda data: 3.0)
    assert [result.holds for result in agreement(least, checker='data["hours"]')] == [True] * 3
    assert agreement(least, checker="data['least']")[-1].holds is False
    undecided = agreement(mix(), checks=None)
    assert [(result.holds, result.datum) for result in undecided] == [(None, f"try {at}") for at in (1, 2, 3)]
    assert {result.note for result in undecided} == {"it does not run"}
    broken = agreement(mix(fee=lambda data: {7.0: 7.0, 15.0: 15.0, 21.0: 21.0}[data["fee"]]))
    assert [(result.holds, result.datum) for result in broken] == [(None, f"try {at}") for at in (1, 2, 3)]


class GappedRunner(LocalRunner):
    """Proves less than the solver: each optimum lies within 1 % of the point, and every second point is worse."""

    def __init__(self, build: Build) -> None:
        super().__init__(build)
        self.calls = 0

        def solve_roughly(milp: IndexedModel) -> Solution:
            solution = solve(milp, duals=False)
            if solution.objective is None:
                return solution
            self.calls += 1
            point = solution.objective - 0.005 * abs(solution.objective) * (self.calls % 2)
            return replace(solution, status=SolveStatus.FEASIBLE, objective=point, bound=solution.objective + 0.1)

        self.solve = solve_roughly


def test_an_answer_within_a_gap_is_tested_and_gives_no_false_alarm() -> None:
    results = verdicts(run_tests(mix(), runner=GappedRunner(mix())))
    assert {key for key in HOLD if key is not Property.AMOUNTS} == {
        key for key, value in results.items() if all(value) and value[0]
    } - {Property.AMOUNTS}
    wrong = mix(fee=lambda data: 50.0)
    results = verdicts(run_tests(wrong, {**DATA_OF_MIX, "fee": 50.0}, runner=GappedRunner(wrong)))
    assert results[Property.MONEY] == [False]


def test_a_program_that_is_not_solved_in_time_with_other_data_is_not_judged() -> None:
    runner = LocalRunner(mix())
    solutions = iter([True, True])

    def solve_twice(milp: IndexedModel) -> Solution:
        return solve(milp, duals=False) if next(solutions, False) else Solution(SolveStatus.UNKNOWN)

    runner.solve = solve_twice
    results = verdicts(run_tests(mix(), runner=runner))
    assert (results[Property.MONEY], results[Property.ORDER]) == ([None], [None])
    # An infeasible one has no optimum where one is expected.
    turned = mix(least=lambda data: data["least"] if next(iter(data["price"])) == "a" else 99.0)
    assert verdicts(run_tests(turned))[Property.ORDER] == [False]


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


def test_figures_are_shaken_by_a_third_and_counts_stay() -> None:
    data = {"f": [100.0, -50.0, 0.5], "i": [11, 1000, -1000, -11], "small": [10, -10, 0, 1], "other": [True, "7", None]}
    factors = []
    for seed in range(50):
        moved = perturb_data(data, np.random.default_rng(seed))
        assert (moved["small"], moved["other"]) == (data["small"], data["other"])
        assert all(isinstance(value, int) for value in moved["i"])
        factors += [new / old for new, old in zip(moved["f"], data["f"], strict=True)]
        assert all(abs(new / old - 1) <= 0.3 + 0.5 / abs(old) for new, old in zip(moved["i"], data["i"], strict=True))
    assert 0.7 <= min(factors) < 0.72
    assert 1.28 < max(factors) <= 1.3
    assert any(perturb_data(data, np.random.default_rng(seed))["i"][0] != 11 for seed in range(9))


@pytest.mark.parametrize(
    ("value", "numbers"),
    [({"a": [1, True, "2", None, {"b": 2.5}]}, [1.0, 2.5]), (7, [7.0]), ("x", []), ([], [])],
)
def test_numbers_of_data_are_found_and_mapped(value: object, numbers: list[float]) -> None:
    assert list(iterate_numbers(value)) == numbers
    assert list(iterate_numbers(map_numbers(value, lambda figure: 3 * figure))) == [3 * figure for figure in numbers]
    assert scale_data({"p": value, "q": 5}, ["p"], 2.0) == {
        "p": map_numbers(value, lambda figure: 2.0 * figure),
        "q": 5,
    }
    assert list(iterate_keys({"a": {"b": 1}, "c": [{"d": 2}]})) == ["a", "b", "c", "d"]


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


@pytest.mark.parametrize(
    ("data", "new", "names"),
    [
        ({"cost": {"Gera": 1, "Jena": 2}}, {"cost": {"Jena": 1, "Gera": 2}}, ("Gera", "Jena")),
        ({"cost": {"Gera": 1}, "room": {"Gera": 2}}, {"cost": {"Gera": 1}, "room": {"Gera": 2}}, ()),
        ({"cost": 1}, {"cost": 1}, ()),
    ],
)
def test_only_names_beside_others_are_permuted(data: dict, new: dict, names: tuple[str, ...]) -> None:
    assert permute_names(data) == (new, names)


def rows_of(*figures: object) -> list[dict[str, object]]:
    """A table with a name and a figure in each row; None stands for no figure."""
    return [
        {"n": f"name {'abcdef'[at]}"} | ({} if figure is None else {"v": figure}) for at, figure in enumerate(figures)
    ]


@pytest.mark.parametrize(
    ("data", "is_turned"),
    [
        ({"t": rows_of(1, 2, 7)}, True), ({"t": rows_of(1, 2, 3)}, False), ({"t": rows_of(7, 8, 9)}, False), ({"t": rows_of(3, 2, 1)}, True), ({"t": rows_of(2, 2, 2)}, True),
        ({"t": rows_of(1, None, 2)}, True), ({"t": rows_of(1, 2, None)}, True), ({"t": rows_of(1.0, 2.0, 3.0)}, True), ({"t": rows_of("1", "2", "3")}, False),
        # Another list of the same length may belong to the rows; a table with names does not, and one without does.
        ({"t": rows_of(5, 2), "u": [1, 2]}, False), ({"t": rows_of(5, 2), "u": [1, 2, 3]}, True), ({"t": rows_of(5, 2), "u": {"deep": [[7, 8]]}}, False), ({"t": rows_of(5, 2), "u": rows_of(9, 3)}, True),
        ({"t": rows_of(5, 2), "u": [{"v": 9}, {"v": 3}]}, False), ({"t": rows_of(5, 2), "u": [{"v": 9}, {"v": 3}, {"v": 4}]}, True),
        ({"t": [{"n": "week a", "v": 5}, {"n": "b", "v": 2}]}, False), ({"t": [{"n": "a", "last_v": 5}, {"n": "b", "last_v": 2}]}, False),
    ],
)  # fmt: skip
def test_a_table_is_turned_if_neither_its_rows_nor_other_lists_count_them(
    data: dict[str, Any], is_turned: bool
) -> None:
    assert reverse_order(data)["t"] == (data["t"][::-1] if is_turned else data["t"])
    assert sorted(reverse_order(data)) == sorted(data)


def test_objects_are_turned_on_each_level_unless_their_names_have_an_order() -> None:
    data = {"x": {"b": {"q": 1, "p": 2}, "a": {"Monday": 1, "Friday": 2}}, "y": [3, 1], "z": rows_of(5, 2)}
    turned = reverse_order(data)
    assert (list(turned), list(turned["x"]), list(turned["x"]["b"]), list(turned["x"]["a"])) == (
        ["z", "y", "x"], ["a", "b"], ["p", "q"], ["Monday", "Friday"],
    )  # fmt: skip
    assert turned["y"] == [3, 1]
    assert list(reverse_order({"y2": 1, "x": 2})) == ["y2", "x"]


@pytest.mark.parametrize(
    ("data", "names"),
    [
        # The values of an object with names of objects have one kind.
        ({"p": {"ab": 1, "cd": 2.5}}, ("ab", "cd")), ({"p": {"ab": 1, "cd": "x"}}, ()), ({"p": {"ab": True, "cd": 2}}, ()), ({"p": {"ab": 1}}, ()), ({"p": [1, 2]}, ()),
        ({"p": {"ef": {"ab": 1, "cd": 2}, "gh": {"cd": 1, "ab": 2}}}, ("ef", "gh", "ab", "cd")), ({"p": {"ab": 1, "day": 2}}, ()), ({"p": {"x1": 1, "x2": 2}}, ()),
        # Groups that share a name are permuted once.
        ({"p": {"ab": 1, "cd": 2}, "q": {"cd": 1, "ef": 2}}, ("ab", "cd")), ({"p": {"cd": 1, "ab": 2, "ef": 3}}, ("ab", "cd", "ef")),
    ],
)  # fmt: skip
def test_names_of_objects_are_keys_of_values_of_one_kind(data: dict[str, Any], names: tuple[str, ...]) -> None:
    new, permuted = permute_names(data)
    assert permuted == names
    assert set(iterate_keys(new)) == set(iterate_keys(data))
    if len(names) in (2, 3):
        # Each name has the next one in its place.
        following = dict(zip(names, (*names[1:], names[0]), strict=True))
        assert new["p"] == {following[name]: value for name, value in data["p"].items()}
