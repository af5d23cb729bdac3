"""The archive keeps the best of every cell, on every island, in either direction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.archive import (
    AddStatus,
    Archive,
    ArchivePolicy,
    Grid,
    replay_archive,
    reset_generator,
    restarts,
)
from oragent.search.candidate import NOWHERE, Candidate, Committed, Elite

CELLS = st.tuples(st.integers(0, 2), st.integers(0, 2))
DIRECTIONS = st.sampled_from(["maximize", "minimize"])


def elite(number: int, score: float, features: tuple[int, ...] | None = (0,), length: int = 10) -> Elite:
    return Elite(id=f"1.{number}", source=f"x = {number}" + " + 1" * length, score=score, features=features, metrics={})


additions = st.lists(st.tuples(st.floats(-9, 9), CELLS, st.integers(0, 2)), min_size=1, max_size=40)


@given(additions, DIRECTIONS)
def test_every_cell_holds_the_best_that_was_ever_put_there(added: list, direction: str) -> None:
    archive = Archive(direction, islands=3)
    best = max if direction == "maximize" else min
    expected: dict = {}
    for number, (score, cell, island) in enumerate(added):
        archive.add(elite(number, score, cell), island)
        key = (island, cell)
        expected[key] = best(expected.get(key, score), score)
    found = {(island, one.features): one.score for island in range(3) for one in archive.ranked(island)}
    assert found == expected
    assert archive.best.score == best(score for score, _, _ in added)


@given(additions, DIRECTIONS)
def test_a_status_says_what_became_of_the_archive(added: list, direction: str) -> None:
    archive = Archive(direction, islands=3)
    for number, (score, cell, island) in enumerate(added):
        before = {one.features: one for one in archive.ranked(island)}
        status = archive.add(elite(number, score, cell), island)
        after = {one.features: one for one in archive.ranked(island)}
        assert bool(status) == (before != after)
        assert (status is AddStatus.NEW) == (len(after) > len(before))


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=30), DIRECTIONS)
def test_without_features_an_island_is_the_best_few(scores: list[float], direction: str) -> None:
    archive = Archive(direction, population=5)
    for number, score in enumerate(scores):
        archive.add(elite(number, score, None), 0)
    ordered = sorted(scores, reverse=direction == "maximize")
    assert [one.score for one in archive.ranked(0)] == ordered[:5]


@given(additions, additions, DIRECTIONS, st.booleans())
def test_later_additions_change_no_ranking_of_a_snapshot(
    first: list, second: list, direction: str, early: bool
) -> None:
    def build(*parts: list) -> Archive:
        archive = Archive(direction, islands=3)
        for number, (score, cell, island) in enumerate(entry for part in parts for entry in part):
            archive.add(elite(number, score, cell), island)
            if early:
                archive.ranked(island)
        return archive

    archive = build(first)
    twin = archive.snapshot()
    for number, (score, cell, island) in enumerate(second, len(first)):
        archive.add(elite(number, score, cell), island)
    for island in range(3):
        assert twin.ranked(island) == build(first).ranked(island)
        assert archive.ranked(island) == build(first, second).ranked(island)
    archive.keep_only(lambda name: name == "1.0")
    assert [one.id for island in range(3) for one in archive.ranked(island)] in ([], ["1.0"])


def test_of_equal_programs_the_shorter_wins_and_the_older_stays() -> None:
    archive = Archive("minimize")
    archive.add(elite(1, 5.0, length=10), 0)
    assert archive.add(elite(2, 5.0, length=10), 0) is AddStatus.NOT_ADDED
    assert archive.add(elite(3, 5.0, length=9), 0) is AddStatus.IMPROVED
    assert archive.best.id == "1.3"


def test_migration_sends_each_best_one_island_on() -> None:
    archive = Archive("minimize", islands=3)
    for island, score in enumerate([1.0, 2.0, 3.0]):
        archive.add(elite(island, score, (island,)), island)
    archive.migrate()
    assert [sorted(one.score for one in archive.ranked(island)) for island in range(3)] == [[1, 3], [1, 2], [2, 3]]


def test_a_reset_refills_the_worse_half_from_the_better() -> None:
    archive = Archive("maximize", islands=4)
    for island, score in enumerate([1.0, 4.0, 2.0, 3.0]):
        archive.add(elite(island, score), island)
        archive.add(elite(10 + island, score - 5, (1,)), island)
    archive.reset(np.random.default_rng(0))
    assert [len(archive.ranked(island)) for island in range(4)] == [1, 2, 1, 2]
    assert {archive.ranked(island)[0].score for island in (0, 2)} <= {4.0, 3.0}
    assert archive.best.score == 4.0


def test_a_snapshot_does_not_see_what_comes_later() -> None:
    archive = Archive("minimize")
    archive.add(elite(1, 5.0), 0)
    before = archive.snapshot()
    archive.add(elite(2, 4.0), 0)
    assert before.best.id == before.ranked(0)[0].id == "1.1"
    assert archive.best.id == "1.2"


def test_elites_of_all_islands_are_listed_once() -> None:
    archive = Archive("minimize", islands=2)
    for island in (0, 1):
        archive.add(elite(1, 5.0), island)
    archive.add(elite(2, 4.0, (3,)), 1)
    assert [one.id for one in archive.elites()] == ["1.2", "1.1"]


def test_a_direction_is_one_of_two() -> None:
    with pytest.raises(ValueError, match="down"):
        Archive("down")


def score_all(archive: Archive) -> list[list[float]]:
    return [[one.score for one in archive.ranked(island)] for island in range(archive.islands)]


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        # The range without a twentieth at either end, and half of it on both sides.
        (range(101), (-40.0, 140.0)),
        ([0.0, 1.0], (0.05 - 0.45, 0.95 + 0.45)),
        ([-2e6, -1e6], (-1.95e6 - 0.45e6, -1.05e6 + 0.45e6)),
        # Equal values: half of the magnitude, or a millionth about zero.
        ([4.0] * 3, (2.0, 6.0)),
        ([-4.0], (-6.0, -2.0)),
        ([0.0], (-1e-6, 1e-6)),
    ],
)
def test_bounds_are_the_range_of_most_values_with_a_margin(values: list[float], bounds: tuple[float, float]) -> None:
    grid = Grid((5,), (None,), (True,)).chosen([(float(value),) for value in values])
    assert grid.bounds == (pytest.approx(bounds),)
    assert Grid((5,), ((0.0, 1.0),), (True,)).chosen([(9.0,)]).bounds == ((0.0, 1.0),)
    assert Grid((5,), (None,), (False,)).chosen([(9.0,)]).bounds == (None,)


def test_bounds_are_short_numbers_unless_they_would_move() -> None:
    values = [(1 / 3,), (2 / 3,)]
    for end in Grid((5,), (None,), (True,)).chosen(values).bounds[0]:
        assert len(repr(abs(end))) <= 8
    low, high = Grid((5,), (None,), (True,)).chosen([(123456.7,), (123456.8,)]).bounds[0]
    assert low < 123456.7 < 123456.8 < high < 123456.9


def test_each_axis_is_bounded_by_its_own_values_and_a_missing_one_stays_open() -> None:
    grid = Grid((5, 5, 5), (None, None, None), (True, True, True)).chosen([(0.0, 4.0), (1.0,)])
    assert grid.bounds == (pytest.approx((-0.4, 1.4)), (2.0, 6.0), None)
    assert not grid.is_known


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (-1e9, 0),
        (-0.1, 0),
        (0.0, 0),
        (0.19, 0),
        (0.2, 1),
        (0.39, 1),
        (0.8, 4),
        (0.99, 4),
        (1.0, 4),
        (1.1, 4),
        (1e308, 4),
    ],
)
def test_bins_of_an_axis_are_equal_and_the_outer_ones_open(value: float, cell: int) -> None:
    grid = Grid((5, 9), ((0.0, 1.0), None), (True, False))
    # An axis whose ends are not declared, or that the problem does not name, has the bin that is printed.
    assert grid.cell((value, 7.0, 3.0)) == (cell, 7, 3)
    assert grid.cell(None) is None
    assert Grid((5,), (None,), (False,)).cell((value,)) == (int(value),)


def test_the_best_is_recorded_without_a_place_and_stays_when_places_are_emptied() -> None:
    archive = Archive("minimize", islands=2)
    assert archive.consider(elite(1, 5.0)) is AddStatus.NOT_ADDED
    assert (archive.best.id, score_all(archive), archive.added(0)) == ("1.1", [[], []], 0)
    archive.consider(elite(2, 6.0))
    archive.add(elite(3, 7.0), 1)
    archive.add(elite(4, 8.0), 1)
    assert (archive.best.id, score_all(archive)) == ("1.1", [[], [7.0]])
    assert (archive.added(0), archive.added(1)) == (0, 2)
    archive.keep_only(lambda name: name != "1.3")
    assert (archive.best.id, score_all(archive)) == ("1.1", [[], []])


def test_without_features_a_status_says_whether_a_program_stays() -> None:
    archive = Archive("minimize", population=2)
    scores = [3.0, 5.0, 6.0, 4.0, 4.0, 2.0]
    statuses = [archive.add(elite(number, score, None), 0) for number, score in enumerate(scores)]
    new, better, lost = AddStatus.NEW, AddStatus.IMPROVED, AddStatus.NOT_ADDED
    assert statuses == [new, new, lost, better, lost, better]
    assert score_all(archive) == [[2.0, 3.0]]


def test_islands_restart_only_if_all_hold_a_program() -> None:
    archive = Archive("maximize", islands=3)
    for island in (0, 2):
        archive.add(elite(island, float(island)), island)
        archive.add(elite(island + 5, island - 1.0, (2,)), island)
    archive.reset(np.random.default_rng(0))
    assert score_all(archive) == [[0.0, -1.0], [], [2.0, 1.0]]
    archive.migrate()
    assert score_all(archive) == [[2.0, -1.0], [0.0], [2.0, 1.0]]
    archive.reset(np.random.default_rng(0))
    # The better half of three islands is two; the third begins with one program of them.
    assert score_all(archive) == [[2.0, -1.0], [2.0], [2.0, 1.0]]


@pytest.mark.parametrize("count", range(1, 7))
def test_the_worse_half_restarts_from_the_better(count: int) -> None:
    tops = [float((3 * island) % 7) for island in range(count)]
    sources = set()
    for seed in range(40):
        pairs = restarts(tops, np.random.default_rng(seed))
        better = sorted(range(count), key=lambda island: -tops[island])[: (count + 1) // 2]
        assert sorted(island for island, _ in pairs) == sorted({*range(count)} - {*better})
        assert [tops[island] for island, _ in pairs] == sorted((tops[island] for island, _ in pairs), reverse=True)
        sources |= {source for _, source in pairs}
    assert sources == ({*better} if count > 1 else set())


def candidate(score: float | None, island: int = 0, origin: str = "code", features: tuple | None = (0.5,)) -> Candidate:
    evaluation = Evaluation(Status.OK if score is not None else Status.ERROR, score, features=features)
    return Candidate(
        source="x = 1", fingerprint="f", parents=(), origin=origin, island=island, call=None, evaluation=evaluation
    )


def test_a_policy_places_the_seed_everywhere_and_others_on_their_island() -> None:
    grid = Grid((4,), ((0.0, 1.0),), (True,))
    policy = ArchivePolicy(direction="minimize", islands=2, grid=grid)
    archive = policy.opened()
    assert policy.place(archive, "0.0", candidate(None)) is None
    assert policy.place(archive, "0.0", candidate(3.0, origin="probe")) is None
    assert policy.place(archive, "0.0", candidate(9.0)) is AddStatus.NEW
    assert score_all(archive) == [[9.0], [9.0]]
    assert archive.ranked(0)[0].features == (2,)
    assert policy.place(archive, "1.0", candidate(5.0, 1)) is AddStatus.IMPROVED
    assert policy.place(archive, "1.1", candidate(4.0, NOWHERE)) is AddStatus.NOT_ADDED
    assert (score_all(archive), archive.best.id) == ([[9.0], [5.0]], "1.1")
    first = ArchivePolicy(direction="minimize", islands=2, everywhere=False)
    archive = first.opened()
    first.place(archive, "0.0", candidate(9.0))
    assert score_all(archive) == [[9.0], []]
    assert archive.ranked(0)[0].features == (0.5,)


def commit(name: str, score: float, island: int = 0) -> Committed:
    return Committed(id=name, candidate=candidate(score, island, features=None), placed="NEW", elapsed_s=0.0)


def test_a_replay_migrates_and_resets_after_the_rounds_at_which_it_was_due() -> None:
    records = [
        commit("0.0", 9.0),
        commit("1.0", 5.0, 0),
        commit("4.0", 4.0, 1),
        commit("4.1", 7.0, 2),
        commit("7.0", 1.0, 0),
    ]
    for migration, rounds, wanted in (
        (0, 8, [[1.0, 5.0, 9.0], [4.0, 9.0], [7.0, 9.0]]),
        (3, 4, [[5.0, 9.0], [5.0, 9.0], [9.0]]),
        (3, 6, [[5.0, 9.0], [4.0, 5.0, 9.0], [7.0, 9.0]]),
        (3, 7, [[5.0, 7.0, 9.0], [4.0, 5.0, 9.0], [4.0, 7.0, 9.0]]),
    ):
        policy = ArchivePolicy(direction="minimize", islands=3, migration_period=migration)
        early = [record for record in records if record.round < rounds]
        assert score_all(replay_archive(policy, early, rounds)) == wanted
    policy = ArchivePolicy(direction="minimize", islands=2, reset_period=5, seed=3)
    few = [record for record in records if record.candidate.island < 2]
    assert score_all(replay_archive(policy, few[:3], 5)) == [[5.0, 9.0], [4.0, 9.0]]
    # After round 5 the first island, whose best is worse, begins again with the best of the second.
    assert score_all(replay_archive(policy, few[:3], 6)) == [[4.0], [4.0, 9.0]]
    assert score_all(replay_archive(policy, few, 8)) == [[1.0, 4.0], [4.0, 9.0]]
    timed = ArchivePolicy(direction="minimize", islands=2, resets=frozenset({4}))
    assert score_all(replay_archive(timed, few[:3], 5)) == [[4.0], [4.0, 9.0]]


@pytest.mark.parametrize(
    ("number", "period", "is_due"), [(0, 1, False), (4, 0, False), (4, 2, True), (5, 2, False), (1, 1, True)]
)
def test_a_reset_is_due_after_each_period_but_not_after_the_seed(number: int, period: int, is_due: bool) -> None:
    generator = reset_generator(number, period, 7)
    assert (generator is not None) is is_due
    if generator is not None:
        again, other = reset_generator(number, period, 7), reset_generator(number, period, 8)
        first = generator.integers(1 << 30)
        assert again.integers(1 << 30) == first != other.integers(1 << 30)
