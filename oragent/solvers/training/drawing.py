"""Instances and parts of solutions drawn where they are used, so that no step waits for a copy to a GPU.

They are distributed as those of ``instances`` and ``partial``, by another generator: a training on a GPU is none on
processors.
"""

import torch
from torch import Tensor

from oragent.solvers.training.instances import LARGEST_DEMAND, OTHER_CAPACITIES, OTHER_SHARE, capacity
from oragent.solvers.training.labels import TrainingLabels


def instances(generator: torch.Generator, count: int, size: int, *, tsp: bool) -> tuple[Tensor, ...]:
    """Draw instances on the generator's device.

    Returns:
        ``(count, size, 2)`` coordinates; or ``(count, size + 1, 2)``, depot first, and ``(count, size + 1)`` demands as
        shares of capacities.
    """
    where = generator.device
    points = torch.rand(count, size + (not tsp), 2, generator=generator, device=where)
    if tsp:
        return (points,)
    demands = torch.randint(1, LARGEST_DEMAND + 1, (count, size + 1), generator=generator, device=where)
    demands[:, 0] = 0
    least, largest = OTHER_CAPACITIES
    others = torch.randint(least, largest + 1, (count, 1), generator=generator, device=where)
    is_other = torch.rand(count, 1, generator=generator, device=where) < OTHER_SHARE
    return points, demands / torch.where(is_other, others, capacity(size))


def starts_of(generator: torch.Generator, count: int, size: int, limit: int) -> Tensor:
    """Draw ``(count, min(size, most))`` different first nodes an instance, from 0 on."""
    return torch.rand(count, size, generator=generator, device=generator.device).argsort(1)[:, :limit]


def turned(generator: torch.Generator, points: Tensor) -> Tensor:
    """Turn and mirror each instance ``(count, k, 2)`` by one of the eight symmetries of the square."""
    drawn = torch.rand(len(points), 1, 3, generator=generator, device=points.device) < 0.5
    points = torch.where(drawn[..., :2], 1 - points, points)
    return torch.where(drawn[..., 2:], points.flip(-1), points)


class DeviceTours:
    """Labelled tours on a device.

    Args:
        labels: Labels of one size.
        device: Device on which they stay.
    """

    def __init__(self, labels: TrainingLabels, device: torch.device) -> None:
        order = torch.from_numpy(labels.solutions.astype("int64"))
        points = torch.from_numpy(labels.coordinates)
        self._tours = points.gather(1, order[..., None].expand(-1, -1, 2)).to(device)

    def cut(self, generator: torch.Generator, count: int, inner: int) -> Tensor:
        """Cut ``(count, left + 2, 2)`` pieces, in either direction, as ``cut_tours`` does."""
        where, (count_known, size) = self._tours.device, self._tours.shape[:2]
        chosen = torch.randint(count_known, (count,), generator=generator, device=where)
        begin = torch.randint(size, (count, 1), generator=generator, device=where)
        way = 2 * torch.randint(2, (count, 1), generator=generator, device=where) - 1
        places = (begin + way * torch.arange(inner + 2, device=where)) % size
        return turned(generator, self._tours[chosen[:, None], places])
