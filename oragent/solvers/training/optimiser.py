"""What turns gradients into steps: AdamW, and in POMO Muon for the matrices inside the layers.

Muon moves along the orthogonal matrix nearest to the momentum (Jordan et al. 2024, kellerjordan.github.io/posts/muon),
its steps scaled as AdamW's are (Liu et al. 2025, arXiv:2502.16982). It takes POMO to the same tours in half the steps.
LEHD, which learns from few decisions a step and has no normalisation, gains nothing from it.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from oragent.solvers.neural.attention import WIDTH

WEIGHT_DECAY = 1e-6  # of AdamW
FUSED = {"cuda", "mps", "cpu"}  # kinds of devices that have a fused AdamW
MOMENTUM = 0.95  # of Muon, as PyTorch has it
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)  # Jordan et al. 2024


@dataclass(frozen=True)
class Rates:
    """Peak learning rates, and how they are reached."""

    warm_up: int  # number of steps over which they rise
    others: float  # peak rate of AdamW
    # peak rate of Muon, for matrices at least as wide as a layer both ways; None: AdamW moves them too
    matrices: float | None = None


class Optimiser:
    """One or two optimisers as one.

    Args:
        model: Model whose parameters move.
        rates: Rates at the schedule's peak.
        together: Whether to move all parameters in few kernels, as a GPU wants it: AdamW fused, Muon's matrices in one
            batch for each shape. None: where the parameters are on a GPU.
    """

    def __init__(self, model: nn.Module, rates: Rates, *, together: bool | None = None) -> None:
        parameters = list(model.parameters())
        on = parameters[0].device.type
        together = on != "cpu" if together is None else together
        fused = together and on in FUSED
        if rates.matrices is None:
            alone = _adamw(parameters, fused)
            self._parts: dict[str, tuple[float, torch.optim.Optimizer]] = {"adamw": (rates.others, alone)}
            return
        matrices = [parameter for parameter in parameters if parameter.ndim == 2 and min(parameter.shape) >= WIDTH]
        others = [parameter for parameter in parameters if parameter.ndim != 2 or min(parameter.shape) < WIDTH]
        muon: torch.optim.Optimizer = (
            Muon(matrices) if together else torch.optim.Muon(matrices, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
        )
        self._parts = {"muon": (rates.matrices, muon), "adamw": (rates.others, _adamw(others, fused))}

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

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from there."""
        for name, (_, part) in self._parts.items():
            part.load_state_dict(state_dict[name])


class Muon(torch.optim.Optimizer):
    """``torch.optim.Muon`` as we use it, with matrices of one shape orthogonalised in one batch.

    POMO has 50 of them in five shapes: 15 products a matrix become 15 a shape. Its state is that of PyTorch's own, so a
    training can change between the two.
    """

    def __init__(self, matrices: list[nn.Parameter]) -> None:
        super().__init__(matrices, {"lr": 1e-3})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Move all matrices that have a gradient."""
        alike: dict[tuple[int, ...], list[nn.Parameter]] = {}
        rate = self.param_groups[0]["lr"]
        for parameter in self.param_groups[0]["params"]:
            if parameter.grad is not None:
                alike.setdefault(tuple(parameter.shape), []).append(parameter)
        for (rows, columns), ones in alike.items():
            for parameter in ones:
                self.state[parameter].setdefault("momentum_buffer", torch.zeros_like(parameter))
            momenta = [self.state[parameter]["momentum_buffer"] for parameter in ones]
            gradients = [parameter.grad for parameter in ones if parameter.grad is not None]
            torch._foreach_lerp_(momenta, gradients, 1 - MOMENTUM)
            ahead = torch.stack(torch._foreach_lerp(gradients, momenta, MOMENTUM))
            moved = _orthogonal(ahead).to(ones[0].dtype).mul(-rate * 0.2 * max(rows, columns) ** 0.5)
            torch._foreach_add_([*ones], moved.unbind())


def _orthogonal(matrices: Tensor) -> Tensor:
    """The orthogonal matrices nearest to ``(k, rows, columns)``, roughly: five steps of Newton-Schulz in bfloat16."""
    a, b, c = NEWTON_SCHULZ
    x = matrices.bfloat16()
    tall = x.shape[1] > x.shape[2]
    x = x.transpose(1, 2) if tall else x
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.transpose(1, 2)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.transpose(1, 2) if tall else x


def _adamw(parameters: list[nn.Parameter], fused: bool) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, weight_decay=WEIGHT_DECAY, fused=fused or None)
