"""The first bin in which it fits: the seed of the search."""


def priority(item: float, room: list) -> list:
    """Say into which bin an item should go.

    Args:
        item: its size, from 10 to 60.
        room: what is still free in each bin in which it fits, in the order in which they were opened; the last is an
            empty one, with 100.

    Returns:
        As many finite numbers: the item goes into the bin with the highest.
    """
    return [-float(place) for place in range(len(room))]
