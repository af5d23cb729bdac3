"""Three groups of about equal size that keep equal results together."""

import csv
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.tables import Difficulty, tertiles
from tests.workspace.release import PUBLIC, needs_release

ORDER = list(Difficulty)


@given(st.lists(st.integers(0, 6), max_size=14))
def test_no_other_division_is_nearer_to_thirds(results: list[int]) -> None:
    labels = tertiles(results)
    pairs = sorted(zip(results, labels, strict=True), reverse=True)
    assert all(ORDER.index(one[1]) <= ORDER.index(two[1]) for one, two in pairwise(pairs))
    assert len(set(pairs)) == len(set(results))  # equal results, equal labels

    def cost(sizes: tuple[int, ...]) -> float:
        return sum((size - len(results) / 3) ** 2 for size in sizes)

    possible = [
        (sum(one > high for one in results), sum(low < one <= high for one in results), sum(one <= low for one in results))
        for high in range(-1, 7) for low in range(-1, high + 1)
    ]  # fmt: skip
    sizes = tuple(labels.count(label) for label in ORDER)
    best = min(map(cost, possible))
    assert cost(sizes) == pytest.approx(best)
    assert sizes[0] == min(one[0] for one in possible if cost(one) == pytest.approx(best))


def test_results_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(WorkspaceError, match="NaN"):
        tertiles([1.0, float("nan")])


@needs_release
@pytest.mark.parametrize(
    ("mode", "sizes"), [("build", [35, 32, 33]), ("revise", [39, 30, 31]), ("explain", [33, 33, 34])]
)
def test_the_published_divisions_are_met(mode: str, sizes: list[int]) -> None:
    with (PUBLIC / "metadata" / "empirical_difficulty.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["task_type"] == mode]
    labels = tertiles([float(row["empirical_score"]) for row in rows])
    assert labels == [row["difficulty"] for row in rows]
    assert [labels.count(label) for label in ORDER] == sizes
