"""Search for the lowest point of a function of two variables."""

# EVOLVE-BLOCK-START
import numpy as np


def search_algorithm(iterations=300, bounds=(-5, 5)):
    """Try random points and keep the best.

    Args:
        iterations: how many points are tried.
        bounds: lowest and highest value of both variables.

    Returns:
        The best x, the best y, and the value there.
    """
    best_x = np.random.uniform(bounds[0], bounds[1])
    best_y = np.random.uniform(bounds[0], bounds[1])
    best_value = evaluate_function(best_x, best_y)
    for _ in range(iterations):
        x = np.random.uniform(bounds[0], bounds[1])
        y = np.random.uniform(bounds[0], bounds[1])
        value = evaluate_function(x, y)
        if value < best_value:
            best_x, best_y, best_value = x, y, value
    return best_x, best_y, best_value


# EVOLVE-BLOCK-END


# This part stays as it is.
def evaluate_function(x, y):
    return np.sin(x) * np.cos(y) + np.sin(x * y) + (x**2 + y**2) / 20


def run_search():
    return search_algorithm()
