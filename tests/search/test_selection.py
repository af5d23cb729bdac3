"""Parents are drawn by rank, or by score from all islands."""

import numpy as np
import pytest

from oragent.search.archive import Archive
from oragent.search.candidate import Elite
from oragent.search.selection import cyclic_temperature, draw_by_softmax, draw_parents


def filled(count: int) -> Archive:
    archive = Archive("minimize")
    for number in range(count):
        archive.add(Elite(id=f"1.{number}", source="", score=float(number), features=(number,), metrics={}), 0)
    return archive


def test_parents_of_one_draw_differ() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        drawn = draw_parents(filled(5), 0, 3, rng)
        assert len({elite.id for elite in drawn}) == 3


def test_there_are_no_more_parents_than_elites() -> None:
    assert len(draw_parents(filled(1), 0, 2, np.random.default_rng(0))) == 1


@pytest.mark.slow
def test_frequencies_fall_exponentially_with_rank() -> None:
    rng, archive, draws = np.random.default_rng(0), filled(10), 20_000
    counts = np.zeros(10)
    for _ in range(draws):
        counts[int(draw_parents(archive, 0, 1, rng, temperature=0.2)[0].score)] += 1
    expected = np.exp(-np.arange(10) / 2)
    assert np.allclose(counts / draws, expected / expected.sum(), atol=0.012)


def test_one_hopeless_score_does_not_change_the_draw() -> None:
    archive = filled(5)
    archive.add(Elite(id="1.9", source="", score=1e9, features=(9,), metrics={}), 0)
    rng = np.random.default_rng(0)
    drawn = [draw_parents(archive, 0, 1, rng, temperature=0.1)[0].score for _ in range(200)]
    assert max(drawn.count(score) for score in (0.0, 1.0)) > 100


def spread(scores: dict[int, list[float]]) -> Archive:
    """Islands with elites of these scores, each in a cell of its own."""
    archive = Archive("minimize", islands=len(scores))
    for island, values in scores.items():
        for number, score in enumerate(values):
            archive.add(Elite(id=f"{island}.{number}", source="", score=score, features=(number,), metrics={}), island)
    return archive


@pytest.mark.slow
def test_parents_by_score_come_from_all_islands_alike_and_differ() -> None:
    archive, rng = spread({0: [1, 2, 3], 1: [50, 60], 2: [7]}), np.random.default_rng(0)
    counts = np.zeros(3)
    for _ in range(3000):
        found, island = draw_by_softmax(archive, 2, rng, lambda island: 0.5)
        assert len({elite.id for elite in found}) == len(found)
        assert found[0].id.startswith(f"{island}.")
        counts[island] += 1
    assert np.allclose(counts / 3000, 1 / 3, atol=0.03)


@pytest.mark.slow
def test_within_an_island_the_draw_is_a_softmax_from_the_median_to_the_best() -> None:
    archive, rng, temperature = spread({0: [0, 2, 4, 6, 1e9]}), np.random.default_rng(0), 0.5
    counts = np.zeros(5)
    for _ in range(20_000):
        counts[int(draw_by_softmax(archive, 1, rng, lambda island: temperature)[0][0].id[-1])] += 1
    expected = np.exp(np.array([1, 0.5, 0, 0, 0]) / temperature)  # the median is 4: it and all worse ones count as 0
    assert np.allclose(counts / 20_000, expected / expected.sum(), atol=0.012)


@pytest.mark.slow
def test_equal_scores_are_drawn_alike() -> None:
    archive, rng = spread({0: [5, 5, 5, 9]}), np.random.default_rng(0)
    counts = np.zeros(4)
    for _ in range(4000):
        counts[int(draw_by_softmax(archive, 1, rng, lambda island: 0.1)[0][0].id[-1])] += 1
    assert np.allclose(counts[:3] / 4000, 1 / 3, atol=0.03)
    assert counts[3] < 10


def test_the_temperature_falls_and_starts_anew() -> None:
    values = [cyclic_temperature(number, 0.5, 10) for number in range(20)]
    assert values[:10] == values[10:]
    assert values[0] == 1.0
    assert np.allclose(np.diff(values[:10]), -0.1)
    assert values[9] > 0
