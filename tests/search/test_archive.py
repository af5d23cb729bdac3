"""The archive keeps the best of every cell, on every island, in either direction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.search.archive import AddStatus, Archive
from oragent.search.candidate import Elite

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
