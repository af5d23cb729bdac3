"""Cells of an archive by what programs look like: counts of their syntax, and centroids that follow the first ones.

As LEVI (arXiv:2605.09764) has it; centroids as in CVT-MAP-Elites (Vassiliades et al. 2018,
doi:10.1109/TEVC.2017.2735550).
"""

import ast
import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import CandidateError
from oragent.programs.inspection import parse_tree

LEAST_DEVIATION, FARTHEST = 0.1, 10.0  # of counts; of what they are normalised to, in deviations
STEPS = 20  # of Lloyd's method
WORDS = (r"\b(?:for|while)\b", r"\b(?:if|switch)\b", r"[-+*/%]")  # loops, branches, operators in other languages
LOOPS = (ast.For, ast.While, ast.AsyncFor, ast.comprehension)
BRANCHES = (ast.If, ast.IfExp, ast.Try, ast.Match)
Points = NDArray[np.float64]


@lru_cache(4096)
def count_syntax(source: str) -> tuple[float, float, float, float]:
    """Loops, branches, arithmetic operators and the deepest nesting of loops; words count where it is not Python."""
    try:
        module = parse_tree(source)
    except CandidateError:
        words = [float(len(re.findall(pattern, source))) for pattern in WORDS]
        return words[0], words[1], words[2], 0.0
    nodes = list(ast.walk(module))
    kinds = (LOOPS, BRANCHES, (ast.BinOp, ast.AugAssign))
    loops, branches, arithmetic = (float(sum(isinstance(node, kind) for node in nodes)) for kind in kinds)
    return loops, branches, arithmetic, float(_loop_nesting(module))


def _loop_nesting(node: ast.AST) -> int:
    below = max((_loop_nesting(child) for child in ast.iter_child_nodes(node)), default=0)
    return below + isinstance(node, ast.For | ast.While | ast.AsyncFor)


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells around centroids of counts, which are normalised by their mean and deviation."""

    mean: Points
    deviation: Points
    centroids: Points

    @classmethod
    def of(cls, sources: list[str], limit: int) -> "Cells":
        """Cells that follow programs, at least one, with at most so many centroids."""
        raw = np.array([count_syntax(source) for source in sources])
        spread = raw.std(axis=0, ddof=1) if len(raw) > 1 else np.ones(raw.shape[1])
        unclustered = cls(raw.mean(axis=0), np.maximum(spread, LEAST_DEVIATION), np.empty((0, raw.shape[1])))
        points = np.array([unclustered.place(source) for source in sources])
        return cls(unclustered.mean, unclustered.deviation, find_centroids(points, limit))

    def place(self, source: str) -> Points:
        """``(d,)`` normalised counts of a program: z-scores, squeezed into [0, 1] by a sigmoid."""
        scores = (np.array(count_syntax(source)) - self.mean) / self.deviation
        return 1.0 / (1.0 + np.exp(-np.clip(scores, -FARTHEST, FARTHEST)))

    def cell(self, source: str) -> int:
        """The cell of a program: the nearest centroid's, the first of equally near ones."""
        return int(np.argmin(((self.centroids - self.place(source)) ** 2).sum(axis=1)))


def find_centroids(points: Points, limit: int) -> Points:
    """``(k, d)`` centroids of ``(n, d)`` points in at most ``limit`` clusters, by Lloyd's method from far points."""
    distinct = np.unique(points, axis=0)
    chosen = [int(np.argmin(((distinct - points.mean(axis=0)) ** 2).sum(axis=1)))]
    while len(chosen) < min(limit, len(distinct)):
        gaps = ((distinct[:, None] - distinct[chosen][None]) ** 2).sum(axis=2).min(axis=1)
        chosen.append(int(np.argmax(gaps)))
    centroids = distinct[chosen]
    for _ in range(STEPS):
        nearest = ((points[:, None] - centroids[None]) ** 2).sum(axis=2).argmin(axis=1)
        moved = np.array([
            points[nearest == index].mean(axis=0) if np.any(nearest == index) else centroid
            for index, centroid in enumerate(centroids)
        ])  # fmt: skip
        if np.allclose(moved, centroids):
            break
        centroids = moved
    return centroids
