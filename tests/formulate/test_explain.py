"""An answer is explained in the words of the problem: what binds, what a unit more is worth, what would change it."""

from types import SimpleNamespace

import pytest

from oragent.formulate.explain import (
    add_sentences,
    constraint_sentences,
    group_decisions,
)
from oragent.formulate.problem import DEFAULT
from oragent.formulate.prompting import PoolEntry
from oragent.formulate.running import FormulationRunner
from oragent.modelling.data.names import group_by_names
from oragent.modelling.operations.explanation import explain
from oragent.modelling.solving.inverse_costs import inverse_costs
from oragent.modelling.solving.model_solving import point_vector

STEEL = {
    "products": ["bands", "coils", "plate"], "rate": [200, 140, 160], "profit": [25, 30, 29],
    "least": [1000, 500, 750], "most": [6000, 4000, 3500], "hours": 40,
}  # fmt: skip
PROGRAM = """
import pulp
def solve(data):
    problem = pulp.LpProblem("steel", pulp.LpMaximize)
    tons = [pulp.LpVariable(n, data["least"][i], data["most"][i]) for i, n in enumerate(data["products"])]
    problem += pulp.lpSum(data["profit"][i] * tons[i] for i in range(3))
    problem += pulp.lpSum(tons[i] * {share} for i in range(3)) <= data["hours"], "hours_a_week"
    problem.solve()
    return {{"status": pulp.LpStatus[problem.status], "optimized_vars": {{"tons": tons}}}}
"""


@pytest.mark.slow
def test_the_published_steel_mill_is_solved_from_its_data_and_explained(runner: FormulationRunner) -> None:
    ran = runner.run_program(PROGRAM.format(share='(1 / data["rate"][i])'), DEFAULT, STEEL)
    assert ran.objective == pytest.approx(194828.5714, abs=5e-5)
    assert ran.values == {"tons": [6000.0, 500.0, pytest.approx(1028.5714, abs=5e-5)]}
    assert ran.milp is not None
    (hours,) = [entry for entry in explain(group_by_names(ran.milp)).ranges if entry.of == "right-hand side"]
    assert hours.name == "hours_a_week"
    assert (hours.low, hours.high) == (pytest.approx(38.2589, abs=1e-4), pytest.approx(55.4464, abs=1e-4))
    assert hours.price is not None
    assert hours.price.value == pytest.approx(4640)


@pytest.mark.slow
def test_the_error_of_the_published_repair_names_its_line(runner: FormulationRunner) -> None:
    ran = runner.run_program(PROGRAM.format(share='tons[i] ** -1 * data["rate"][i]'), DEFAULT, STEEL)
    assert "TypeError" in ran.message
    assert "line 7, in solve" in ran.traceback or "line 7, in <genexpr>" in ran.traceback


def test_what_would_make_another_solution_optimal_is_the_least_change_of_costs(runner: FormulationRunner) -> None:
    ran = runner.run_program(PROGRAM.format(share='(1 / data["rate"][i])'), DEFAULT, STEEL)
    assert ran.milp is not None
    point = point_vector(ran.milp, {"bands": 6000, "coils": 743.75, "plate": 750})
    costs = inverse_costs(ran.milp.to_staged_arrays(), point)
    assert costs is not None
    new = dict(zip(ran.milp.flat_variable_names, costs.tolist(), strict=True))
    # No more an hour than coils earn; the others stay.
    assert new == {**ran.milp.objective_record.terms, "plate": pytest.approx(30 * 140 / 160)}


def test_rows_get_the_sentences_that_the_formalization_gives(runner: FormulationRunner) -> None:
    said = {"CONSTRAINTS": ["Hours a week: \\sum t_i / r_i \\le 40 -- the mill runs 40 hours a week", "odd", 5]}
    known = constraint_sentences([PoolEntry("formalization", "", said), PoolEntry("compiler", "text")])
    ran = runner.run_program(PROGRAM.format(share='(1 / data["rate"][i])'), DEFAULT, STEEL)
    assert ran.milp is not None
    assert add_sentences(ran.milp, known).row_records[0].meaning == "the mill runs 40 hours a week"


TUPLES = """
import pulp
def solve(data):
    problem = pulp.LpProblem("m", pulp.LpMinimize)
    ship = {(p, s, w): pulp.LpVariable(f"ship[{p},{s},{w}]", 1) for p in data["plants"] for s in data["shops"]
            for w in range(1, 3)}
    serves = {(p, s): pulp.LpVariable(f"serves[{p},{s}]", 1) for p in data["plants"] for s in data["shops"]}
    problem += pulp.lpSum(ship.values()) + pulp.lpSum(serves.values())
    problem.solve()
    return {"optimized_vars": {"ship": ship, "serves": serves}}
"""


def test_keys_that_are_tuples_of_labels_are_indices(runner: FormulationRunner) -> None:
    data = {"plants": ["Köln", "Lyon"], "shops": ["Shop 01", "Shop 02"]}
    ran = runner.run_program(TUPLES, DEFAULT, data)
    assert ran.milp is not None
    assert ran.solution is not None
    found = SimpleNamespace(columns=ran.columns, data=data, pool=(), intervals=(), is_schedule=False)
    by_name = {family.name: family for family in group_decisions(found, ran.milp, ran.solution)}
    assert ("Lyon", "Shop 01", "2") in by_name["ship"].entries
    assert ("Köln", "Shop 01") in by_name["serves"].entries
