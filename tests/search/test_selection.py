"""Parents are drawn by rank."""

import numpy as np

from oragent.search.archive import Archive, Elite
from oragent.search.selection import parents


def filled(count: int) -> Archive:
    archive = Archive("minimize")
    for number in range(count):
        archive.add(Elite(f"1.{number}", "", float(number), (number,), {}, 1), 0)
    return archive


def test_parents_of_one_draw_differ() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        drawn = parents(filled(5), 0, 3, rng)
        assert len({elite.id for elite in drawn}) == 3


def test_there_are_no_more_parents_than_elites() -> None:
    assert len(parents(filled(1), 0, 2, np.random.default_rng(0))) == 1


def test_frequencies_fall_exponentially_with_rank() -> None:
    rng, archive, draws = np.random.default_rng(0), filled(10), 20_000
    counts = np.zeros(10)
    for _ in range(draws):
        counts[int(parents(archive, 0, 1, rng, temperature=0.2)[0].score)] += 1
    expected = np.exp(-np.arange(10) / 2)
    assert np.allclose(counts / draws, expected / expected.sum(), atol=0.012)


def test_one_hopeless_score_does_not_change_the_draw() -> None:
    archive = filled(5)
    archive.add(Elite("1.9", "", 1e9, (9,), {}, 1), 0)
    rng = np.random.default_rng(0)
    drawn = [parents(archive, 0, 1, rng, temperature=0.1)[0].score for _ in range(200)]
    assert max(drawn.count(score) for score in (0.0, 1.0)) > 100
