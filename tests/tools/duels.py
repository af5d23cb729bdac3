"""Simulate duels: how often a test that may stop at any time is wrong, and how many pairs it needs.

``python -m tests.tools.duels`` prints a table for normal, skewed and discrete differences.
"""

import argparse
from collections.abc import Callable
from statistics import median

import numpy as np
from numpy.typing import NDArray

from oragent._base.sequential import bet_on_differences, pairs_for

# Differences by name: a generator of symmetric samples with mean 0 and standard deviation 1.
NOISES: dict[str, Callable[[np.random.Generator, int], NDArray[np.float64]]] = {
    "normal": lambda rng, count: rng.normal(size=count),
    "heavy": lambda rng, count: rng.standard_t(3, size=count) / np.sqrt(3),
    "signs": lambda rng, count: rng.choice([-1.0, 1.0], size=count),
    "mostly 0": lambda rng, count: rng.choice([-2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0], size=count),
}
# Skewed ones. Two programs of equal mean are no equal programs then, and a duel may say so too often.
SKEWED: dict[str, Callable[[np.random.Generator, int], NDArray[np.float64]]] = {
    "exponential": lambda rng, count: rng.exponential(size=count) - 1,
    "lognormal": lambda rng, count: (rng.lognormal(size=count) - np.exp(0.5)) / 2.16,
    "rare large": lambda rng, count: np.where(rng.random(count) < 0.1, 3.0, -1 / 3) + 0.1 * rng.normal(size=count),
}


def simulate(
    rng: np.random.Generator, effect: float, level: float, most: int, *, step: int = 4, noise: str = "normal"
) -> tuple[int, int]:
    """Play one duel and look after every ``step`` pairs.

    Returns:
        The number of pairs, and 1 or -1 for a verdict, 0 for none.
    """
    sample = effect + (NOISES | SKEWED)[noise](rng, most)
    for count in range(step, most + 1, step):
        test = bet_on_differences(sample[:count], level=level)
        if test.p < level and not test.low <= 0 <= test.high:
            return count, 1 if test.mean > 0 else -1
    return most, 0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duels", type=int, default=1000)
    parser.add_argument("--most", type=int, default=400)
    parser.add_argument("--step", type=int, default=4)
    parser.add_argument("--effects", type=float, nargs="+", default=[0.0, 0.5, 1.0])
    chosen = parser.parse_args()
    print("level  noise       effect  wrong  shown  median  80 %  fixed")
    for level in (0.05, 0.01):
        for noise in (*NOISES, *SKEWED):
            for effect in chosen.effects:
                rng = np.random.default_rng(0)
                ends = [
                    simulate(rng, effect, level, chosen.most, step=chosen.step, noise=noise)
                    for _ in range(chosen.duels)
                ]
                wrong = sum(verdict != 0 if not effect else verdict < 0 for _, verdict in ends) / chosen.duels
                shown = [count for count, verdict in ends if verdict > 0]
                share = len(shown) / chosen.duels
                enough = np.quantile([count for count, _ in ends], 0.8)
                fixed = pairs_for(effect, 1.0, level) or "-"
                middle = f"{median(shown):.0f}" if effect and shown else "-"
                print(
                    f"{level:<6} {noise:11} {effect:<6}  {wrong:.3f}  {share:.3f}  {middle:>6}  {enough:>4.0f}  {fixed}"
                )


if __name__ == "__main__":
    main()
