"""The kinds of problems whose networks are biased: tours and routes."""

from oragent.solvers.attention_bias.scoring import NetworkTask

# isort: split
# It pins numerical libraries to one thread, so it comes before them.

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from oragent.domains import cvrp, lehd_files, tsp
from oragent.domains.torch_stream import cvrp_stream, tsp_stream
from oragent.harness.drawing import draw_routes
from oragent.solvers.neural.solve import routes


def _tour_inputs(instance: tsp.TspInstance) -> tuple[NDArray[np.float64], ...]:
    return (instance.coordinates,)


def _check_tour(instance: tsp.TspInstance, path: Tensor) -> NDArray[np.int64]:
    return tsp.check(instance, path.cpu().numpy())


def _draw_tour(instance: tsp.TspInstance, tour: NDArray[np.int64]) -> str:
    return draw_routes(instance.coordinates, [tour.tolist()])


def _route_inputs(instance: cvrp.CvrpInstance) -> tuple[NDArray[np.float64], ...]:
    return instance.coordinates, instance.demands / instance.capacity


def _check_routes(instance: cvrp.CvrpInstance, path: Tensor) -> NDArray[np.int64]:
    return cvrp.check(instance, routes(path))


def _draw_split_routes(instance: cvrp.CvrpInstance, path: NDArray[np.int64]) -> str:
    return draw_routes(instance.coordinates, [[0, *route] for route in cvrp.split(path)])


def _usual_routes(instance: cvrp.CvrpInstance) -> float:
    """Estimate the length of good routes: way out and back of full vehicles, and local detours (Daganzo 1984)."""
    radial = float(instance.demands @ instance.distances[0]) / instance.capacity
    return float(2 * radial + 0.57 * len(instance) ** 0.5)


TOURS = NetworkTask(
    tsp_stream,
    lehd_files.tours,
    _tour_inputs,
    _check_tour,
    tsp.objective,
    lambda instance: float(len(instance) ** 0.5),
    _draw_tour,
)
ROUTES = NetworkTask(
    cvrp_stream,
    lehd_files.routes,
    _route_inputs,
    _check_routes,
    cvrp.objective,
    _usual_routes,
    _draw_split_routes,
)
