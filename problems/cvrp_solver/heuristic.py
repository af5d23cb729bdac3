def strength(progress, stalled, mean_route):
    """Say how many customers the solver removes at random places before it repairs and improves a solution.

    Args:
        progress: Number from 0 to 0.95, the part of the work that is done.
        stalled: Number from 0 to 1, the part of the work since the last better solution.
        mean_route: Number, the mean number of customers on a route of the best solution.

    Returns:
        ``(low, high)``: numbers from 1 to 100, ``low <= high``, which are rounded down. Each step removes a random
        number of customers between them.
    """
    low = 1
    high = 25
    return low, high


def remoteness(distances, demands, capacity, route, position, progress):
    """Say how far apart customers are, for the neighbour lists of a routing solver.

    Args:
        distances: ``(n + 1, n + 1)`` array, symmetric; node 0 is the depot.
        demands: ``(n + 1,)`` array, 0 at the depot.
        capacity: Number, the capacity of a vehicle.
        route: ``(n + 1,)`` whole numbers, the route of each customer in the best solution so far; -1 at the depot.
        position: ``(n + 1,)`` whole numbers, the place of each customer in its route, from 0; -1 at the depot.
        progress: Number from 0 to 0.95, the part of the work that is done.

    Returns:
        ``(n + 1, n + 1)`` array. The solver tries moves of a customer with the 50 others of its row that have the
        smallest entries. Infinite entries are left out, which makes a list shorter, but never shorter than 5.
    """
    return distances + 0.0
