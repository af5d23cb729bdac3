"""What an attention bias does, in numbers: how far it reaches and how strong it is."""

import torch
from torch import Tensor

NEAREST = 20


def reach(bias: Tensor, distances: Tensor, nearest: int = NEAREST) -> float:
    """Share of a bias that lies outside the nearest nodes of each row, in [0, 1].

    A row counts by how much its entries differ from its median, as what is the same for all nodes decides nothing.

    Args:
        bias: ``(n, n)`` bias.
        distances: ``(n, n)`` distances.
        nearest: Number of nodes that are near.

    Returns:
        The share; 0 where the bias is constant in every row.
    """
    mass = (bias - bias.median(dim=1, keepdim=True).values).abs().fill_diagonal_(0)
    near = distances.clone().fill_diagonal_(torch.inf).topk(min(nearest, len(bias) - 1), dim=1, largest=False).indices
    total = mass.sum(dtype=torch.float64)
    return float(1 - mass.gather(1, near).sum(dtype=torch.float64) / total) if total > 0 else 0.0


def strength(bias: Tensor, scores: float) -> float:
    """Standard deviation of a bias within its rows, relative to that of the scores that it is added to."""
    others = ~torch.eye(len(bias), dtype=torch.bool)
    rows = bias[others].reshape(len(bias), -1)
    return float(rows.std(dim=1).mean()) / max(scores, 1e-9)
