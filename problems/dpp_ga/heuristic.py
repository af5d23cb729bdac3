import numpy as np


def crossover(parents: np.ndarray, n_pop: int) -> np.ndarray:
    """Breed placements of capacitors on the ports of a 10 x 10 grid.

    Args:
        parents: ``(n_parents, n_decap)`` int array; each row is a placement of n_decap different ports, port =
            10 * row + column, 0 to 99. Rows are in rising order of reward: the last parent is the best.
        n_pop: number of children to make.

    Returns:
        ``(n_pop, n_decap)`` array of whole numbers 0 to 99. Ports that may take no capacitor, or stand in a child
        twice, are replaced by random ones.
    """
    n_parents, n_decap = parents.shape
    rng = np.random.default_rng(seed=parents.ravel())
    pairs = np.stack([rng.choice(n_parents, 2, replace=False) for _ in range(n_pop)])
    # A child has the left half of one parent, then the right half of another; what is missing is drawn.
    halves = np.zeros((n_pop, 100))
    children = np.arange(n_pop)[:, np.newaxis]
    halves[children, parents[pairs[:, 0], : n_decap // 2]] = 1.0
    halves[children, parents[pairs[:, 1], n_decap // 2 :]] = 2.0
    scores = halves + 0.1 * rng.random((n_pop, 100))
    return np.argsort(scores, axis=1)[:, -n_decap:]
