import torch


def heuristics(distance_matrix: torch.Tensor, demands: torch.Tensor) -> torch.Tensor:
    """Say how promising it is to travel along each edge: the bias of a network's attention.

    Args:
        distance_matrix: ``(n, n)`` float32 tensor of Euclidean distances in the unit square, depot first; zeros on the
            diagonal.
        demands: ``(n,)`` float32 tensor, shares of a vehicle's capacity, 0 at the depot.

    Returns:
        ``(n, n)`` tensor of finite numbers, which is added to the scores of the next node, row by row: the larger,
        the sooner the network goes from the row's node to the column's.
    """
    return torch.zeros_like(distance_matrix)
