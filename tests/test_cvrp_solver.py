"""The problem that steers PyVRP: instances, neighbour lists, and PyVRP's own search where its own settings are answered."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pyvrp = pytest.importorskip("pyvrp")

FOLDER = Path(__file__).parent.parent / "problems" / "cvrp_solver"


def load(name: str) -> ModuleType:
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(FOLDER))


instances, guided_search = load("instances"), load("guided_search")


@given(st.integers(0, 10**6), st.integers(5, 40))
def test_a_drawn_instance_can_be_served_by_routes_of_three_to_twenty_five_customers(seed: int, size: int) -> None:
    drawn = instances.draw(np.random.default_rng(seed), size)
    assert len(np.unique(drawn.coordinates, axis=0)) == size + 1
    assert np.all((drawn.coordinates >= 0) & (drawn.coordinates <= instances.GRID))
    assert drawn.demands[0] == 0
    assert np.all((drawn.demands[1:] >= 1) & (drawn.demands[1:] <= drawn.capacity))
    mean = drawn.demands[1:].mean()
    assert 3 * mean <= drawn.capacity <= max(25 * mean + 1, drawn.demands.max())


@pytest.mark.parametrize("seed", range(4))
def test_instances_of_sets_have_routes_and_places_as_their_names_say(seed: int) -> None:
    usual, clustered, long = (
        instances.draw(np.random.default_rng(seed), 200, mode) for mode in ("", "clustered", "long_routes")
    )
    for drawn, low, high in ((usual, 3, 25), (clustered, 3, 25), (long, 25, 60)):
        assert low <= drawn.capacity / drawn.demands[1:].mean() <= max(high + 1, 100 / drawn.demands[1:].mean())
    customers = clustered.coordinates[1:]
    nearest = np.sort(np.hypot(*(customers[:, None] - customers).transpose(2, 0, 1)), axis=1)[:, 1]
    # The index of Clark and Evans 1954: 1 for places without a pattern.
    assert nearest.mean() * 2 * np.sqrt(200) / instances.GRID < 0.8


def test_a_file_of_set_x_gives_the_instance_that_it_holds(tmp_path: Path) -> None:
    drawn = instances.draw(np.random.default_rng(1), 12)
    nodes = range(1, 14)
    coordinates = "".join(f"{node}\t{x}\t{y}\n" for node, (x, y) in zip(nodes, drawn.coordinates, strict=True))
    demands = "".join(f"{node}\t{demand}\n" for node, demand in zip(nodes, drawn.demands, strict=True))
    text = f"NAME : X\nTYPE : CVRP\nDIMENSION : 13\nEDGE_WEIGHT_TYPE : EUC_2D\nCAPACITY :\t{drawn.capacity}\nNODE_COORD_SECTION\n{coordinates}"
    (tmp_path / "X.vrp").write_text(f"{text}DEMAND_SECTION\n{demands}DEPOT_SECTION\n\t1\n\t-1\nEOF\n")
    (read,) = instances.read_folder(tmp_path)[12]
    assert read.capacity == drawn.capacity
    np.testing.assert_array_equal(read.coordinates, drawn.coordinates)
    np.testing.assert_array_equal(read.demands, drawn.demands)
    np.testing.assert_array_equal(read.distances, pyvrp.read(tmp_path / "X.vrp", "round").distance_matrix(0))


HEAD = "EDGE_WEIGHT_TYPE : EUC_2D\nCAPACITY : 3\n"
COORDINATES, DEMANDS, DEPOT = (
    "NODE_COORD_SECTION\n1 0 0\n2 3 4\n",
    "DEMAND_SECTION\n1 0\n2 1\n",
    "DEPOT_SECTION\n1\n-1\n",
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        HEAD.replace("EUC_2D", "EXPLICIT") + COORDINATES + DEMANDS + DEPOT,
        HEAD + DEMANDS + DEPOT,
        HEAD + COORDINATES + DEPOT,
        HEAD + COORDINATES.replace("4", "4.5") + DEMANDS.replace("2 1", "2 1\n3 1") + DEPOT,
        HEAD + COORDINATES.replace("3 4", "3.5 4") + DEMANDS + DEPOT,
        HEAD + COORDINATES + DEMANDS,
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "other.vrp").write_text(text)
    with pytest.raises(ValueError, match=r"other\.vrp"):
        instances.read_folder(tmp_path)


def test_a_folder_without_instances_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.vrp"):
        instances.read_folder(tmp_path)


@given(st.data(), st.integers(1, 60))
def test_lists_hold_the_smallest_finite_entries_and_at_least_five(data: st.DataObject, size: int) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    distances = instances.draw(rng, max(size, 8)).distances[: size + 1, : size + 1]
    answer = rng.integers(0, 9, distances.shape).astype(float)
    answer[rng.random(distances.shape) < rng.random()] = np.inf
    lists = guided_search.nearest(answer, distances)
    assert len(lists) == size
    for customer, row in enumerate(lists, start=1):
        others = [other for other in range(1, size + 1) if other != customer]
        order = sorted(others, key=lambda other: (answer[customer, other], distances[customer, other], other))
        finite = [other for other in order if np.isfinite(answer[customer, other])]
        assert row == order[: min(max(len(finite), 5), 50)]


def test_own_settings_of_pyvrp_give_its_own_routes() -> None:
    instance = instances.draw(np.random.default_rng(3), 30)
    lists = guided_search.nearest(instance.distances + 0.0, instance.distances)
    guidance = guided_search.Guidance(lists, 1, 25)
    asked: list[float] = []

    def ask(progress: object) -> object:
        asked.append(progress.done)  # type: ignore[attr-defined]
        return guidance

    search = guided_search.GuidedSearch(instance, 7, 1e6, ask)
    routes = search.run()
    assert search.units >= 1e6
    assert asked == [stage / 20 for stage in range(20)]

    rng = pyvrp.RandomNumberGenerator(seed=7)
    clients = [pyvrp.Activity(pyvrp.ActivityType.CLIENT, index) for index in range(30)]
    neighbours = {clients[row]: [clients[other - 1] for other in others] for row, others in enumerate(lists)}
    own = pyvrp.search.LocalSearch(search.data, rng, neighbours)
    for operator in pyvrp.search.OPERATORS:
        if operator.supports(search.data):
            own.add_operator(operator(search.data))
    penalties = pyvrp.PenaltyManager(pyvrp.PenaltyParams().midpoint_penalties(search.data))
    start = pyvrp.Solution.make_random(search.data, rng)
    work = [0.0]

    def counted(solution: object, evaluator: object, exhaustive: bool = False) -> object:
        better = own(solution, evaluator, exhaustive)
        work[0] += own.statistics.num_moves + guided_search.ITERATION_UNITS
        return better

    first = counted(start, penalties.max_cost_evaluator(), True)
    best = pyvrp.IteratedLocalSearch(search.data, penalties, counted, first).run(lambda cost: work[0] >= 1e6).best
    assert routes == [[visit.idx + 1 for visit in route if visit.is_client()] for route in best.routes()]
    assert best.is_feasible()
