"""The problem that branches in SCIP: instances, optima whatever a candidate answers, and the work that is counted."""

import importlib
import itertools
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pyscipopt = pytest.importorskip("pyscipopt")

FOLDER = Path(__file__).parent.parent / "problems" / "milp_branching"


def load(name: str) -> ModuleType:
    # Other problems have modules of the same names.
    sys.modules.pop("instances", None)
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(FOLDER))


tree = load("tree")
instances = sys.modules.pop("instances")


def small(seed: int, size: int = 12) -> Any:
    """Knapsacks that are small enough to list all points, and large enough for a tree."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 1001, (4, size))
    values = weights.mean(axis=0).astype(np.int64) + rng.integers(0, 501, size)
    return instances.Instance(-values, -weights, -(weights.sum(axis=1) // 2))


def best_of_all_points(instance: Any) -> int:
    points = np.array(list(itertools.product((0, 1), repeat=len(instance.costs))))
    feasible = (points @ instance.matrix.T >= instance.sides).all(axis=1)
    return int((points[feasible] @ instance.costs).min())


def own(node: Any) -> None:
    return None


def nothing(node: Any) -> NDArray[np.float64]:
    return np.zeros(len(node.fraction))


def every(node: Any) -> NDArray[np.float64]:
    return np.ones(len(node.fraction))


def rarest(node: Any) -> NDArray[np.float64]:
    return -node.gain_down - node.gain_up


RULES = {
    "scip": (nothing, own),
    "first": (nothing, every),
    "probes, then scip": (every, own),
    "probes, then the worst": (every, rarest),
    "infinite": (lambda node: np.full(len(node.fraction), np.inf), lambda node: np.full(len(node.fraction), -np.inf)),
}


MODES = {"val": instances.USUAL, **instances.SETS}


@pytest.mark.parametrize(("mode", "size"), [(mode, size) for mode, kinds in MODES.items() for size in kinds])
def test_an_instance_of_each_kind_has_a_solution_and_its_number_of_variables(mode: str, size: int) -> None:
    for seed in range(3):
        drawn = instances.draw(np.random.default_rng(seed), size, mode)
        assert drawn.costs.shape == (size,)
        assert drawn.matrix.shape == (len(drawn.sides), size)
        if mode in ("facilities", "assignments"):
            continue
        # All or nothing: what covers is feasible in whole, what packs is feasible if nothing is taken.
        point = np.full(size, int((drawn.sides > 0).all()))
        assert (drawn.matrix @ point >= drawn.sides).all()
        assert (drawn.costs * (1 - 2 * point) < 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_best_point_of_an_auction_is_the_dearest_choice_of_bids_without_a_common_item(seed: int) -> None:
    drawn = instances.draw_auction(np.random.default_rng(seed), 9, 10)
    bids = [frozenset(np.flatnonzero(column).tolist()) for column in drawn.matrix.T]
    assert all(2 <= len(bid) <= 6 for bid in bids)
    choices = itertools.chain.from_iterable(itertools.combinations(range(10), count) for count in range(11))
    apart = [
        choice
        for choice in choices
        if len(frozenset().union(*(bids[bid] for bid in choice))) == sum(len(bids[bid]) for bid in choice)
    ]
    assert best_of_all_points(drawn) == min(sum(drawn.costs[list(choice)]) for choice in apart)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_point_of_facilities_and_assignments_is_that_of_all_ways_to_serve_within_capacities(seed: int) -> None:
    """A customer or job has one place or agent; an opened place costs once."""
    places, customers = 3, 3
    drawn = instances.draw_facilities(np.random.default_rng(seed), places, customers)
    trips = drawn.costs[places:].reshape(customers, places)
    within = drawn.matrix[customers : customers + places]
    demands = -within[0, places::places]
    ways = itertools.product(range(places), repeat=customers)
    loads = {way: np.bincount(way, weights=demands, minlength=places) for way in ways}
    worth = [
        drawn.costs[list({*way})].sum() + trips[range(customers), way].sum()
        for way, load in loads.items()
        if (load <= within[range(places), range(places)]).all()
    ]
    assert best_of_all_points(drawn) == min(worth)

    agents, jobs = 2, 5
    drawn = instances.draw_assignment(np.random.default_rng(seed), agents, jobs)
    costs, loads = drawn.costs.reshape(agents, jobs), -drawn.matrix[jobs:].sum(axis=0).reshape(agents, jobs)
    assert np.array_equal(-drawn.sides[jobs:], np.floor(0.8 * loads.sum(axis=1) / agents))
    worth = []
    for way in itertools.product(range(agents), repeat=jobs):
        done = np.eye(agents, dtype=int)[:, way]
        if ((done * loads).sum(axis=1) <= -drawn.sides[jobs:]).all():
            worth.append((done * costs).sum())
    points = np.array(list(itertools.product((0, 1), repeat=agents * jobs)))
    feasible = (points @ drawn.matrix.T >= drawn.sides).all(axis=1)
    assert (points[feasible] @ drawn.costs).min(initial=10**9) == min(worth, default=10**9)


def test_sets_differ_from_the_instances_of_a_search_as_their_names_say() -> None:
    rng = np.random.default_rng(3)
    shares = {"val": (90, 0.1), "sparse": (150, 0.04)}
    for mode, (size, share) in shares.items():
        assert len(instances.draw(rng, size, mode).sides) == pytest.approx(share * size * (size - 1) / 2, rel=0.2)
    for mode, size, density in (("val", 200, 0.1), ("larger", 300, 0.1), ("sparse", 250, 0.04)):
        assert instances.draw(rng, size, mode).matrix.mean() == pytest.approx(density, rel=0.05)
    for size in instances.SETS["equal_costs"]:
        assert len({*instances.draw(rng, size, "equal_costs").costs.tolist()}) == 1


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_found_whatever_decides(rule: str, seed: int) -> None:
    instance = small(seed)
    outcome = tree.search(instance, seed, *RULES[rule])
    assert outcome.solved
    assert outcome.objective == pytest.approx(best_of_all_points(instance))


@pytest.mark.parametrize("rule", RULES)
def test_equal_decisions_take_equal_work(rule: str) -> None:
    first, second = (tree.search(small(5, 20), 3, *RULES[rule]) for _ in range(2))
    assert first == second
    assert first.work == first.iterations + first.probe_iterations + tree.NODE_ITERATIONS * first.nodes


def test_probes_are_paid_for_and_remembered() -> None:
    seen: list[tuple[int, NDArray[np.float64], NDArray[np.float64]]] = []

    def probe(node: Any) -> NDArray[np.float64]:
        seen.append((node.depth, node.seen, node.seen))
        wanted = np.where(node.seen == node.seen.min(), 1.0, -1.0)
        wanted[int(np.argmin(node.seen)) + 1 :] = -1.0
        return wanted

    def score(node: Any) -> NDArray[np.float64]:
        if len(node.seen) == len(seen[-1][1]):
            seen[-1] = (node.depth, seen[-1][1], node.seen)
        return every(node)

    probing = tree.search(small(1, 25), 0, probe, score)
    plain = tree.search(small(1, 25), 0, nothing, every)
    assert probing.probe_iterations > 0 == plain.probe_iterations
    risen = [after - before for _, before, after in seen if after is not before]
    assert risen
    assert all(rise.sum() == rise.max() == 1 for rise in risen)


def test_what_a_candidate_may_know_is_in_its_range() -> None:
    nodes: list[Any] = []

    def score(node: Any) -> NDArray[np.float64]:
        nodes.append(node)
        return every(node)

    instance = small(2, 20)
    tree.search(instance, 0, nothing, score)
    assert nodes
    for node in nodes:
        assert ((node.fraction > 0) & (node.fraction < 1)).all()
        assert (np.minimum(node.gain_down, node.gain_up) >= 0).all()
        assert (node.rows == len(instance.sides)).all()
        assert (node.cost < 0).all()
        assert node.gap > 0
        assert node.depth >= 0
    # All costs in parts of one bound, which lies below the optimum.
    whole = {round(cost / float(instance.costs.min()), 12) for node in nodes for cost in node.cost.tolist()}
    assert len(whole) > 1
    assert min(node.cost.min() for node in nodes) > -1


def test_a_search_beyond_the_limit_ends_and_counts_twice_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_WORK", 300)
    outcome = tree.search(small(1, 30), 0, nothing, every)
    assert not outcome.solved
    assert outcome.work == 600


class FirstError(Exception):
    """What a candidate raised."""


@pytest.mark.parametrize("name", ["probe", "score"])
def test_an_error_of_the_candidate_ends_the_search_and_is_raised(name: str) -> None:
    calls = []

    def failing(node: Any) -> None:
        calls.append(node)
        raise FirstError

    with pytest.raises(FirstError):
        tree.search(small(1, 25), 0, *((failing, every) if name == "probe" else (nothing, failing)))
    assert len(calls) == 1


def test_nothing_changes_where_scip_decides() -> None:
    """The tree is that of SCIP without a candidate."""
    instance = small(7, 25)
    model = tree._as_scip(instance, 4)
    model.optimize()
    outcome = tree.search(instance, 4, nothing, own)
    assert (outcome.nodes, outcome.iterations) == (model.getNTotalNodes(), model.getNLPIterations())
