"""Sets of other sizes and distributions: places, capacities and prizes are as their names say, and no search uses them."""

import itertools
import math
import runpy
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent.domains import bpp, cvrp, mkp, network_instances, op, pdn, streams, tsp
from oragent.domains.driving.scenario import LANES, LONG, LONG_SETS, TRAFFIC, USUAL, WEAVING, WEAVING_SETS, Course
from oragent.evaluation.named_sets import SEARCHED_MODES, UNSEARCHED_MODES
from oragent.evaluation.problem import load_problem

ROOT = Path(__file__).parents[2]
NETWORK = pdn.generate()


def placements(mode: str, size: int) -> list[pdn.PlacementInstance]:
    return pdn.part(mode, pdn.draw_sites(np.random.default_rng(20)), NETWORK)


# Fewer instances than POMO has.
LEHD_COUNTS = dict.fromkeys(network_instances.ROUTE_SETS, 2)
STREAMS: dict[str, Callable[[str, int], Sequence[Any]]] = {
    "tsp_constructive": partial(tsp.stream, tsp.CONSTRUCTIVE_STREAM),
    "tsp_aco": partial(tsp.stream, tsp.ACO_STREAM),
    "tsp_gls": partial(tsp.stream, tsp.GLS_STREAM),
    "cvrp_aco": cvrp.stream,
    "op_aco": op.stream,
    "mkp_aco": mkp.stream,
    "bpp_offline_aco": bpp.uniform_stream,
    "bpp_online": bpp.weibull_stream,
    "bpp_online_informed": bpp.weibull_stream,
    "dpp_ga": placements,
    "tsp_pomo": network_instances.tsp_stream,
    "tsp_lehd": lambda mode, size: network_instances.tsp_stream(mode, size)[: LEHD_COUNTS.get(mode)],
    "cvrp_pomo": network_instances.cvrp_stream,
    "cvrp_lehd": lambda mode, size: network_instances.cvrp_stream(mode, size)[: LEHD_COUNTS.get(mode)],
}
# Power of the size to which the limits of a problem are proportional.
POWERS = {"mkp_aco": 1, "dpp_ga": 0, "bpp_online_informed": 1}
# Steps of a network take too long for sets of larger instances, or for more than twice the size.
WITHOUT = {name: {"five_times"} for name in ("tsp_pomo", "cvrp_pomo")} | {
    name: {"twice", "five_times"} for name in ("dpp_ga", "tsp_lehd", "cvrp_lehd")
}


def data_of(instance: Any) -> bytes:
    """All arrays and figures of an instance, as bytes."""
    if isinstance(instance, pdn.PlacementInstance):
        parts: list[Any] = [instance.network.impedance[0, :, 0], instance.probe, instance.keepouts]
    else:
        parts = list(vars(instance).values())
    return b"".join(np.asarray(part).tobytes() for part in parts if not isinstance(part, tsp.TspInstance))


def sizes_of(name: str) -> dict[str, tuple[int, ...]]:
    folder = ROOT / "problems" / name
    for module in load_problem(folder).about.requires:
        if module != "sumo":
            pytest.importorskip(module.split(">")[0])
    # Other problems have modules of the same names.
    sys.modules.pop("instances", None)
    sys.path.insert(0, str(folder))
    try:
        sizes: dict[str, tuple[int, ...]] = runpy.run_path(str(folder / "eval.py"))["SIZES"]
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("instances", None)
    return sizes


def check_limits(about: Any, work: Callable[[str], float]) -> None:
    """Limits are twice those of val for the work, and those of the evaluation never below that."""
    val = work("val")
    for mode, chosen in about.sets.items():
        assert chosen.kind == "ood"
        ratio = 2 * work(mode) / val
        assert about.heuristic_s
        assert chosen.heuristic_s == max(1, math.ceil(ratio * about.heuristic_s))
        assert chosen.timeout_s == max(about.timeout_s, math.ceil(ratio * about.timeout_s))


@pytest.mark.parametrize("name", STREAMS)
def test_evaluator_and_description_have_the_same_sets_and_their_limits_grow_with_the_work(name: str) -> None:
    about, sizes, draw = load_problem(ROOT / "problems" / name).about, sizes_of(name), STREAMS[name]
    assert set(about.sets) == set(sizes) - {*SEARCHED_MODES, *UNSEARCHED_MODES}

    def work(mode: str) -> float:
        return sum(float(len(draw(mode, size)) * size ** POWERS.get(name, 2)) for size in sizes[mode])

    check_limits(about, work)
    factors = {"twice": 2, "five_times": 5}
    assert {mode: sizes[mode] for mode in factors if mode in sizes} == {
        mode: (factor * max(sizes["val"]),) for mode, factor in factors.items() if mode not in WITHOUT.get(name, ())
    }


@pytest.mark.parametrize(
    ("name", "course", "names"),
    [
        ("driving", WEAVING, WEAVING_SETS),
        ("driving_stateful", WEAVING, WEAVING_SETS),
        ("driving_long", LONG, LONG_SETS),
    ],
)
def test_limits_of_other_traffic_grow_with_the_number_of_vehicles(
    name: str, course: Course, names: Sequence[str]
) -> None:
    about = load_problem(ROOT / "problems" / name).about
    assert set(about.sets) == set(names) == set(course.sizes) - {*SEARCHED_MODES, *UNSEARCHED_MODES}
    assert sizes_of(name) == course.sizes

    def work(mode: str) -> float:
        more = TRAFFIC.get(mode, USUAL).more
        return sum(
            len(of_case) * (course.cases[size].trials + more) * (LANES[size] if course is LONG else 1)
            for size, of_case in course.demands(mode, course.sizes[mode]).items()
        )

    check_limits(about, work)


def test_limits_of_instances_inside_solvers_grow_with_their_pairs_of_nodes() -> None:
    counts = {"val": 6, "twice": 8, "clustered": 8, "long_routes": 8}
    about, sizes = load_problem(ROOT / "problems" / "cvrp_solver").about, sizes_of("cvrp_solver")
    drawn = {mode for mode, chosen in about.sets.items() if not chosen.data}
    assert drawn == set(counts) - {"val"} == set(sizes) - {*SEARCHED_MODES, *UNSEARCHED_MODES}
    for mode in drawn:
        ratio = 2 * counts[mode] * sum(size**2 for size in sizes[mode]) / (6 * sum(size**2 for size in sizes["val"]))
        assert about.sets[mode].heuristic_s == math.ceil(ratio * about.heuristic_s)
        assert about.sets[mode].timeout_s == math.ceil(ratio * about.timeout_s)


def test_sets_of_integer_programmes_have_the_limits_of_val_or_more() -> None:
    about, sizes = load_problem(ROOT / "problems" / "milp_branching").about, sizes_of("milp_branching")
    assert set(about.sets) == set(sizes) - {*SEARCHED_MODES, *UNSEARCHED_MODES}
    for chosen in about.sets.values():
        assert chosen.kind == "ood"
        assert about.heuristic_s
        assert chosen.heuristic_s
        assert chosen.timeout_s
        assert chosen.heuristic_s / about.heuristic_s == chosen.timeout_s / about.timeout_s >= 1


@pytest.mark.parametrize("name", STREAMS)
def test_a_set_is_always_the_same_and_shares_no_instance_with_another(name: str) -> None:
    draw, seen = STREAMS[name], set()
    modes = {mode: sizes for mode, sizes in sizes_of(name).items() if mode != "fresh"}
    for mode, sizes in modes.items():
        for size in sizes:
            drawn = [data_of(instance) for instance in draw(mode, size)]
            assert drawn == [data_of(instance) for instance in draw(mode, size)]
            assert not seen & set(drawn)
            seen |= set(drawn)


@pytest.mark.parametrize("draw", [draw for name, draw in STREAMS.items() if name != "dpp_ga"])
def test_a_set_that_does_not_exist_is_refused(draw: Callable[[str, int], Sequence[Any]]) -> None:
    with pytest.raises(ValueError, match="scattered"):
        draw("scattered", 100)


def spacing(points: np.ndarray) -> float:
    """The index of Clark and Evans 1954: mean distance to the nearest point, over that of uniform points (1)."""
    distances = tsp.TspInstance(points).distances + 9 * np.eye(len(points))
    return float(distances.min(axis=1).mean() * 2 * math.sqrt(len(points)))


def emptiness(points: np.ndarray) -> float:
    """Radius of the largest circle without a point whose centre lies in the middle of the square."""
    centres = np.stack(np.meshgrid(*[np.linspace(0.2, 0.8, 61)] * 2), axis=-1).reshape(-1, 1, 2)
    return float(np.sqrt(((points - centres) ** 2).sum(axis=2)).min(axis=1).max())


def layouts(mode: str) -> list[np.ndarray]:
    """Points of all problems in the plane, without depots."""
    instances = *cvrp.stream(mode, 50), *network_instances.cvrp_stream(mode, 200)
    routes = [instance.coordinates[1:] for instance in instances]
    tours = [instance.coordinates for instance in (*tsp.stream(tsp.ACO_STREAM, mode, 100), *op.stream(mode, 100))]
    return routes + tours


@pytest.mark.parametrize("mode", [*tsp.LAYOUTS, "twice"])
def test_points_lie_in_the_unit_square_and_no_two_at_the_same_place(mode: str) -> None:
    for points in layouts(mode):
        assert points.min() >= 0
        assert points.max() <= 1
        assert len(np.unique(points, axis=0)) == len(points)


def test_points_of_clusters_are_close_and_points_of_a_grid_keep_their_distance() -> None:
    spacings = {mode: [spacing(points) for points in layouts(mode)] for mode in (*tsp.LAYOUTS, "twice")}
    assert max(spacings["clustered"]) < 0.8 < min(spacings["twice"])
    assert max(spacings["twice"]) < 1.2 < min(spacings["grid"])


def test_clusters_have_their_number_and_their_width() -> None:
    rng = np.random.RandomState(3)
    uniform = rng.rand(400, 2)
    uniform[:20] = (np.stack(np.divmod(np.arange(20), 5), axis=1) + 0.5) / 5
    points = tsp.lay_out("clustered", uniform, rng)
    away = points - uniform[np.arange(400) % 20]
    assert np.abs(away).max() < 5 * tsp.CLUSTER_WIDTH
    assert away.std() == pytest.approx(tsp.CLUSTER_WIDTH, rel=0.1)


def test_an_explosion_leaves_a_hole() -> None:
    holes = {mode: [emptiness(points) for points in layouts(mode)] for mode in ("exploded", "twice")}
    assert np.median(holes["exploded"]) > 0.2 > np.median(holes["twice"])
    uniform = np.random.RandomState(5).rand(400, 2)
    points = tsp.lay_out("exploded", uniform, np.random.RandomState(6))
    centre = np.random.RandomState(6).uniform(tsp.EXPLOSION_RADIUS, 1 - tsp.EXPLOSION_RADIUS, 2)
    lengths = np.hypot(*(uniform - centre).T)
    far = lengths > tsp.EXPLOSION_RADIUS
    # Points outside keep their places, up to the scale.
    scale = np.ptp(points[far], axis=0) / np.ptp(uniform[far], axis=0)
    assert scale[0] == pytest.approx(scale[1])
    away = (points - points[far][0]) / scale + uniform[far][0] - centre
    assert away[far] == pytest.approx(uniform[far] - centre)
    (x, y), (east, north) = away.T, (uniform - centre).T
    assert x * north - y * east == pytest.approx(0, abs=1e-12)
    beyond = np.hypot(*away[~far].T) - tsp.EXPLOSION_RADIUS
    assert beyond.min() > 0
    assert beyond.mean() == pytest.approx(tsp.EXPLOSION_REACH, rel=0.3)


def test_a_grid_has_the_places_of_a_lattice_and_few_distances() -> None:
    draws = (50, cvrp.stream), (100, op.stream), (200, network_instances.cvrp_stream)
    for mode, size, draw in (("grid", *pair) for pair in draws):
        for instance in draw(mode, size):
            side = 2 * math.ceil(math.sqrt(size / 2))
            places = instance.coordinates[-size:] * side - 0.5
            assert np.allclose(places, np.rint(places))
            # The depot of routes is never the place of a customer.
            assert (instance.distances + np.eye(len(instance))).min() > 0
            assert len(np.unique(instance.distances.round(9))) < size**2 / 8


def test_vehicles_differ_in_their_capacity_alone() -> None:
    ants = [(capacity, cvrp.stream(mode, 50)) for mode, capacity in cvrp.CAPACITIES.items()]
    vehicles = {"small_vehicles": 25, "large_vehicles": 500, "clustered": 100}
    networks = [(capacity, network_instances.cvrp_stream(mode, 500)) for mode, capacity in vehicles.items()]
    for capacity, instances in (*ants, *networks[:2]):
        for instance in instances:
            assert instance.capacity == capacity
            assert 1 <= instance.demands[1:].min() <= instance.demands.max() <= cvrp.MAX_DEMAND
            assert spacing(instance.coordinates[1:]) > 0.75
    assert {instance.capacity for instance in networks[2][1]} == {100}
    # Depots of networks are anywhere.
    depots = [instance.coordinates[0] for _, instances in networks for instance in instances]
    assert np.std(depots, axis=0) == pytest.approx(np.full(2, 12**-0.5), rel=0.4)


def test_knapsacks_hold_the_named_share_of_all_weights() -> None:
    correlations = {}
    for mode, share in mkp.TIGHTNESS.items():
        instances = mkp.stream(mode, 300)
        for instance in instances:
            assert mkp.loads(instance, np.arange(300)) == pytest.approx(np.full(mkp.DIMENSIONS, 1 / share))
        sums = [(instance.prizes, instance.weights.sum(axis=1)) for instance in instances]
        correlations[mode] = [np.corrcoef(*pair)[0, 1] for pair in sums]
    assert min(correlations["correlated"]) > 0.5
    assert max(np.abs([*correlations["tight"], *correlations["loose"]])) < 0.3


def test_three_items_of_a_triplet_fill_a_bin() -> None:
    for instance in bpp.uniform_stream("triplets", 249):
        assert instance.items.sum() == 83 * instance.capacity
        assert instance.items.min() >= 250
        assert instance.items.max() < 500
    for instance in bpp.uniform_stream("triplets", 9):
        halves = (
            instance.items[[first, *second]].sum() == instance.capacity
            and any(
                instance.items[list(third)].sum() == instance.capacity
                for third in itertools.combinations(sorted({*range(9)} - {first, *second}), 3)
            )
            for first, second in ((0, pair) for pair in itertools.combinations(range(1, 9), 2))
        )
        assert any(halves)


def test_other_bins_have_the_items_of_a_search_or_the_bins_of_other_items() -> None:
    for instance in bpp.weibull_stream("large_bins", 5000):
        assert instance.capacity == 150
        assert instance.items.mean() == pytest.approx(45 * math.gamma(4 / 3), rel=0.03)
    for instance in (*bpp.weibull_stream("uniform_items", 5000), *bpp.uniform_stream("large_bins", 500)):
        assert (instance.items.min(), instance.items.max()) == (20, 100)
        assert instance.items.mean() == pytest.approx(60, rel=0.08)
    for mode, mean in (("small_items", 30 * math.gamma(4 / 3)), ("all_sizes", 50.5)):
        for instance in bpp.weibull_stream(mode, 5000):
            assert (instance.capacity, instance.items.mean()) == (100, pytest.approx(mean, rel=0.03))
    assert {*np.concatenate([instance.items for instance in bpp.weibull_stream("all_sizes", 5000)])} == {*range(1, 101)}
    assert {instance.capacity for instance in bpp.weibull_stream("uniform_items", 5000)} == {150}
    assert {instance.capacity for instance in bpp.uniform_stream("large_bins", 500)} == {500}


def test_bred_items_are_those_of_their_maker_and_most_are_around_42() -> None:
    (instance,) = bpp.weibull_stream("adversarial", 500)[:1]
    for draw, size in zip(
        streams.legacy(0, "bpp weibull adversarial", 500).rand(500).tolist(), instance.items.tolist(), strict=True
    ):
        made = 46 * (-math.log(1 - draw)) ** 0.25 + 0.493 - (0.503 * round(4 * draw)) ** 4
        assert size == round(min(max(made, 1), 100))
    assert np.mean(abs(instance.items - 42) <= 6) > 0.5
    assert instance.capacity == 100


def test_bred_cities_are_those_of_their_maker_in_the_unit_square() -> None:
    for size in (50, 100):
        draws = streams.legacy(0, "tsp adversarial", size).rand(streams.OTHERS, size, 2)
        for points, instance in zip(draws, tsp.stream(tsp.CONSTRUCTIVE_STREAM, "adversarial", size), strict=True):
            bands = np.round(6 * (1 / (1 + points))) / 7
            order = np.arange(size)[:, None] / size
            made = (points / points[0]) ** 0.772 / (np.abs(bands) + 0.001) + 0.166 * order
            # Shifted and scaled to the square, without changing the shape.
            scale = np.ptp(made, axis=0).max()
            assert instance.coordinates * scale + made.min(axis=0) == pytest.approx(made, abs=1e-4 * scale)
            assert (instance.coordinates.min(), instance.coordinates.max()) == (0, 1)
            assert len(np.unique(instance.coordinates, axis=0)) == size


def test_a_turned_network_has_the_impedance_of_the_opposite_ports_and_a_crowded_one_many_keepouts() -> None:
    turned, crowded = placements("turned", 100), placements("crowded", 100)
    opposite = pdn.PORTS - 1 - np.arange(pdn.PORTS)
    for instance in turned:
        assert np.array_equal(instance.network.impedance, NETWORK.impedance[opposite][:, opposite])
    # An instance and its turned copy have the same rewards.
    instance, ports = turned[0], turned[0].free[:20]
    copy = pdn.PlacementInstance(NETWORK, int(opposite[instance.probe]), opposite[instance.keepouts])
    assert pdn.objective(instance, ports) == pytest.approx(pdn.objective(copy, opposite[ports]))
    assert pdn.objective(instance, ports) != pytest.approx(pdn.objective(copy, ports))
    assert [len(instance.free) for instance in crowded] == [pdn.PORTS - 41] * streams.OTHERS
    assert all(instance.network is NETWORK for instance in crowded)
