"""Training tasks of each problem: a network, and the loss of one step.

LEHD imitates good solutions (Luo et al. 2023, arXiv:2310.07985). POMO learns by REINFORCE with the mean over the walks
of an instance as baseline (Kwon et al. 2020, arXiv:2010.16011): walks are drawn step by step without gradients, then
their likelihood is computed at once with gradients. It may begin by imitating tours.

Instances and parts of solutions are drawn on the device that uses them, so that no step waits for a copy to a GPU. On
other devices than processors they have the distribution of ``labels``, `cut_tours` and `cut_routes`, but come from
another generator, so a training on a GPU differs from one on processors. LEHD's partial solutions are cut at random
from good ones, with routes in a learnable order: a route is followed by the one with an end nearest to the last
customer, entered at that end. (The original draws order and direction at random, so that a network must spread its
probabilities over all remaining routes.)
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from oragent.solvers.neural.lehd import CvrpLehd, TspLehd
from oragent.solvers.neural.pomo import CvrpPomo, TspPomo, sampler
from oragent.solvers.neural.solve import lengths
from oragent_benchmarks.training.labels import (
    MAX_DEMAND,
    OTHER_CAPACITIES,
    OTHER_SHARE,
    TrainingLabels,
    capacity,
    cvrp_batch,
    cvrp_labels,
    symmetric,
    tsp_batch,
    tsp_labels,
)

LABEL_SEED = 1
# Number of instances by size.
TSP_LABELS = {50: 12_000, 100: 2_400}
CVRP_LABELS = {20: 2_000, 50: 4_000, 100: 1_200}
# Training begins with a quarter of the labels, and adds another quarter every so many steps: routes take longer to
# label.
TSP_QUARTER, CVRP_QUARTER = 1_000, 2_000
# Batches of partial solutions per step, and number of nodes in each.
PIECES, PIECE_TOKENS = 2, 3072
# Types of devices whose instances are drawn by numpy.
DRAWN_BY_NUMPY = {"cpu"}
# Number of walks per instance.
STARTS = 12
# Number of decisions in all walks of a step, per start city, which determines the batch size.
WALK_STEPS = 36_000
# First step of each stage, with its smallest and largest size.
STAGES = ((0, (20, 20)), (300, (20, 50)), (2_000, (20, 100)))


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
    demands = torch.randint(1, MAX_DEMAND + 1, (count, size + 1), generator=generator, device=where)
    demands[:, 0] = 0
    least, largest = OTHER_CAPACITIES
    others = torch.randint(least, largest + 1, (count, 1), generator=generator, device=where)
    is_other = torch.rand(count, 1, generator=generator, device=where) < OTHER_SHARE
    return points, demands / torch.where(is_other, others, capacity(size))


def starts_of(generator: torch.Generator, count: int, size: int, limit: int) -> Tensor:
    """Draw ``(count, min(size, limit))`` different first nodes per instance, from 0 on."""
    return torch.rand(count, size, generator=generator, device=generator.device).argsort(1)[:, :limit]


def turned(generator: torch.Generator, points: Tensor) -> Tensor:
    """Rotate and mirror each instance ``(count, k, 2)`` by one of the eight symmetries of the square."""
    drawn = torch.rand(len(points), 1, 3, generator=generator, device=points.device) < 0.5
    points = torch.where(drawn[..., :2], 1 - points, points)
    return torch.where(drawn[..., 2:], points.flip(-1), points)


class DeviceTours:
    """Labelled tours on a device."""

    def __init__(self, labels: TrainingLabels, device: torch.device) -> None:
        order = torch.from_numpy(labels.solutions.astype("int64"))
        points = torch.from_numpy(labels.coordinates)
        self._tours = points.gather(1, order[..., None].expand(-1, -1, 2)).to(device)

    def cut(self, generator: torch.Generator, count: int, inner: int) -> Tensor:
        """Cut ``(count, inner + 2, 2)`` segments, in either direction, as ``cut_tours`` does."""
        where, (count_known, size) = self._tours.device, self._tours.shape[:2]
        chosen = torch.randint(count_known, (count,), generator=generator, device=where)
        begin = torch.randint(size, (count, 1), generator=generator, device=where)
        way = 2 * torch.randint(2, (count, 1), generator=generator, device=where) - 1
        places = (begin + way * torch.arange(inner + 2, device=where)) % size
        return turned(generator, self._tours[chosen[:, None], places])


def cut_tours(rng: np.random.Generator, labels: TrainingLabels, count: int, inner: int) -> NDArray[np.float32]:
    """Cut segments with ``inner`` cities between their ends out of tours, in either direction.

    Returns:
        ``(count, inner + 2, 2)`` coordinates in the tour's order: the label is always the city at position 1. With
        ``inner == n - 1`` the segment is the whole tour, and its ends are the same city.
    """
    size = labels.solutions.shape[1]
    chosen = rng.integers(len(labels), size=count)
    begin, way = rng.integers(size, size=(count, 1)), rng.choice((-1, 1), size=(count, 1))
    places = (begin + way * np.arange(inner + 2)) % size
    cities = labels.solutions[chosen[:, None], places]
    return symmetric(rng, labels.coordinates[chosen[:, None], cities])


def cut_routes(
    rng: np.random.Generator, labels: TrainingLabels, count: int, inner: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    """Cut ends with ``inner`` customers out of solutions.

    Returns:
        ``(count, inner + 2, 3)`` coordinates and demands: current node, remaining customers in the solution's order,
        depot; ``(count,)`` free share of the capacity; ``(count,)`` whether the first remaining customer is reached
        via the depot.
    """
    chosen = rng.integers(len(labels), size=count)
    coordinates = symmetric(rng, labels.coordinates[chosen])
    nodes = np.concatenate((coordinates, labels.demands[chosen][..., None]), -1)
    size = labels.solutions.shape[1]
    inputs = np.empty((count, inner + 2, 3), np.float32)
    room, home = np.ones(count, np.float32), np.ones(count, np.int64)
    for row, solution in enumerate(labels.solutions[chosen]):
        order, flags = _sequence(rng, solution, coordinates[row], whole=inner == size)
        inputs[row] = nodes[row, [0 if inner == size else order[size - inner - 1], *order[size - inner :], 0]]
        if inner < size:
            begun = max(index for index in range(size - inner) if flags[index])
            room[row] -= nodes[row, order[begun : size - inner], 2].sum()
            home[row] = flags[size - inner]
    return inputs, room, home


def _sequence(
    rng: np.random.Generator, solution: NDArray[np.int16], points: NDArray[np.float32], whole: bool
) -> tuple[list[int], list[bool]]:
    """Order the routes of a solution: from the depot if ``whole``, else half of the time from a random route."""
    customers = solution[:, 0].tolist()
    bounds = [*np.flatnonzero(solution[:, 1]).tolist(), len(customers)]
    routes = [customers[begin:end] for begin, end in pairwise(bounds)]
    order: list[int] = []
    flags: list[bool] = []
    x, y = points.T.tolist()
    if not whole and rng.random() < 0.5:
        route = routes.pop(int(rng.integers(len(routes))))
        order += route if rng.random() < 0.5 else route[::-1]
        flags += [True, *[False] * (len(route) - 1)]
    while routes:
        at = order[-1] if order else 0
        away = [[(x[end] - x[at]) ** 2 + (y[end] - y[at]) ** 2 for end in (path[0], path[-1])] for path in routes]
        nearest = min(range(len(routes)), key=lambda index: min(away[index]))
        route = routes.pop(nearest)
        order += route if away[nearest][0] <= away[nearest][1] else route[::-1]
        flags += [True, *[False] * (len(route) - 1)]
    return order, flags


@dataclass(frozen=True)
class StepContext:
    """Device and precision of a step."""

    # Device of model and batches.
    device: torch.device
    # Whether to compute in single precision throughout; else matrix products are in bfloat16.
    precise: bool
    # Factor on the number of instances per step.
    batch: int = 1

    def products(self) -> AbstractContextManager[None]:
        """Return a context in which matrix products have the chosen precision."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=not self.precise)

    @property
    def draws(self) -> bool:
        """Whether instances are drawn on the device; for processors numpy draws them."""
        return self.device.type not in DRAWN_BY_NUMPY

    def generator(self, rng: np.random.Generator) -> torch.Generator:
        """Return a new generator on the device for this step."""
        return torch.Generator(self.device).manual_seed(int(rng.integers(2**62)))

    def tensor(self, values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Tensor:
        """Copy an array to the device."""
        return torch.from_numpy(values).to(self.device)


class LehdTask:
    """Prediction of the next node of partial solutions."""

    def __init__(self, problem: str, labels: Path) -> None:
        self.tsp = problem.startswith("tsp")
        self.model: nn.Module = TspLehd() if self.tsp else CvrpLehd()
        self._folder, self._quarters = labels, 0
        self._labels: list[TrainingLabels] = []
        self._shares = np.empty(0)
        self._there: dict[int, DeviceTours] = {}

    def _on(self, labels: TrainingLabels, context: StepContext) -> DeviceTours:
        """Return labels on the device, cached until more labels are loaded."""
        if id(labels) not in self._there:
            held = {id(part) for part in self._labels}
            self._there = {key: tours for key, tours in self._there.items() if key in held}
            self._there[id(labels)] = DeviceTours(labels, context.device)
        return self._there[id(labels)]

    def _look_up(self, step: int) -> None:
        """Load or create the labels for this step."""
        quarters = min(4, 1 + step // (TSP_QUARTER if self.tsp else CVRP_QUARTER))
        if quarters > self._quarters:
            make, counts = (tsp_labels, TSP_LABELS) if self.tsp else (cvrp_labels, CVRP_LABELS)
            self._labels = [
                make(self._folder, size, count * quarters // 4, LABEL_SEED) for size, count in counts.items()
            ]
            weights = np.array([len(part) * part.solutions.shape[1] for part in self._labels], float)
            self._shares, self._quarters = weights / weights.sum(), quarters

    def losses(self, rng: np.random.Generator, step: int, context: StepContext) -> Iterator[Tensor]:
        """Yield cross-entropies of the next node, whose gradients add up. Lengths are uniform, in mirrored pairs."""
        self._look_up(step)
        labels = self._labels[int(rng.choice(len(self._labels), p=self._shares))]
        longest = labels.solutions.shape[1] - self.tsp
        inner = int(rng.integers(2, longest, endpoint=True))
        for size in (inner, longest + 2 - inner):
            count = int(np.clip(PIECE_TOKENS // (size + 2), 32, 256)) * context.batch
            yield self._loss(rng, labels, count, size, context) / PIECES

    def _loss(
        self, rng: np.random.Generator, labels: TrainingLabels, count: int, inner: int, context: StepContext
    ) -> Tensor:
        if isinstance(self.model, TspLehd):
            if context.draws:
                points = self._on(labels, context).cut(context.generator(rng), count, inner)
            else:
                points = context.tensor(cut_tours(rng, labels, count, inner))
            with context.products():
                logits = self.model.next_logits(points)
            return functional.cross_entropy(logits, torch.zeros(count, dtype=torch.long, device=context.device))
        assert isinstance(self.model, CvrpLehd)
        inputs, room, home = (context.tensor(part) for part in cut_routes(rng, labels, count, inner))
        with context.products():
            logits = self.model.next_logits(inputs, room)
        return functional.cross_entropy(logits, home * inner)


class PomoTask:
    """Training of walks to be shorter than the mean walk of their instance."""

    def __init__(self, problem: str, labels: Path, imitate: int = 0) -> None:
        self.tsp = problem.startswith("tsp")
        self.model: TspPomo | CvrpPomo = TspPomo() if self.tsp else CvrpPomo()
        self._imitate = imitate
        self._labels = tsp_labels(labels, 50, TSP_LABELS[50], LABEL_SEED) if imitate and self.tsp else None

    def losses(self, rng: np.random.Generator, step: int, context: StepContext) -> Iterator[Tensor]:
        """Yield the loss of REINFORCE, or of imitation in the first steps."""
        if step < self._imitate and self._labels is not None:
            yield self._imitation(rng, self._labels, context)
            return
        low, high = next(sizes for begin, sizes in reversed(STAGES) if step >= begin)
        size = int(rng.integers(low, high, endpoint=True))
        count = int(np.clip(WALK_STEPS // (size * STARTS), 16, 128)) * context.batch
        if context.draws:
            generator = context.generator(rng)
            begun = starts_of(generator, count, size, STARTS) + (not self.tsp)
            yield self._reinforce(instances(generator, count, size, tsp=self.tsp), begun, sampler(generator), context)
            return
        starts = np.argsort(rng.random((count, size)), axis=1)[:, :STARTS] + (not self.tsp)
        pick = sampler(torch.Generator(context.device).manual_seed(int(rng.integers(2**62))))
        if self.tsp:
            problem: tuple[Tensor, ...] = (context.tensor(tsp_batch(rng, count, size)),)
        else:
            coordinates, demands, capacities = cvrp_batch(rng, count, size)
            shares = (demands / capacities[:, None]).astype(np.float32)
            problem = (context.tensor(coordinates), context.tensor(shares))
        yield self._reinforce(problem, context.tensor(starts), pick, context)

    def _reinforce(
        self, problem: tuple[Tensor, ...], starts: Tensor, pick: Callable[[Tensor], Tensor], context: StepContext
    ) -> Tensor:
        with context.products():
            encoded = self.model.encode(*problem)
        # A separate context, because its cache of weights without gradients must not be used by the next context.
        with torch.no_grad(), context.products():
            paths = self.model.walk(encoded, starts, pick)
        walked = lengths(problem[0].repeat_interleave(starts.shape[1], 0), paths.flatten(0, 1)).reshape(starts.shape)
        excess = walked - walked.mean(1, keepdim=True)
        excess = excess / excess.std().clamp_min(1e-6)
        with context.products():
            likelihood = self.model.log_likelihood(encoded, paths)
        loss: Tensor = (excess * likelihood).mean() / paths.shape[-1]
        return loss

    def _imitation(self, rng: np.random.Generator, labels: TrainingLabels, context: StepContext) -> Tensor:
        size = labels.solutions.shape[1]
        count = 64 * context.batch
        chosen = rng.integers(len(labels), size=count)
        begin, way = rng.integers(size, size=(count, STARTS, 1)), rng.choice((-1, 1), size=(count, STARTS, 1))
        tours = labels.solutions[chosen[:, None, None], (begin + way * np.arange(size)) % size].astype(np.int64)
        points = context.tensor(symmetric(rng, labels.coordinates[chosen]))
        assert isinstance(self.model, TspPomo)
        with context.products():
            encoded = self.model.encode(points)
            likelihood = self.model.log_likelihood(encoded, context.tensor(tours))
        loss: Tensor = -likelihood.mean() / size
        return loss


def sizes_so_far(problem: str, step: int) -> tuple[int, int]:
    """Return the smallest and the largest size that a training has used after a number of steps."""
    if problem.endswith("lehd"):
        labels = TSP_LABELS if problem.startswith("tsp") else CVRP_LABELS
        return min(labels), max(labels)
    return STAGES[0][1][0], max(sizes[1] for begin, sizes in STAGES if step >= begin)


def make_task(problem: str, labels: Path, imitate: int = 0) -> LehdTask | PomoTask:
    """Prepare the training of one problem; missing labels are created."""
    if problem.endswith("lehd"):
        return LehdTask(problem, labels)
    return PomoTask(problem, labels, imitate)
