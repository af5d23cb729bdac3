"""What turns gradients into steps: AdamW, and in POMO Muon for the matrices inside the layers.

Muon moves along the orthogonal matrix nearest to the momentum (Jordan et al. 2024, kellerjordan.github.io/posts/muon),
its steps scaled as AdamW's are (Liu et al. 2025, arXiv:2502.16982). It takes POMO to the same tours in half the steps.
LEHD, which learns from few decisions a step and has no normalisation, gains nothing from it.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from oragent.solvers.neural.attention import WIDTH

__all__ = ["Optimiser", "Rates"]

WEIGHT_DECAY = 1e-6  # of AdamW


@dataclass(frozen=True)
class Rates:
    """Peak learning rates, and how they are reached.

    Attributes:
        warm_up: Number of steps over which they rise.
        others: Peak rate of AdamW.
        matrices: Peak rate of Muon, for matrices at least as wide as a layer both ways; None: AdamW moves them too.
    """

    warm_up: int
    others: float
    matrices: float | None = None


class Optimiser:
    """One or two optimisers as one.

    Args:
        model: Model whose parameters move.
        rates: Rates at the schedule's peak.
    """

    def __init__(self, model: nn.Module, rates: Rates) -> None:
        parameters = list(model.parameters())
        if rates.matrices is None:
            self._parts: dict[str, tuple[float, torch.optim.Optimizer]] = {"adamw": (rates.others, _adamw(parameters))}
            return
        matrices = [one for one in parameters if one.ndim == 2 and min(one.shape) >= WIDTH]
        others = [one for one in parameters if one.ndim != 2 or min(one.shape) < WIDTH]
        muon = torch.optim.Muon(matrices, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
        self._parts = {"muon": (rates.matrices, muon), "adamw": (rates.others, _adamw(others))}

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for _, part in self._parts.values():
            part.zero_grad()

    def step(self, share: float) -> None:
        """Move all parameters, at a share of the peak rates."""
        for rate, part in self._parts.values():
            for group in part.param_groups:
                group["lr"] = share * rate
            part.step()

    def state_dict(self) -> dict[str, Any]:
        """What the next step depends on."""
        return {name: part.state_dict() for name, (_, part) in self._parts.items()}

    def load_state_dict(self, kept: dict[str, Any]) -> None:
        """Go on from there."""
        for name, (_, part) in self._parts.items():
            part.load_state_dict(kept[name])


def _adamw(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, weight_decay=WEIGHT_DECAY)
