"""Far customers open a route, near ones follow: the seed of the search."""

import numpy as np


def opening(distance: np.ndarray, demand: np.ndarray, opens: np.ndarray, closes: np.ndarray) -> np.ndarray:
    """Say how early each customer should be the first of a route.

    Args:
        distance: ``(n,)`` float array, distance from the depot, which is also the time that it takes.
        demand: ``(n,)`` float array, share of a vehicle's capacity.
        opens: ``(n,)`` float array, time at which service can begin.
        closes: ``(n,)`` float array, time by which it must have begun.

    Returns:
        ``(n,)`` array of finite numbers: the customer with the highest opens the next route.
    """
    return distance


def following(
    distance: np.ndarray, demand: np.ndarray, wait: np.ndarray, slack: np.ndarray, home: np.ndarray, room: float
) -> np.ndarray:
    """Say how good each customer is as the next one of a route.

    Args:
        distance: ``(n,)`` float array, distance from where the vehicle is.
        demand: ``(n,)`` float array, share of a vehicle's capacity.
        wait: ``(n,)`` float array, time that the vehicle would wait there.
        slack: ``(n,)`` float array, time that is left there before the window closes.
        home: ``(n,)`` float array, distance from there to the depot.
        room: share of the capacity that is free.

    Returns:
        ``(n,)`` array of finite numbers: the customer with the highest is next.
    """
    return -distance
