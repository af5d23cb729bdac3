import numpy as np


def priority(item, open_bins, packed, to_come):
    """Say which bin gets the next item, by the room that is left in the bins.

    Args:
        item: Whole number from 1 to 100, the size of the item.
        open_bins: ``(101,)`` whole numbers: how many begun bins have room 0, 1, ..., 100.
        packed: ``(101,)`` whole numbers: how many items of size 0, 1, ..., 100 are packed.
        to_come: Whole number, how many items come after this one.

    Returns:
        ``(101,)`` array: the item goes into a bin of the room that has the largest entry, among rooms of begun bins in
        which it fits and 100, a new bin. On a tie it is the smallest room.
    """
    return item - np.arange(101.0)
