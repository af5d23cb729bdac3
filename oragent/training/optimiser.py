"""What turns gradients into steps: Muon for the matrices inside the layers, AdamW for all that is left.

Muon moves along the orthogonal matrix nearest to the momentum (Jordan et al. 2024, kellerjordan.github.io/posts/muon),
its steps scaled as AdamW's are (Liu et al. 2025, arXiv:2502.16982). AdamW alone takes about twice as many steps to the
same tours.
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
    """Peak learning rates, and how strongly matrices shrink.

    Attributes:
        matrices: of Muon.
        others: of AdamW: embeddings, biases, norms and the last layer.
        shrink: weight decay of Muon. It bounds the matrices of a network without normalisation, which would grow.
    """

    matrices: float
    others: float
    shrink: float = 0.0


class Optimiser:
    """Both optimisers as one.

    Args:
        model: whose parameters move; matrices at least as wide as a layer both ways are Muon's.
        rates: at the schedule's peak.
    """

    def __init__(self, model: nn.Module, rates: Rates) -> None:
        matrices = [one for one in model.parameters() if one.ndim == 2 and min(one.shape) >= WIDTH]
        others = [one for one in model.parameters() if one.ndim != 2 or min(one.shape) < WIDTH]
        self._rates = rates.matrices, rates.others
        self._parts = (
            torch.optim.Muon(matrices, weight_decay=rates.shrink, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(others, weight_decay=WEIGHT_DECAY),
        )

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for part in self._parts:
            part.zero_grad()

    def step(self, share: float) -> None:
        """Move all parameters, at a share of the peak rates."""
        for part, rate in zip(self._parts, self._rates, strict=True):
            for group in part.param_groups:
                group["lr"] = share * rate
            part.step()

    def state_dict(self) -> dict[str, Any]:
        """What the next step depends on."""
        return {str(place): part.state_dict() for place, part in enumerate(self._parts)}

    def load_state_dict(self, kept: dict[str, Any]) -> None:
        """Go on from there."""
        for place, part in enumerate(self._parts):
            part.load_state_dict(kept[str(place)])
