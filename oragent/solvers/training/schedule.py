"""The learning rate over the steps: warm-up, then constant for as long as one likes, then a decay on request.

Training can so be extended by any number of sittings before its end is decided (warmup-stable-decay; Hu et al. 2024,
arXiv:2404.06395).
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """When the learning rate falls.

    Attributes:
        warm_up: Number of steps over which it rises.
        decay_from: Step at which the decay begins, or None.
        decay_steps: Number of steps of the decay, along a half cosine to zero.
    """

    warm_up: int
    decay_from: int | None = None
    decay_steps: int = 1

    def share(self, step: int) -> float:
        """Learning rate of a step, as a share of its peak."""
        warm = min(1.0, (step + 1) / self.warm_up)
        if self.decay_from is None or step < self.decay_from:
            return warm
        passed = min(1.0, (step - self.decay_from) / self.decay_steps)
        return warm * (1 + math.cos(math.pi * passed)) / 2

    def ended(self, step: int) -> bool:
        """Tell whether the rate has come down to zero."""
        return self.decay_from is not None and step >= self.decay_from + self.decay_steps
