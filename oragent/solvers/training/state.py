"""What a training keeps on disk: everything that the next step depends on, replaced as a whole or not at all."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from oragent._base.errors import StoreError
from oragent._base.files import open_replacement
from oragent.solvers.neural.weights import FOREIGN
from oragent.solvers.training.schedule import Schedule

FILE = "state.pt"
BEFORE_DECAY = "before_decay.pt"


@dataclass
class TrainingState:
    """A training between two steps.

    Attributes:
        problem: Name of the problem, such as ``tsp_pomo``.
        seed: Seed of batches and first weights.
        imitate: Number of first steps that imitate tours.
        schedule: Schedule of the learning rate.
        step: Number of steps done.
        cpu_s: Processor seconds spent.
        weights: Weights of the network.
        average: Exponential moving average of the weights: what is measured and exported.
        optimiser: State of the optimiser.
        batch: Factor on the instances of a step.
        gpu_s: Seconds that a GPU has been at it.
        gpu: Name of that GPU, the last one; empty for none.
    """

    problem: str
    seed: int
    imitate: int
    schedule: Schedule
    step: int
    cpu_s: float
    weights: dict[str, Tensor]
    average: dict[str, Tensor]
    optimiser: dict[str, Any]
    batch: int = 1
    gpu_s: float = 0.0
    gpu: str = ""

    def follow(self, model: nn.Module, longest: float) -> None:
        """Move the average towards the model's weights; ``longest`` is the share that it keeps after many steps."""
        keep = min(longest, (1 + self.step) / (10 + self.step))
        weights = model.state_dict()
        if next(iter(weights.values())).device.type == "cpu":
            for name, value in weights.items():
                self.average[name].lerp_(value, 1 - keep)
        else:  # one kernel for all
            torch._foreach_lerp_([self.average[name] for name in weights], [*weights.values()], 1 - keep)


def save(state: TrainingState, folder: Path, file: str = FILE) -> None:
    """Write the state, such that a process killed meanwhile leaves the one before it."""
    with open_replacement(folder / file) as draft:
        torch.save(vars(state) | {"schedule": vars(state.schedule)}, draft)


def load(folder: Path, file: str = FILE) -> TrainingState | None:
    """Read the state; None where there is none yet.

    Raises:
        StoreError: if the file is none of ours.
    """
    path = folder / file
    if not path.is_file():
        return None
    try:
        read = torch.load(path, map_location="cpu", weights_only=True)
        return TrainingState(**read | {"schedule": Schedule(**read["schedule"])})
    except FOREIGN as problem:
        reason = (str(problem).splitlines() or [type(problem).__name__])[0][:100]
        raise StoreError(f"{path} is no training state ({reason}): move it away to begin anew") from None
