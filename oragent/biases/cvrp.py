"""Score biases on the attention of a neural solver: greedy routes, far larger than those that it was trained on."""

from oragent.harness import Arguments, Guest, Result, figures, gaps, seconds
from oragent.harness.neural import bias, device

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from collections.abc import Mapping
from time import perf_counter

import numpy as np
import torch

from oragent.domains import cvrp
from oragent.domains.cells import cell
from oragent.domains.torch_stream import cvrp_stream
from oragent.solvers.neural.reshaping import reach, strength
from oragent.solvers.neural.solve import routes, solve, spread
from oragent.solvers.neural.weights import load

__all__ = ["SIZES", "evaluate"]

SIZES = {"train": (200,), "val": (200, 500, 1000), "test": (200, 500, 1000)}
REACH_EDGES = (0.001, 0.2, 0.4, 0.6, 0.75, 0.9)  # share of the bias beyond the 20 nearest nodes
STRENGTH_EDGES = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)  # standard deviation of the bias over that of the scores
GROWTH_EDGES = (0.97, 1.0, 1.03, 1.1, 1.25)  # length over Daganzo's estimate, largest size over smallest


def evaluate(arguments: Arguments, heuristics: Guest, *, problem: str, counts: Mapping[str, int]) -> Result:
    """Let the network build routes for every instance of the sizes that were asked for.

    Args:
        arguments: of the evaluation.
        heuristics: the candidate: the bias of an instance.
        problem: its name, which says what network there is.
        counts: how many instances of a size each mode has.
    """
    where = device(arguments)
    weights = load(problem, arguments.root_dir, where)
    lengths: dict[int, list[float]] = {}
    traits: list[tuple[float, float]] = []
    normal: list[float] = []
    begun = perf_counter()
    for size in arguments.sizes:
        instances = cvrp_stream(arguments.mode, size)[: counts[arguments.mode]]
        points = torch.tensor(np.array([one.coordinates for one in instances]), dtype=torch.float32, device=where)
        shares = np.array([one.demands / one.capacity for one in instances])
        loads = torch.tensor(shares, dtype=torch.float32, device=where)
        scores = spread(weights.model, points, loads)
        biases = []
        for index, instance in enumerate(instances):
            heuristics.where = f"size {size}, instance {index}"
            distances = torch.tensor(instance.distances, dtype=torch.float32)
            demands = torch.tensor(shares[index], dtype=torch.float32)
            biases.append(bias(heuristics(distances, demands), len(instance)))
            traits.append((reach(biases[-1], distances), strength(biases[-1], scores)))
        paths = solve(
            weights.model,
            points,
            loads,
            bias=torch.stack(biases).to(where),
            starts=8 if "multi_start" in arguments.flags else 1,
            augment="augment" in arguments.flags,
            bfloat16="bfloat16" in arguments.flags,
        )
        lengths[size] = [
            cvrp.objective(instance, cvrp.check(instance, routes(path)))
            for instance, path in zip(instances, paths, strict=True)
        ]
        normal.append(float(np.mean(lengths[size]) / np.mean([usual_length(one) for one in instances])))
    metrics, score = figures("length", lengths)
    reached, strong = np.mean(traits, axis=0).tolist()
    metrics |= {"reach": round(reached, 4), "strength": round(strong, 4), "growth": round(normal[-1] / normal[0], 4)}
    metrics |= {"weights": weights.source, "device": str(where)}
    metrics |= gaps(arguments, problem, lengths) | seconds(begun, heuristics.seconds)
    axes = (reached, REACH_EDGES), (strong, STRENGTH_EDGES), (normal[-1] / normal[0], GROWTH_EDGES)
    return Result(metrics, cell(*axes), score)


def usual_length(instance: cvrp.Instance) -> float:
    """Estimate the length of good routes: way out and back of full vehicles, and local detours (Daganzo 1984)."""
    radial = float(instance.demands @ instance.distances[0]) / instance.capacity
    return float(2 * radial + 0.57 * len(instance) ** 0.5)
