"""Speed of a processor core, so that a model can estimate how much work fits the time limit."""

import time

import numpy as np

# Number of measurements, of which the fastest counts.
REPEATS = 5
# Steps of the loop, elements of the array, and array operations per measurement.
STEPS, ELEMENTS, OPERATIONS = 200_000, 100_000, 10


# Measured on a core that takes 20 million steps of the loop below in a second.
COMPILATION = (
    "Numba compiles plain loops at about 80 lines in a second, after 1 to 2 s for its import and first function; a "
    "sort in compiled code costs 2 s more, an argsort 3 s. A busy machine takes up to twice as long."
)


def describe_core_speed() -> str:
    """Measure a plain loop and array arithmetic, and describe both in one sentence."""
    values = np.linspace(0.0, 1.0, ELEMENTS)
    loop_s = array_s = float("inf")
    for _ in range(REPEATS):
        begun = time.process_time()
        total = 0
        for step in range(STEPS):
            total += step
        middle = time.process_time()
        for _ in range(OPERATIONS):
            values * values + values
        loop_s = min(loop_s, middle - begun)
        array_s = min(array_s, (time.process_time() - middle) / OPERATIONS)
    loop, array = (1e-6 * count / max(seconds, 1e-9) for count, seconds in ((STEPS, loop_s), (ELEMENTS, array_s)))
    steps, numbers = float(f"{loop:.1g}"), float(f"{array:.1g}")
    return (
        f"In a second a core takes about {steps:g} million steps of a Python loop that adds integers, or computes "
        f"a * a + a for about {numbers:g} million numbers of a numpy array. {COMPILATION}"
    )
