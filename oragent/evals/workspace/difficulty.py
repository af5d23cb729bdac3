"""Easy, medium and hard by results: three groups of about equal size that keep equal results together."""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate, combinations_with_replacement

from oragent._base.errors import WorkspaceError


class Difficulty(StrEnum):
    """How hard an instance is, beside the others of its mode."""

    EASY = "Easy"
    MEDIUM = "Medium"
    HARD = "Hard"


def tertiles(results: Sequence[float]) -> list[Difficulty]:
    """Divide instances into three groups, the best results easy.

    Of all divisions that keep equal results together, the one with the least squared deviation of its sizes from a
    third; among those, the one with the fewest easy, then the fewest medium instances (Zhou et al. 2026).

    Args:
        results: Pass rates or mean scores, one an instance; more is easier.

    Returns:
        A label for each, in their order.

    Raises:
        WorkspaceError: if a result is no number that can be compared.
    """
    if any(result != result for result in results):
        raise WorkspaceError("a result is NaN; expected a pass rate or a mean score for each instance")
    counts = sorted(Counter(results).items(), reverse=True)
    ends = [0, *accumulate(count for _, count in counts)]
    total = len(results)

    def cost(cut: tuple[int, int]) -> tuple[int, int, int]:
        sizes = (cut[0], cut[1] - cut[0], total - cut[1])
        return sum((3 * size - total) ** 2 for size in sizes), sizes[0], sizes[1]

    easy, medium = min(combinations_with_replacement(ends, 2), key=cost)
    labels = [
        Difficulty.EASY if end <= easy else Difficulty.MEDIUM if end <= medium else Difficulty.HARD for end in ends[1:]
    ]
    of_result = {result: label for (result, _), label in zip(counts, labels, strict=True)}
    return [of_result[result] for result in results]
