"""State of a training on disk, replaced atomically, and the learning rate over the steps.

The rate warms up, stays constant for any number of steps, then decays on request. So a training can be extended by any
number of sessions before its end is decided (warmup-stable-decay; Hu et al. 2024, arXiv:2404.06395).
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from oragent._base.errors import StoreError
from oragent._base.files import open_replacement
from oragent.solvers.neural.weights import FOREIGN


@dataclass(frozen=True)
class Schedule:
    """Schedule of the learning rate."""

    # Number of steps over which it rises.
    warm_up: int
    # Step at which the decay begins, or None.
    decay_from: int | None = None
    # Number of steps of the decay, along a half cosine to zero.
    decay_steps: int = 1

    def share(self, step: int) -> float:
        """Return the learning rate of a step, as a share of its peak."""
        warm = min(1.0, (step + 1) / self.warm_up)
        if self.decay_from is None or step < self.decay_from:
            return warm
        passed = min(1.0, (step - self.decay_from) / self.decay_steps)
        return warm * (1 + math.cos(math.pi * passed)) / 2

    def ended(self, step: int) -> bool:
        """Return True if the rate has decayed to zero."""
        return self.decay_from is not None and step >= self.decay_from + self.decay_steps


FILE = "state.pt"
BEFORE_DECAY = "before_decay.pt"


@dataclass
class TrainingState:
    """State of a training between two steps."""

    # Name of the problem, such as ``tsp_pomo``.
    problem: str
    # Seed of batches and first weights.
    seed: int
    # Number of first steps that imitate tours.
    imitate: int
    # Schedule of the learning rate.
    schedule: Schedule
    # Exponential moving average of the weights, which is measured and exported.
    average: dict[str, Tensor]
    weights: dict[str, Tensor] = field(default_factory=dict)
    optimiser: dict[str, Any] = field(default_factory=dict)
    # Number of completed steps.
    step: int = 0
    # Processor seconds used.
    cpu_s: float = 0.0
    # Factor on the number of instances per step.
    batch: int = 1
    # GPU seconds used.
    gpu_s: float = 0.0
    # Name of the last GPU; empty without one.
    gpu: str = ""

    def follow(self, model: nn.Module, longest: float) -> None:
        """Update the average by the model's weights; ``longest`` is the share that it keeps after many steps."""
        keep = min(longest, (1 + self.step) / (10 + self.step))
        weights = model.state_dict()
        if next(iter(weights.values())).device.type == "cpu":
            for name, value in weights.items():
                self.average[name].lerp_(value, 1 - keep)
        else:
            # One kernel updates all weights.
            torch._foreach_lerp_([self.average[name] for name in weights], [*weights.values()], 1 - keep)


def save(state: TrainingState, folder: Path, file: str = FILE) -> None:
    """Write the state atomically: a process killed meanwhile leaves the previous state."""
    with open_replacement(folder / file) as draft:
        torch.save(vars(state) | {"schedule": vars(state.schedule)}, draft)


def load(folder: Path, file: str = FILE) -> TrainingState | None:
    """Read the state; None if the file does not exist.

    Raises:
        StoreError: if the file is not a training state.
    """
    path = folder / file
    if not path.is_file():
        return None
    try:
        read = torch.load(path, map_location="cpu", weights_only=True)
        return TrainingState(**read | {"schedule": Schedule(**read["schedule"])})
    except FOREIGN as problem:
        reason = (str(problem).splitlines() or [type(problem).__name__])[0][:100]
        raise StoreError(f"{path} is not the state of a training ({reason}): move it away to start a new one") from None
