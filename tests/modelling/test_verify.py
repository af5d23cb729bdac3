"""``verify``: values, printed output of programs, and models against a model; truths by enumeration."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.files.model_files import write
from oragent.modelling.operations import ModelSession, SolveLimits
from oragent.modelling.operations.points import parse_output
from oragent.modelling.operations.verifying import match_optima

# Cost to open a site and to serve a client from it.
RENT = {"Lyon": 30.0, "Nice": 25.0}
COST = {("Lyon", "a"): 4.0, ("Lyon", "b"): 9.0, ("Nice", "a"): 8.0, ("Nice", "b"): 3.0}
CLIENTS = ("a", "b")


def sites(form: str) -> IndexedModel:
    """Facility location; ``strong`` links by client, ``weak`` by site, ``wrong`` not at all."""
    builder = IndexedModelBuilder(form)
    builder.add_set("site", tuple(RENT))
    builder.add_set("client", CLIENTS)
    builder.add_parameter("rent", ["site"], {(site,): value for site, value in RENT.items()})
    opened = builder.add_variables("open", ["site"], low=0, high=1, kind="integer")
    serve = builder.add_variables("serve", ["site", "client"], low=0, high=1, kind="integer")
    place = {key: int(at) for key, at in zip(builder.keys("serve"), serve, strict=True)}
    at = dict(zip(RENT, map(int, opened), strict=True))
    rows = [[(place[site, client], 1.0) for site in RENT] for client in CLIENTS]
    _add_rows(builder, "once", ["client"], "=", rows, 1.0)
    if form == "strong":
        rows = [[(place[key], 1.0), (at[key[0]], -1.0)] for key in COST]
        _add_rows(builder, "link", ["site", "client"], "<=", rows, 0.0)
    elif form == "weak":
        rows = [[*((place[site, client], 1.0) for client in CLIENTS), (at[site], -2.0)] for site in RENT]
        _add_rows(builder, "link", ["site"], "<=", rows, 0.0)
    builder.set_objective("cost", "minimize", opened, builder.cells("rent"))
    builder.set_objective("cost", "minimize", serve, np.array([COST[key] for key in builder.keys("serve")]))
    return builder.build()


def _add_rows(
    builder: IndexedModelBuilder,
    name: str,
    sets: list[str],
    relation: str,
    rows: list[list[tuple[int, float]]],
    rhs: float,
) -> None:
    lines = [line for line, row in enumerate(rows) for _ in row]
    columns = [column for row in rows for column, _ in row]
    values = np.array([value for row in rows for _, value in row])
    builder.add_rows(name, sets, relation, rows=lines, columns=columns, values=values, rhs=rhs)


def best_cost() -> float:
    """The optimum by enumeration of the sites that are open."""
    return min(
        sum(RENT[site] for site in chosen) + sum(min(COST[site, client] for site in chosen) for client in CLIENTS)
        for size in (1, 2)
        for chosen in itertools.combinations(RENT, size)
    )


def session(tmp_path: Path, **limits: int) -> ModelSession:
    return ModelSession(sites("strong"), SolveLimits(**limits), folder=tmp_path)


def test_two_formulations_of_one_problem_have_the_same_optima(tmp_path: Path) -> None:
    write(sites("weak"), tmp_path / "weak.json")
    result = session(tmp_path).ask('verify "weak.json" 8')
    assert (result.same_structure, result.same_optima) == (False, "yes")
    assert len(result.trials) == 9
    assert result.trials[0].optimum.value == pytest.approx(best_cost())
    assert {trial.perturbed.split()[0] for trial in result.trials} == {"as", "costs", "data"}
    assert len({trial.optimum.value for trial in result.trials}) > 4


def test_a_model_without_a_constraint_is_told_apart(tmp_path: Path) -> None:
    write(sites("wrong"), tmp_path / "wrong.json")
    result = session(tmp_path).ask('verify "wrong.json"')
    assert (result.same_structure, result.same_optima) == (False, "no")
    assert [entry.name for entry in result.differences] == ["link"]


def test_a_difference_that_only_shows_on_other_data(tmp_path: Path) -> None:
    # The same optimum as given, since a third site that is too dear stays closed.
    model = sites("strong")
    other = replace(model, high=model.high.with_values(model.variables[0].positions[:1], 0.0))
    as_given = match_optima(model, other, SolveLimits(), 0)
    assert as_given[0].agree == ("yes" if best_cost() == RENT["Nice"] + 8 + 3 else "no")
    write(other, tmp_path / "closed.json")
    result = session(tmp_path).ask('verify "closed.json" 20')
    assert result.same_optima == "no"
    assert [trial.agree for trial in result.trials[:1]] == ["yes"]


def test_the_same_model_as_a_flat_file_and_the_seed(tmp_path: Path) -> None:
    write(sites("strong"), tmp_path / "flat.json")
    result = session(tmp_path, seed=3).ask('verify "flat.json" 4')
    assert result.same_optima == "yes"
    again = session(tmp_path, seed=3).ask('verify "flat.json" 4')
    other = session(tmp_path, seed=4).ask('verify "flat.json" 4')
    assert again.trials == result.trials != other.trials


VALUES = {"open[Nice]": 1.0, "serve[Nice, a]": 1.0, "serve[Nice, b]": 1.0}
TEXTS = {
    "values.json": json.dumps(VALUES),
    "nested.json": json.dumps({"open": {"Nice": 1}, "serve": {"Nice": {"a": 1, "b": 1}}, "objective": 36}),
    "values.sol": "open[Nice] 1\nserve[Nice,a] 1\nserve[Nice,b] 1\n",
}


@pytest.mark.parametrize("name", ["values.json", "nested.json", "values.sol"])
def test_values_of_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(TEXTS[name])
    result = session(tmp_path).ask(f'verify "{name}"')
    assert result.feasible is True
    assert result.objective.value == RENT["Nice"] + 8 + 3
    assert result.difference.value == pytest.approx(result.objective.value - best_cost())
    if name == "nested.json":
        assert (result.claimed.value, result.claim_holds) == (36, True)


def test_values_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text('variable,value\nopen[Nice],1\n"serve[Nice, a]",1\n"serve(Nice,b)",0.4\n')
    result = session(tmp_path).ask('verify "v.csv"')
    assert result.feasible is False
    assert {breach.name for breach in result.breaches} >= {"once[b]", "serve[Nice, b]"}


PRINTED = {
    "lines": "Status: Optimal\nopen[Nice] = 1\nserve[Nice, a] = 1.0\nserve[Nice,b]: 1\nObjective = 36\n",
    "json": 'solved\n{"open": {"Nice": 1},\n "serve": {"Nice": {"a": 1, "b": 1}}, "objective": 36}\n',
    "wrong objective": "open[Nice] = 1\nserve[Nice, a] = 1\nserve[Nice, b] = 1\nobjective = 30\n",
}


@pytest.mark.parametrize("kind", PRINTED)
def test_printed_values(kind: str) -> None:
    claim = parse_output(sites("strong"), PRINTED[kind])
    assert claim is not None
    assert claim.values == VALUES
    assert claim.objective == (30 if "wrong" in kind else 36)
    assert parse_output(sites("strong"), "nothing here\ntotal = 3\n") is None


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*PRINTED, "file"])
def test_a_program_that_prints_or_writes_its_solution(tmp_path: Path, kind: str) -> None:
    text = (
        f"print({PRINTED[kind]!r})\n"
        if kind in PRINTED
        else f"open('solution.json', 'w').write({TEXTS['nested.json']!r})\n"
    )
    (tmp_path / "heuristic.py").write_text(text)
    result = session(tmp_path).ask('verify "heuristic.py"')
    assert (result.source, result.feasible) == ("output of a program", True)
    assert result.objective.value == 36
    assert result.claim_holds is (kind != "wrong objective")


PULP = """import pulp
rent = {"Lyon": 30.0, "Nice": 25.0}
cost = {("Lyon", "a"): 4.0, ("Lyon", "b"): 9.0, ("Nice", "a"): 8.0, ("Nice", "b"): 3.0}
m = pulp.LpProblem("sites", pulp.LpMinimize)
open_ = pulp.LpVariable.dicts("open", rent, cat="Binary")
serve = pulp.LpVariable.dicts("serve", cost, cat="Binary")
m += pulp.lpSum(rent[s] * open_[s] for s in rent) + pulp.lpSum(cost[k] * serve[k] for k in cost)
for client in "ab":
    m += pulp.lpSum(serve[s, client] for s in rent) == 1, f"once_{client}"
for s, client in cost:
    m += serve[s, client] <= open_[s], f"link_{s}_{client}"
m.solve()
"""


@pytest.mark.slow
def test_a_program_with_a_model_is_compared_and_its_point_checked(tmp_path: Path) -> None:
    (tmp_path / "sites.py").write_text(PULP)
    result = session(tmp_path).ask('verify "sites.py" 4')
    assert result.same_optima == "yes"
    assert result.trials[0].other_optimum.value == pytest.approx(best_cost())


@pytest.mark.slow
@pytest.mark.parametrize("text", ["print('hello')", "raise SystemExit('no data')", "print('{broken')"])
def test_programs_without_a_solution_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.py").write_text(text + "\n")
    with pytest.raises(ModellingError) as caught:
        session(tmp_path).ask('verify "p.py"')
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.json", "[1, 2]"),
        ("p.json", '{"nobody": 1}'),
        ("p.json", '{"open": {"Nice": "many"}}'),
        ("p.json", "{}"),
        ("p.csv", "variable,value\nopen[Nice]\n"),
        ("p.csv", "variable,value\n"),
        ("p.csv", "variable,value\nopen[Nice],inf\n"),
        ("p.sol", "what is this\n"),
        ("none.json", ""),
    ],
)
def test_wrong_files_are_one_line(tmp_path: Path, name: str, text: str) -> None:
    if name != "none.json":
        (tmp_path / name).write_text(text)
    with pytest.raises(ModellingError) as caught:
        session(tmp_path).ask(f'verify "{name}"')
    assert "\n" not in str(caught.value)
