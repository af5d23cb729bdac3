"""Score two rules that build routes with time windows; they evolve together, in one candidate.

    python eval.py --mode=val

``guest`` is the first function, ``guest.of("following")`` the second. A call goes to a process of the candidate's own
and brings back an array, which is checked; the routes are built here.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from oragent.harness import Arguments, Guest, Result, figures, matrix, run

SIZES = {"train": (20,), "val": (40,), "test": (60,)}
INSTANCES = 5
STREAMS = {"train": 1, "val": 2, "test": 3}
HORIZON, SERVICE = 6.0, 0.1


@dataclass(frozen=True)
class Instance:
    """Customers around a depot; place 0 is the depot.

    Attributes:
        distance: ``(n + 1, n + 1)`` float array, distances and travel times.
        demand: ``(n + 1,)`` float array, shares of a vehicle's capacity.
        opens: ``(n + 1,)`` float array, times at which service can begin.
        closes: ``(n + 1,)`` float array, times by which it must have begun.
    """

    distance: np.ndarray
    demand: np.ndarray
    opens: np.ndarray
    closes: np.ndarray


def instance(mode: str, size: int, index: int) -> Instance:
    """Draw customers in the unit square, each with a window in which a vehicle of its own could serve it."""
    rng = np.random.default_rng((STREAMS[mode], size, index))
    place = np.vstack(([0.5, 0.5], rng.random((size, 2))))
    distance = np.linalg.norm(place[:, None] - place[None], axis=2)
    demand = np.concatenate(([0.0], rng.uniform(0.05, 0.25, size)))
    latest = HORIZON - SERVICE - distance[0]
    middle = rng.uniform(distance[0], latest)
    width = rng.uniform(0.5, 2.0, size + 1)
    opens, closes = np.maximum(0.0, middle - width / 2), np.minimum(latest, middle + width / 2)
    opens[0], closes[0] = 0.0, HORIZON
    return Instance(distance, demand, opens, closes)


def routes(one: Instance, guest: Guest) -> list[list[int]]:
    """Build routes by the two rules until everybody is served."""
    left, made = list(range(1, len(one.demand))), []
    while left:
        told = np.array(left)
        first = matrix(guest(one.distance[0, told], one.demand[told], one.opens[told], one.closes[told]), told.shape)
        route = [int(told[int(np.argmax(first))])]
        left.remove(route[0])
        time = max(one.distance[0, route[0]], one.opens[route[0]]) + SERVICE
        while left:
            here, rest, room = route[-1], np.array(left), 1.0 - one.demand[route].sum()
            arrives = time + one.distance[here, rest]
            rest = rest[(arrives <= one.closes[rest]) & (one.demand[rest] <= room)]
            if not len(rest):
                break
            arrives = time + one.distance[here, rest]
            wait, slack = np.maximum(0.0, one.opens[rest] - arrives), one.closes[rest] - arrives
            seen = one.distance[here, rest], one.demand[rest], wait, slack, one.distance[rest, 0], float(room)
            place = int(np.argmax(matrix(guest.of("following")(*seen), rest.shape)))
            time = arrives[place] + wait[place] + SERVICE
            route.append(int(rest[place]))
            left.remove(route[-1])
        made.append(route)
    return made


def driven(one: Instance, plan: list[list[int]]) -> tuple[float, float, float]:
    """Drive all routes from scratch, and see that nobody is forgotten, late or overloaded.

    Returns:
        Their distance, the share of the time that is waited, and the mean load.
    """
    if sorted(customer for route in plan for customer in route) != list(range(1, len(one.demand))):
        raise ValueError("not every customer is served once")
    length = waited = spent = 0.0
    for route in plan:
        time, here = 0.0, 0
        for there in [*route, 0]:
            length += one.distance[here, there]
            arrives = time + one.distance[here, there]
            if arrives > one.closes[there] + 1e-9:
                raise ValueError("a vehicle is late")
            waited += max(0.0, one.opens[there] - arrives)
            time, here = max(arrives, one.opens[there]) + SERVICE, there
        spent += time
        if one.demand[route].sum() > 1.0 + 1e-9:
            raise ValueError("a vehicle is overloaded")
    return float(length), waited / spent, float(np.mean([one.demand[route].sum() for route in plan]))


def evaluate(arguments: Arguments, guest: Guest) -> Result:
    """Score the rules on every instance of the sizes that were asked for."""
    lengths, told = defaultdict(list), []
    for size in arguments.sizes:
        for index in range(INSTANCES):
            guest.where = f"size {size}, instance {index}"
            one = instance(arguments.mode, size, index)
            length, waited, load = driven(one, routes(one, guest))
            lengths[size].append(length)
            told.append((waited, load))
    metrics, score = figures("length", lengths)
    waited, load = np.mean(told, axis=0)
    return Result(metrics, (float(waited), float(load)), score)


if __name__ == "__main__":
    run(evaluate, function="opening", functions=("following",), sizes=SIZES)
