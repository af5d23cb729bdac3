import numpy as np


def select_next_node(
    current_node: int, destination_node: int, unvisited_nodes: set[int], distance_matrix: np.ndarray
) -> int:
    """Choose the city to visit next.

    Args:
        current_node: the city where the tour stands.
        destination_node: the city to which the tour must return at its end; it began there.
        unvisited_nodes: the cities still to visit, at least one; neither of the two above is among them.
        distance_matrix: ``(n, n)`` float array of distances between all cities in the unit square; zero diagonal.

    Returns:
        One of ``unvisited_nodes``.
    """
    nodes = np.array(sorted(unvisited_nodes))
    scores = distance_matrix[current_node, nodes]
    return int(nodes[np.argmin(scores)])
