"""Parts of strategies by themselves: draws of parents, populations, bandits, proxies, and the ends of runs."""

import asyncio
import json
import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from oragent._base.direction import Direction
from oragent._base.errors import ConfigError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.archive import Archive
from oragent.search.candidate import Candidate, Committed, Elite
from oragent.search.practice_check import PracticeScore, find_disagreement
from oragent.search.screening import terms_of
from oragent.search.selection import (
    best_records,
    by_rank,
    cyclic_temperature,
    draw_by_softmax,
    draw_parents,
    normalise_fitness,
)
from oragent.search.store import RoundNote
from oragent.search.strategies import levi, reevo, tide
from oragent.search.strategies.levi import Cells, cell_elites, faithful_size, proxy_gate, region_representatives
from oragent.search.strategies.tide import BanditArm, Island, IslandEvent, choose_operator, relative_gain
from oragent.search.user_commands import MAX_VALUE, check_act

DRAWS = 3000


def record(name: str, score: float | None, source: str = "", origin: str = "code", **metrics: float) -> Committed:
    status = Status.OK if score is not None else Status.ERROR
    message = "" if score is not None else f"failed {name}"
    evaluation = Evaluation(status, score, metrics=metrics, message=message, wall_s=0.1)
    candidate = Candidate(
        source=source or f"def f(x):\n    return {score}\n", fingerprint=f"print {name}", parents=(), origin=origin,
        island=0, call=0, evaluation=evaluation,
    )  # fmt: skip
    return Committed(id=name, candidate=candidate, placed="NEW" if score is not None else "", elapsed_s=0.0)


def loss(found: Committed) -> float:
    """Return the fitness where lower scores are better."""
    return -(found.score or 0.0)


class Run(SimpleNamespace):
    """What parts of strategies read of a round of a minimisation."""

    def __init__(self, *records: Committed, seed: int = 0, **fields: object) -> None:
        scored = [found for found in records if found.score is not None]
        archive = SimpleNamespace(fitness=lambda score: -score)
        super().__init__(
            history=[*records], scored=scored, fitness=loss, archive=archive, rng=np.random.default_rng(seed),
            turn_of=lambda number: number, **fields,
        )  # fmt: skip


def shares(draw, names) -> list[float]:
    counted = Counter(draw() for _ in range(DRAWS))
    assert {*counted} <= {*names}
    return [counted[name] / DRAWS for name in names]


# --- draws of parents ------------------------------------------------------------------------------------------------


def fill(*scores: float, islands: int = 1) -> Archive:
    archive = Archive("minimize", islands)
    for number, score in enumerate(scores):
        archive.add(
            Elite(id=f"{score:g}", source="x = 1", score=score, features=(number,), metrics={}), number % islands
        )
    return archive


@pytest.mark.parametrize("temperature", [0.2, 1.0])
def test_parents_are_drawn_by_rank_with_weights_that_fall_by_a_factor(temperature: float) -> None:
    archive, rng = fill(9.0, 1.0, 1e6, 4.0), np.random.default_rng(0)
    found = shares(lambda: draw_parents(archive, 0, 1, rng, temperature)[0].id, ["1", "4", "9", "1e+06"])
    weights = np.exp(-np.arange(4) / (4 * temperature))
    assert found == pytest.approx(weights / weights.sum(), abs=0.03)
    several = draw_parents(archive, 0, 9, rng, temperature)
    assert sorted(elite.score for elite in several) == [1.0, 4.0, 9.0, 1e6]


def test_an_empty_island_takes_parents_of_all() -> None:
    archive = Archive("minimize", 2)
    archive.add(Elite(id="a", source="x = 1", score=1.0, features=None, metrics={}), 0)
    assert [elite.id for elite in draw_parents(archive, 1, 2, np.random.default_rng(0), 0.5)] == ["a"]


def test_parents_are_drawn_by_a_softmax_of_scores_between_the_median_and_the_best() -> None:
    archive, rng = fill(0.0, 1.0, 2.0, 3.0, 1e6), np.random.default_rng(0)
    found = shares(lambda: draw_by_softmax(archive, 1, rng, lambda island: 0.5)[0][0].id, ["0", "1", "2", "3", "1e+06"])
    # 1 for the best, 1/2 for the second, and 0 from the median on.
    weights = np.exp((np.array([1, 0.5, 0, 0, 0]) - 1) / 0.5)
    assert found == pytest.approx(weights / weights.sum(), abs=0.03)


def test_elites_of_a_softmax_differ_and_come_from_one_island_or_from_any() -> None:
    archive, rng = fill(*map(float, range(8)), islands=2), np.random.default_rng(0)
    homes = {f"{number:g}": number % 2 for number in range(8)}
    for together in (True, False):
        seen = set()
        for _ in range(200):
            chosen, island = draw_by_softmax(archive, 3, rng, lambda island: 9.0, together=together)
            assert len({elite.id for elite in chosen}) == 3
            assert homes[chosen[0].id] == island
            seen.add(tuple(sorted({homes[elite.id] for elite in chosen})))
        assert seen == ({(0,), (1,)} if together else {(0,), (1,), (0, 1)})
    chosen, _ = draw_by_softmax(fill(1.0, 2.0), 5, rng, lambda island: 1.0, together=True)
    assert len(chosen) == 2
    # The temperature is that of the island.
    cold = {0: 1e-3, 1: 1e9}
    found = {draw_by_softmax(archive, 1, rng, cold.__getitem__)[0][0].id for _ in range(200)}
    assert found == {"0", "1", "3", "5", "7"}


@pytest.mark.parametrize(
    ("fitness", "shown"),
    [([3.0, 1.0, 2.0], [1.0, 0.0, 0.0]), ([4.0, 3.0, 2.0, 1.0, 0.0], [1, 0.5, 0, 0, 0]), ([2.0, 2.0], [1.0, 1.0]), ([5.0, 5.0, 1.0], [1, 1, 0])],
)  # fmt: skip
def test_fitness_is_normalised_between_the_median_and_the_best(fitness: list[float], shown: list[float]) -> None:
    assert normalise_fitness(np.array(fitness)).tolist() == shown


def test_the_best_records_are_one_of_each_score_and_the_oldest() -> None:
    records = [record("a", 3.0), record("b", 1.0), record("c", 3.0), record("d", 2.0)]
    assert [found.id for found in best_records(records, loss, 9)] == ["b", "d", "a"]
    assert [found.id for found in best_records(records, loss, 2)] == ["b", "d"]
    ranked, rng = [record(str(rank), float(rank)) for rank in range(3)], np.random.default_rng(1)
    weights = np.array([1 / (rank + 3) for rank in (1, 2, 3)])
    found = shares(lambda: by_rank(ranked, 1, rng)[0].id, "012")
    assert found == pytest.approx(weights / weights.sum(), abs=0.03)


def test_a_temperature_falls_from_twice_its_mean_to_nearly_nothing_in_each_cycle() -> None:
    values = [cyclic_temperature(number, 0.5, 4) for number in range(9)]
    assert values == [1.0, 0.75, 0.5, 0.25, 1.0, 0.75, 0.5, 0.25, 1.0]


# --- levi ------------------------------------------------------------------------------------------------------------


def test_members_are_drawn_by_a_softmax_over_the_range_of_scores() -> None:
    members = [record("a", 1.0), record("b", 2.0), record("c", 5.0)]
    run = Run(*members)
    found = shares(lambda: levi._draw_member(run, members, 0.5).id, "abc")
    weights = np.exp((np.array([1.0, 0.75, 0.0]) - 1) / 0.5)
    assert found == pytest.approx(weights / weights.sum(), abs=0.03)
    equal = [record("a", 1.0), record("b", 1.0)]
    assert shares(lambda: levi._draw_member(run, equal, 0.1).id, "ab") == pytest.approx([0.5, 0.5], abs=0.05)


SHAPES = [
    "def f(x):\n    return x\n",
    "def f(x):\n    return x + x * x - x\n",
    "def f(x):\n    for i in x:\n        x = i\n    return x\n",
    "def f(x):\n    if x:\n        return 1\n    return 2 if x else 3\n",
]


def test_each_cell_holds_its_best_program_and_later_ones_do_not_move_the_cells() -> None:
    records = [record(f"{number}.0", float(5 - number), source) for number, source in enumerate(SHAPES)]
    later = [record("4.0", 0.5, SHAPES[0] + "\n"), record("5.0", 9.0, SHAPES[1] + "\n")]
    run = Run(*records, *later, own=SimpleNamespace(cells=9, regions=2))
    cells, holders = cell_elites(run, 3)
    assert len(cells.centroids) == 4
    assert {found.id for found in holders.values()} == {"4.0", "1.0", "2.0", "3.0"}
    again, _ = cell_elites(Run(*records, own=run.own), 3)
    assert np.array_equal(cells.centroids, again.centroids)
    chosen = region_representatives(run, cells, holders)
    assert len(chosen) == 2
    assert [found.score for found in chosen] == sorted((found.score for found in chosen), reverse=True)
    assert chosen[-1].id == "4.0"


def test_counts_are_normalised_by_their_mean_and_deviation() -> None:
    raw = np.array([levi.count_syntax(source) for source in SHAPES])
    cells = Cells.of(SHAPES, 4)
    spread = np.maximum(raw.std(axis=0, ddof=1), levi.MIN_DEVIATION)
    for source, counts in zip(SHAPES, raw, strict=True):
        assert cells.place(source) == pytest.approx(1 / (1 + np.exp(-(counts - raw.mean(axis=0)) / spread)))
    single = Cells.of(SHAPES[:1], 4)
    assert single.place(SHAPES[0]) == pytest.approx([0.5] * 4)


SIZES = {"val": [5, 9]}


def problem(direction: Direction = Direction.MINIMIZE, sizes: dict | None = None):
    return SimpleNamespace(about=SimpleNamespace(sizes=SIZES if sizes is None else sizes, direction=direction))


def test_the_proxy_is_the_size_that_orders_the_first_programs_like_all() -> None:
    records = [
        record(f"{number}.0", (small + large) / 2, length_5=small, length_9=large)
        for number, (small, large) in enumerate([(3.0, 1.0), (2.0, 5.0), (4.0, 9.0)])
    ]
    fields = {"problem": problem(), "settings": SimpleNamespace(problem_size=None), "own": SimpleNamespace(slack=0.2)}
    assert faithful_size(Run(*records, **fields), 2) == 9
    # One program, one size, or a size of the run: there is no proxy.
    assert faithful_size(Run(*records, **fields), 0) is None
    assert faithful_size(Run(*records, **fields | {"problem": problem(sizes={"val": [5]})}), 2) is None
    assert faithful_size(Run(*records, **fields | {"problem": problem(sizes={})}), 2) is None
    assert faithful_size(Run(*records, **fields | {"settings": SimpleNamespace(problem_size=5)}), 2) is None
    plain = [record(f"{number}.0", float(number)) for number in range(3)]
    assert faithful_size(Run(*plain, **fields), 2) is None


@pytest.mark.parametrize(("direction", "least"), [(Direction.MINIMIZE, 10 * 1.2), (Direction.MAXIMIZE, 10 * 0.8)])
def test_a_program_must_come_near_the_elite_of_its_cell_at_the_proxy(direction: Direction, least: float) -> None:
    records = [
        record(f"{number}.0", (small + 10.0) / 2, source, length_5=small, length_9=10.0)
        for number, (small, source) in enumerate(zip((1.0, 2.0), SHAPES[1:3], strict=True))
    ]
    fields = {
        "problem": problem(direction),
        "settings": SimpleNamespace(problem_size=None),
        "own": SimpleNamespace(slack=0.2, cells=9),
    }
    run = Run(*records, **fields)
    cells, holders = cell_elites(run, 2)
    size = faithful_size(run, 2)
    gate = proxy_gate(run, 2, cells, holders)
    assert gate is not None
    found = gate(SHAPES[1])
    expected = least if size == 9 else least / 10
    assert (found.size, found.bar) == (size, pytest.approx(expected))
    assert proxy_gate(run, 2, cells, {})(SHAPES[1]) is None
    assert (
        proxy_gate(Run(*records, **fields | {"settings": SimpleNamespace(problem_size=5)}), 2, cells, holders) is None
    )


@pytest.mark.parametrize(
    ("metrics", "row"),
    [
        ({"length_5": 1, "length_9": 3.0}, [1.0, 3.0]),
        ({"other_5": 1.0, "other_9": 9.0, "length_5": 1.0, "length_9": 3.0}, [1.0, 3.0]),
        ({"length_5": 1.0, "length_9": 3.1}, None),
        ({"length_5": 1.0}, None),
        ({"length_5": "1", "length_9": 3.0}, None),
        ({"length5": 1.0, "length9": 3.0}, None),
    ],
)
def test_scores_of_sizes_are_the_metric_whose_mean_is_the_score(metrics: dict, row: list[float] | None) -> None:
    assert levi._scores_by_size(metrics, 2.0, [5, 9]) == row


# --- tide ------------------------------------------------------------------------------------------------------------


def test_untried_operators_are_taken_in_turns() -> None:
    arms = {"a": BanditArm(), "b": BanditArm(2, 1.0), "c": BanditArm()}
    assert [choose_operator(arms, 1.0, turn) for turn in range(4)] == ["a", "c", "a", "c"]
    played = {"a": BanditArm(8, 4.0), "b": BanditArm(2, 0.9)}
    bounds = {
        name: arm.reward / arm.plays + 1.0 * math.sqrt(2 * math.log(10) / arm.plays) for name, arm in played.items()
    }
    assert choose_operator(played, 1.0, 0) == max(bounds, key=bounds.get) == "b"
    assert choose_operator(played, 0.0, 0) == "a"
    assert relative_gain(3.0, 2.0) == 0.5
    assert relative_gain(1.0, 0.0) == pytest.approx(1e9)
    assert relative_gain(2.0, 2.0) == relative_gain(math.nan, 2.0) == 0.0


def test_an_event_changes_its_island() -> None:
    run = Run(record("9.0", 0.0))
    arms = {"e1": BanditArm()}
    island = Island([record("a", 4.0), record("b", 6.0)], since=3, moved=2, insight="Old.", lent="Lent.")
    tide._play_event(run, island, IslandEvent(0, "e1", insight="New."), [record("c", 3.0), record("d", 5.0)], 3, arms)
    assert [found.id for found in island.members] == ["c", "a", "d"]
    assert (island.since, island.moved, island.insight, island.explained, island.lent) == (0, 3, "New.", "a", "Lent.")
    assert (arms["e1"].plays, arms["e1"].reward) == (1, pytest.approx(0.25))
    tide._play_event(run, island, IslandEvent(0, "e1"), [record("e", 3.5)], 3, arms)
    assert (island.since, island.moved, arms["e1"].plays) == (1, 4, 2)
    tide._play_event(run, island, IslandEvent(0, "x", settler="9.0"), [], 3, arms)
    assert [found.id for found in island.members] == ["9.0", "c", "e"]
    assert (island.since, island.moved, island.lent) == (2, 1, "Lent.")
    tide._play_event(run, island, IslandEvent(0, "x", lent="More."), [], 3, arms)
    assert (island.lent, island.moved, len(island.members)) == ("More.", 1, 3)
    tide._play_event(run, island, IslandEvent(0, reset=True), [], 3, arms)
    assert len(island.members) == 3
    tide._play_event(run, island, IslandEvent(0, reset=True), [record("f", 8.0), record("g", 7.0)], 3, arms)
    assert ([found.id for found in island.members], island.since, island.moved) == (["f"], 0, 0)
    assert (island.insight, island.explained, island.lent) == ("", "", "")


def test_a_settler_replaces_the_worst_unless_its_score_is_there() -> None:
    run = Run(record("9.0", 5.0), record("8.0", 4.0))
    members = [record("a", 4.0), record("b", 6.0)]
    assert [found.id for found in tide._add_settler(run, members, "9.0")] == ["a", "9.0"]
    assert [found.id for found in tide._add_settler(run, members, "8.0")] == ["a", "b"]
    assert [found.id for found in tide._add_settler(run, members, "7.0")] == ["a", "b"]
    assert [found.id for found in tide._add_settler(run, members[:1], "9.0")] == ["a", "9.0"]


def test_the_best_of_a_random_few_become_parents_worst_first() -> None:
    members = [record(str(number), float(number)) for number in range(4)]
    run = Run(own=SimpleNamespace(parents=2, tournament=2))
    drawn = [[found.id for found in tide._draw_by_tournament(run, members)] for _ in range(DRAWS)]
    assert all(len(pair) == 2 and pair[0] > pair[1] for pair in drawn)
    # The best of four is in half of the pairs; else it has two chances in three to be in the next.
    assert sum("0" in pair for pair in drawn) / DRAWS == pytest.approx(1 / 2 + 1 / 2 * 2 / 3, abs=0.03)
    assert not any("3" in pair for pair in drawn if pair[1] == "3")
    few = Run(own=SimpleNamespace(parents=5, tournament=1))
    assert [found.id for found in tide._draw_by_tournament(few, members[:2])] == ["1", "0"]


@pytest.mark.parametrize(
    ("similarity", "event"), [(0.5, IslandEvent(0, settler="b")), (1.0, IslandEvent(0, lent="Good."))]
)
def test_the_best_neighbour_sends_its_elite_to_an_island_that_is_alike(similarity: float, event: IslandEvent) -> None:
    source = "def f(x):\n    return x\n"
    islands = [
        Island([record("a", 5.0, source)]),
        Island([record("c", 4.0, source)], insight="Bad."),
        Island(),
        Island([record("b", 3.0, source)], insight="Good."),
    ]
    run = Run(own=SimpleNamespace(similarity=similarity), island=0)
    assert asyncio.run(tide._migrate_best(run, islands, islands[0])) == event


# --- the ends of runs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("practice", "patience", "ends"),
    [
        ([5, 4, 6, 6, 6], 3, True), ([9, 9, 4, 6, 6], 2, True), ([5, 4, 6, 6, 4], 3, False), ([5, 4, 6, 4, 6], 3, False), ([5, 4, 4, 6, 6], 3, False),
        ([6, 6, 6], 3, False), ([5, 6, 6, 6], 3, True), ([5, 6], 1, True), ([5, 5], 1, False), ([5, 6, 4, 6], 2, False),
        ([3, 6, 4, 5], 2, True), ([5, 6], 0, False),
    ],
)  # fmt: skip
def test_a_run_ends_if_all_of_the_latest_are_worse_on_practice(
    practice: list[float], patience: int, ends: bool
) -> None:
    notes = [PracticeScore(f"{at}.0", 1.0, float(value)).to_note(at) for at, value in enumerate(practice)]
    assert bool(find_disagreement(notes, Direction.MINIMIZE, patience)) is ends


def test_acts_of_users_are_checked() -> None:
    assert check_act("hint", "x" * MAX_VALUE).value == "x" * MAX_VALUE
    assert check_act("hint", "  a hint \n").value == "a hint"
    assert check_act("add", " x = 1\n").value == " x = 1\n"
    assert check_act("pin", "12.0").value == "12.0"
    assert check_act("pin", "").value == ""
    assert json.loads(json.dumps(check_act("stop", "").value)) == ""
    for act, value in (
        ("hint", "x" * (MAX_VALUE + 1)), ("hint", " "), ("add", ""), ("ban", ""), ("budget", " "), ("fly", ""), ("pin", "1.a"),
        ("ban", "12.0.1"), ("ban", "-1.0"), ("pin", "１.0"), ("budget", "evaluations=x"),
    ):  # fmt: skip
        with pytest.raises(ConfigError):
            check_act(act, value)


# --- reevo -----------------------------------------------------------------------------------------------------------


def test_pairs_differ_in_their_score_and_the_worse_comes_first() -> None:
    run = Run()
    members = [record("a", 3.0), record("b", 1.0), record("c", 3.0)]
    pairs = {(worse.id, better.id) for worse, better in reevo._differing_pairs(run, members)}
    assert pairs == {("a", "b"), ("c", "b")}


def test_pairs_are_drawn_by_rank_among_those_that_differ_in_more_than_numbers() -> None:
    seed = record("0.0", 9.0, "def f(x): return x")
    shown = [
        record("1.0", 1.0, "a + 1"),
        record("2.0", 2.0, "b"),
        record("3.0", 3.0, "a  + 2.5"),
        record("4.0", 4.0, "c"),
    ]
    run = Run(seed, *shown, own=SimpleNamespace(pairs="rank"))
    pairs = reevo._differing_pairs(run, [seed, *shown])
    names = [f"{worse.id} {better.id}" for worse, better in pairs]

    def draw() -> str:
        worse, better = reevo._draw_pair(run, pairs)
        return f"{worse.id} {better.id}"

    ranks = {"1.0": 1, "2.0": 2, "3.0": 3, "4.0": 4}
    weights = [
        0.0 if "0.0" in name or name == "3.0 1.0" else 1 / sum(ranks[part] for part in name.split()) for name in names
    ]
    assert shares(draw, names) == pytest.approx([weight / sum(weights) for weight in weights], abs=0.03)
    only_seed = [(seed, shown[0])]
    assert reevo._draw_pair(run, only_seed) == only_seed[0]
    alike = [(shown[2], shown[0])]
    assert reevo._draw_pair(run, alike) == alike[0]
    run.own.pairs = "even"
    assert shares(draw, names) == pytest.approx([1 / len(names)] * len(names), abs=0.03)


def test_parents_are_the_last_generation_and_the_best_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reevo, "initial_size", lambda run: 2)
    scores = [9.0, 8.0, 7.0, 1.0, 6.0, 5.0, 4.0, 3.0, 2.0]
    records = [record(f"{number}.0", score) for number, score in enumerate(scores)]
    run = Run(*records, own=SimpleNamespace(generation=3))
    # The seed and two first programs, then generations of three rounds.
    found = [[parent.id for parent in reevo._parent_generation(run, generation)] for generation in (0, 1, 2)]
    assert found == [["0.0", "1.0", "2.0", "3.0"], ["3.0", "4.0", "5.0"], ["6.0", "7.0", "8.0", "3.0"]]


def test_hints_that_the_advice_lacks_are_merged_next() -> None:
    notes = [
        (2, reevo.HINT, "first"),
        (4, reevo.HINT, "second"),
        (5, reevo.ADVICE, "advice"),
        (5, reevo.JOINED, "3"),
        (6, reevo.HINT, "third"),
    ]

    def run_with(count: int) -> SimpleNamespace:
        known = [RoundNote(*note) for note in notes[:count]]
        recall = lambda kind: [note for note in known if note.kind == kind]  # noqa: E731
        return SimpleNamespace(recall=recall, problem=SimpleNamespace(knowledge=" Known.\n"))

    assert reevo._latest_advice(run_with(2)) == ("Known.", ["first", "second"])
    assert reevo._latest_advice(run_with(5)) == ("advice", ["second", "third"])


# --- races -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("quantile", "bar"), [(1.0, 0), (0.75, 1), (0.5, 2), (0.0, 4), (None, None)])
def test_a_race_ends_below_a_quantile_of_the_elites_and_at_shorter_twins(
    quantile: float | None, bar: int | None
) -> None:
    archive = Archive("minimize")
    sources = ["x = 1", "x = 1 + 1", "x = 1 + 1 + 1", "x = 2", "x = 3", "x = 4"]
    for number, source in enumerate(sources):
        metrics = {"by_instance": {"20": [float(number)]}, "behaviour": f"b{number}"} if number < 5 else {}
        archive.add(Elite(id=str(number), source=source, score=float(number), features=(number,), metrics=metrics), 0)
    length = archive.elites()[1].length
    terms = terms_of(archive, length, quantile, 2)
    assert (terms.direction, terms.probes) == (Direction.MINIMIZE, 2)
    assert terms.bar == (None if bar is None else {"20": [float(bar)]})
    elites = archive.elites()
    assert terms.twins == {f"b{number}" for number in range(5) if elites[number].length <= length}
    assert 1 < len(terms.twins) < 5
    # Without probes no answers are compared.
    assert terms_of(archive, length, quantile, 0).twins == frozenset()
