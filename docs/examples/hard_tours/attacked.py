"""The program under attack: nearest neighbour. Put one that you trust here: it runs in the evaluator's process."""

import numpy as np


def select_next_node(
    current_node: int, destination_node: int, unvisited_nodes: set[int], distance_matrix: np.ndarray
) -> int:
    """Go to the nearest unvisited city."""
    nodes = np.array(sorted(unvisited_nodes))
    return int(nodes[np.argmin(distance_matrix[current_node, nodes])])
