"""Fresh instances: of the law of a stream, from a seed that nobody knew when the candidate was written.

Their generators are seeded with the bytes of a name and the seed, so that two problems or sizes share nothing.
"""

import numpy as np


def sequence(seed: int, name: str, size: int = 0) -> np.random.SeedSequence:
    """Entropy of one part of a fresh set.

    Args:
        seed: Seed of the set, 0 or more, of any length.
        name: Name of what is drawn.
        size: Problem size, where there are several.
    """
    return np.random.SeedSequence([*f"fresh {name} {size}".encode(), seed])


def generator(seed: int, name: str, size: int = 0) -> np.random.Generator:
    """A generator of one part of a fresh set."""
    return np.random.default_rng(sequence(seed, name, size))


def legacy(seed: int, name: str, size: int = 0) -> np.random.RandomState:
    """The same for streams that are drawn by numpy's legacy generator, whose draws they are made of."""
    return np.random.RandomState(np.random.MT19937(sequence(seed, name, size)))


def numbers(seed: int, name: str, size: int, count: int) -> list[int]:
    """Seeds of 32 bits for what takes nothing longer, such as demands."""
    return [int(word) for word in sequence(seed, name, size).generate_state(count)]
