"""Evolution strategy with covariance matrix adaptation, CMA-ES, for a few dozen evaluations within bounds.

Equation numbers are those of Hansen 2016, "The CMA Evolution Strategy: A Tutorial", arXiv:1604.00772.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

# A point outside the bounds is drawn again at most this many times; then it is clipped.
REDRAWS = 100
# Smallest number in divisions and roots, instead of zero.
EPSILON = 1e-8


class CmaEs:
    """Minimiser that proposes points of the unit cube and learns from their losses, one generation at a time.

    Args:
        start: First mean, ``(d,)`` in the unit cube.
        sigma: First step size, as a share of the cube's side.
        size: Number of points in a generation, at least 2.
        seed: Seed of the draws.
    """

    def __init__(self, start: Vector, sigma: float, size: int, seed: int) -> None:
        dimensions = len(start)
        self.size = size
        self._mean = start.copy()
        self._sigma = sigma
        self._rng = np.random.RandomState(seed)
        self._generation = 0
        self._covariance = np.eye(dimensions)
        self._path = np.zeros(dimensions)
        self._step_path = np.zeros(dimensions)
        self._expected_norm = math.sqrt(dimensions) * (1 - 1 / (4 * dimensions) + 1 / (21 * dimensions**2))
        self._set_rates(dimensions)
        self._decompose()

    def _set_rates(self, dimensions: int) -> None:
        """Set weights and learning rates to the defaults of table 1."""
        size = self.size
        self._parents = size // 2
        raw = np.log((size + 1) / 2) - np.log(np.arange(1, size + 1))
        best, rest = raw[: self._parents], raw[self._parents :]
        self._effective = effective = float(np.sum(best) ** 2 / np.sum(best**2))
        effective_rest = float(np.sum(rest) ** 2 / np.sum(rest**2))
        self._rank_one = 2 / ((dimensions + 1.3) ** 2 + effective)
        self._rank_mu = min(
            1 - self._rank_one - EPSILON,
            2 * (effective - 2 + 1 / effective) / ((dimensions + 2) ** 2 + effective),
        )
        # Equations 50 to 53: negative weights keep the covariance positive definite.
        negative = min(
            1 + self._rank_one / max(self._rank_mu, EPSILON),
            1 + 2 * effective_rest / (effective + 2),
            (1 - self._rank_one - self._rank_mu) / (dimensions * max(self._rank_mu, EPSILON)),
        )
        positive_sum, negative_sum = np.sum(raw[raw > 0]), np.sum(-raw[raw < 0])
        self._weights: Vector = np.where(raw >= 0, raw / positive_sum, negative * raw / negative_sum)
        self._step_rate = (effective + 2) / (dimensions + effective + 5)
        excess = max(0.0, math.sqrt((effective - 1) / (dimensions + 1)) - 1)
        self._damping = 1 + 2 * excess + self._step_rate
        self._path_rate = (4 + effective / dimensions) / (dimensions + 4 + 2 * effective / dimensions)

    def _decompose(self) -> None:
        """Compute the principal axes of the covariance and their lengths.

        Rounding errors must not make it indefinite.
        """
        values, self._axes = np.linalg.eigh((self._covariance + self._covariance.T) / 2)
        self._lengths = np.sqrt(np.where(values < 0, EPSILON, values))
        self._covariance = (self._axes * self._lengths**2) @ self._axes.T

    def ask(self) -> Vector:
        """Draw a point, ``(d,)`` in the unit cube."""
        for _ in range(REDRAWS):
            point = self._draw()
            if np.all((point >= 0) & (point <= 1)):
                return point
        return np.clip(self._draw(), 0.0, 1.0)

    def _draw(self) -> Vector:
        normal = self._rng.randn(len(self._mean))
        # The symmetric root does not depend on the order and the signs of the axes, which differ between LAPACK
        # libraries.
        root = (self._axes * self._lengths) @ self._axes.T
        point: Vector = self._mean + self._sigma * root @ normal
        return point

    def tell(self, points: Sequence[Vector], losses: Sequence[float]) -> None:
        """Learn from a generation: all of its points and their losses, infinity for a failed point."""
        self._generation += 1
        order = sorted(range(self.size), key=lambda index: losses[index])
        steps = (np.array([points[index] for index in order]) - self._mean) / self._sigma
        # Equations 41 and 42: the mean moves to the weighted best points.
        move = self._weights[: self._parents] @ steps[: self._parents]
        self._mean = self._mean + self._sigma * move
        # Equations 43 and 44: the step size grows while moves point the same way.
        inverse_root = (self._axes / np.maximum(self._lengths, EPSILON)) @ self._axes.T
        rate = self._step_rate
        momentum = math.sqrt(rate * (2 - rate) * self._effective)
        self._step_path = (1 - rate) * self._step_path + momentum * inverse_root @ move
        norm = float(np.linalg.norm(self._step_path))
        self._sigma *= math.exp(rate / self._damping * (norm / self._expected_norm - 1))
        self._adapt_covariance(steps, move, inverse_root, norm)
        self._decompose()

    def _adapt_covariance(self, steps: Vector, move: Vector, inverse_root: Vector, norm: float) -> None:
        """Apply the rank-one and rank-mu updates, equations 45 to 47."""
        dimensions, rate = len(move), self._path_rate
        longest = (1.4 + 2 / (dimensions + 1)) * self._expected_norm
        is_moderate = norm / math.sqrt(1 - (1 - self._step_rate) ** (2 * (self._generation + 1))) < longest
        self._path = (1 - rate) * self._path
        stalled = rate * (2 - rate)
        if is_moderate:
            self._path = self._path + math.sqrt(rate * (2 - rate) * self._effective) * move
            stalled = 0.0
        squares = np.sum((inverse_root @ steps.T) ** 2, axis=0) + EPSILON
        weights = np.where(self._weights >= 0, self._weights, self._weights * dimensions / squares)
        retained = 1 + self._rank_one * stalled - self._rank_one - self._rank_mu * float(np.sum(self._weights))
        self._covariance = (
            retained * self._covariance
            + self._rank_one * np.outer(self._path, self._path)
            + self._rank_mu * (steps.T * weights) @ steps
        )
