"""Wait between two attempts."""

import random

LONGEST_WAIT_S = 120.0  # a server that asks for more counts as down
LONGEST_BACKOFF_S = 30.0


def delay_s(failed: int, backoff_s: float, asked_s: float | None = None) -> float:
    """Return the seconds to wait before the next attempt; jittered, so that calls spread out.

    Args:
        failed: Number of attempts that failed before the last one.
        backoff_s: Wait after the first failure, seconds; it doubles with every further one.
        asked_s: Seconds that the server asks for; None if it does not say.
    """
    jitter = random.random()  # no result depends on it
    if asked_s is not None:
        return asked_s + backoff_s * jitter
    growing: float = min(LONGEST_BACKOFF_S, backoff_s * 2.0 ** min(failed, 16))
    return growing * (0.75 + 0.5 * jitter)
