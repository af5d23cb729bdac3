"""Paths of a batch: how long they are, and routes written as nodes."""

import torch
from torch import Tensor


def lengths(coordinates: Tensor, paths: Tensor) -> Tensor:
    """Lengths ``(batch,)`` of paths ``(batch, k)`` that close at their end."""
    points = coordinates.gather(1, paths[..., None].expand(-1, -1, 2))
    steps = points - points.roll(-1, 1)
    return steps.square().sum(-1).sqrt().sum(-1)


def as_nodes(steps: Tensor) -> Tensor:
    """Write ``(batch, k, 2)`` customers and detours as nodes ``(batch, 2 * k)``.

    Before each customer comes the depot or, where it is reached directly, its predecessor once more.
    """
    customers, home = steps.unbind(-1)
    return torch.stack((torch.where(home > 0, 0, customers.roll(1, 1)), customers), -1).flatten(1)
