"""The shortest operation first: the seed of the search."""

import numpy as np


def priority(duration: np.ndarray, left: np.ndarray, following: np.ndarray, waited: np.ndarray) -> np.ndarray:
    """Say how urgent each operation is that waits for a machine.

    Args:
        duration: ``(n,)`` float array, time that each operation takes.
        left: ``(n,)`` float array, time that the rest of its job takes after it.
        following: ``(n,)`` float array, number of operations of its job after it.
        waited: ``(n,)`` float array, time since it could have been started.

    Returns:
        ``(n,)`` array of finite numbers: the operation with the highest is started.
    """
    return -duration
