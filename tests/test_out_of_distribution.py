"""The table of scores on other distributions: classical heuristics against enumeration, and rows against what is recorded."""

import itertools
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oragent._base.errors import ProblemError
from oragent.domains import bpp, cvrp, mkp, op, tsp
from oragent.evaluation.discovered import SetEvidence, list_discovered
from oragent.evaluation.problem import find_problem

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / "docs" / "tools"
sys.path.insert(0, str(TOOLS))
try:
    import baselines
    import check_evidence
    import out_of_distribution
finally:
    sys.path.remove(str(TOOLS))

SEEDS = range(6)


@pytest.mark.parametrize("seed", SEEDS)
def test_tours_are_at_most_twice_as_long_as_the_shortest_and_no_exchange_of_two_edges_shortens_them(seed: int) -> None:
    instance = tsp.generate(np.random.default_rng(seed), 8)
    shortest = min(tsp.objective(instance, np.array((0, *rest))) for rest in itertools.permutations(range(1, 8)))
    inserted, improved = (
        tsp.check(instance, make(instance)) for make in (baselines.insert_farthest, baselines.improve_insertion)
    )
    assert shortest - 1e-9 <= tsp.objective(instance, improved) <= tsp.objective(instance, inserted) < 2 * shortest
    exchanges = (
        np.concatenate((improved[:i], improved[i:j][::-1], improved[j:]))
        for i, j in itertools.combinations(range(9), 2)
    )
    assert min(tsp.objective(instance, tour) for tour in exchanges) > tsp.objective(instance, improved) - 1e-9


def test_farthest_insertion_begins_with_the_two_cities_farthest_apart() -> None:
    instance = tsp.TspInstance(np.array([[0.0, 0.0], [0.5, 0.1], [1.0, 0.0], [0.6, 0.9]]))
    assert baselines.insert_farthest(instance)[0] == 0
    assert tsp.objective(instance, np.array(baselines.insert_farthest(instance))) == pytest.approx(
        min(tsp.objective(instance, np.array((0, *rest))) for rest in itertools.permutations((1, 2, 3)))
    )


def test_savings_join_neighbours_while_a_vehicle_carries_both() -> None:
    places = np.array([[0.0, 0.0], [1.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-1.0, -0.1]])
    demands = np.array([0, 3, 3, 3, 3])
    for capacity, routes in ((6, [{1, 2}, {3, 4}]), (5, [{1}, {2}, {3}, {4}])):
        instance = cvrp.CvrpInstance(places, demands, capacity)
        path = cvrp.check(instance, baselines.join_by_savings(instance))
        assert sorted(map(sorted, cvrp.split(path))) == list(map(sorted, routes))
    for seed in SEEDS:
        instance = cvrp.generate(np.random.default_rng(seed), 30)
        apart = np.insert(np.arange(1, 31), np.arange(31), 0)
        path = cvrp.check(instance, baselines.join_by_savings(instance))
        assert cvrp.objective(instance, path) < cvrp.objective(instance, cvrp.check(instance, apart))


@pytest.mark.parametrize("seed", SEEDS)
def test_prizes_and_items_are_taken_until_no_other_one_fits(seed: int) -> None:
    trip = op.generate(np.random.default_rng(seed), 40)
    path = op.check(trip, baselines.insert_prizes(trip)).tolist()
    length = tsp.objective(trip.nodes, np.array(path))
    for node in sorted({*range(40)} - {*path}):
        longer = [tsp.objective(trip.nodes, np.array([*path[:k], node, *path[k:]])) for k in range(1, len(path) + 1)]
        assert min(longer) > trip.maxlen >= length
    sack = mkp.generate(np.random.default_rng(seed), 12)
    choice = mkp.check(sack, baselines.take_densest(sack)).tolist()
    for item in {*range(12)} - {*choice}:
        assert mkp.loads(sack, np.array([*choice, item])).max() > 1
    subsets = (np.flatnonzero(taken) for taken in itertools.product((0, 1), repeat=12))
    best = max(sack.prizes[items].sum() for items in subsets if (sack.weights[items].sum(axis=0) <= 1).all())
    assert best / 2 < mkp.objective(sack, np.array(choice)) <= best + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("best", [False, True])
@pytest.mark.parametrize("decreasing", [False, True])
def test_packings_are_those_of_a_plain_loop(seed: int, best: bool, decreasing: bool) -> None:
    instance = bpp.generate_uniform(np.random.default_rng(seed), 60)
    packing = bpp.check(instance, baselines.packer(best, decreasing)(instance))
    fills: list[int] = []
    for item in sorted(instance.items.tolist(), reverse=True) if decreasing else instance.items.tolist():
        fitting = [number for number, fill in enumerate(fills) if fill + item <= instance.capacity]
        if not fitting:
            fills.append(item)
        else:
            fills[max(fitting, key=lambda number: fills[number]) if best else fitting[0]] += item
    assert bpp.fills(instance, packing).tolist() == fills


def make_row(sign: int, best: float | None) -> out_of_distribution.Row:
    return out_of_distribution.Row("a", "grid", sign, "program", 5.0, best, None, {"greedy": 3.0}, 2.5)


@pytest.mark.parametrize(
    ("sign", "best", "better"),
    [
        (-1, 3.0, []),
        (-1, 4.0, ["greedy"]),
        (-1, 6.0, ["greedy", "the seed"]),
        (1, 4.0, ["the seed"]),
        (1, 2.0, ["greedy", "the seed"]),
        (1, 5.0, []),
        (1, None, ["greedy", "the seed"]),
    ],
)
def test_a_row_names_what_is_better_than_the_shipped_program(sign: int, best: float | None, better: list[str]) -> None:
    row = make_row(sign, best)
    assert row.better == better
    table = out_of_distribution.tabulate([row])
    assert ("↓ |" in table) == bool(better)
    assert ("- `a`, grid: " in table) == bool(better)


def test_a_set_that_was_not_measured_says_so() -> None:
    row = make_row(1, None)._replace(seed=None)
    assert row.better == []
    assert "not measured" in out_of_distribution.tabulate([row])


def test_a_problem_without_a_shipped_program_has_a_row_of_the_others() -> None:
    row = make_row(1, None)._replace(program="")
    assert row.better == []
    assert "| greedy 3 | - |  |" in out_of_distribution.tabulate([row])


def test_a_gap_is_positive_where_a_program_is_worse_than_the_reference() -> None:
    assert "| 20.00 % |" in out_of_distribution.tabulate([make_row(-1, 3.0)])
    assert "| 20.00 % |" in out_of_distribution.tabulate([make_row(1, 2.0)])


def test_a_program_without_a_score_is_recorded_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, recorded = find_problem("mkp_aco", ROOT), {}
    ((_, evidence),) = list_discovered(problem).items()

    class Score:
        def __init__(self) -> None:
            self.problem = problem

        def __call__(self, source: str, mode: str) -> dict[str, Any]:
            if "linprog" in source and mode == "tight":
                raise ProblemError("took too long")
            return {"score": 2.0}

    def record(name: str, change: dict[str, dict[str, dict[str, Any]]]) -> None:
        for mode, entry in change["baselines"].items():
            written.setdefault(mode, {}).update(entry)

    written: dict[str, dict[str, Any]] = {}
    monkeypatch.setattr(out_of_distribution, "write_references", record)
    monkeypatch.setattr(out_of_distribution, "write_evidence", lambda problem, title, change: recorded.update(change))
    out_of_distribution.measure(problem, Score(), ["loose", "tight"])  # type: ignore[arg-type]
    assert recorded["sets"].keys() == {*evidence.sets, "loose"} - {"tight"}
    assert recorded["sets"]["loose"]["best"] == 2.0
    assert written["tight"].keys() == {"rule", "classical", "seed"}
    assert written["loose"]["classical"].keys() == {"greedy by density"}
    assert "seed" not in written["loose"]


def test_named_sets_are_scored_again_beside_the_others() -> None:
    scores = SetEvidence(2.0, 1.0)
    evidence: Any = SimpleNamespace(val=scores, test=scores, fresh=None, sets={"grid": scores, "twice": scores})
    modes = [mode for mode, _ in check_evidence.recorded_sets(evidence, check_evidence.MODES)]
    assert modes == ["val", "test", "grid", "twice"]
    assert [mode for mode, _ in check_evidence.recorded_sets(evidence, ("sets", "fresh"))] == ["grid", "twice"]


# Simulations, and insertion and savings at 500 nodes, take seconds.
SLOW = "driving", "driving_long", "tsp_pomo", "tsp_lehd", "cvrp_pomo", "cvrp_lehd"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in baselines.BASELINES]
)
def test_recorded_baselines_are_those_of_today(name: str) -> None:
    problem = find_problem(name, ROOT)
    for module in problem.about.requires:
        if module != "sumo":
            pytest.importorskip(module.split(">")[0])
    recorded = baselines.read_references(problem.folder)["baselines"]
    sizes = baselines.set_sizes(problem)
    assert set(recorded) == set(sizes) == set(baselines.drawn_sets(problem))
    few = {mode: of_mode for mode, of_mode in sizes.items() if mode not in ("twice", "five_times")}
    for mode, scores in baselines.score_classical(name, few).items():
        assert {title: recorded[mode]["classical"][title] for title in scores} == pytest.approx(scores, rel=1e-6)


@pytest.mark.parametrize("name", ["cvrp_aco", "cvrp_pomo", "cvrp_lehd"])
def test_the_effort_of_references_is_stated_for_all_sizes(name: str) -> None:
    references = baselines.read_references(ROOT / "problems" / name)
    stated = re.findall(r"for (\d+) customers", references["effort"])
    assert {int(size) for size in stated} == {size for of_mode in references["sets"].values() for size in of_mode}


def test_the_page_of_results_has_the_table_of_what_is_recorded() -> None:
    page = out_of_distribution.RESULTS.read_text(encoding="utf-8")
    assert out_of_distribution.tabulate(out_of_distribution.all_rows()) in page
