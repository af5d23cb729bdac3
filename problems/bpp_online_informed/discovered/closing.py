"""A bin is left nearly full or with room that likely items fill, as long as the items to come need many new bins. The fewer new bins they need, the more a room is priced by its size alone, until open bins are closed and no new one is begun."""

import numpy as np

MEAN_ITEM = 40.1713
SMALL = 8  # rooms below are not counted on
NEW_EARLY, NEW_LATE = 0.0337, 287.5  # price of a new bin
TURN, PACE = 0.19, 24.34  # numbers of needed bins
LAST_TURN, LAST_PACE = -0.944, 0.2823


def falling(needed, turn, pace):
    """Fall from 1 to 0 while the number of needed bins grows."""
    return 1.0 / (1.0 + np.exp(np.clip((needed - turn) / pace, -50.0, 50.0)))


def priority(item, open_bins, packed, to_come):
    rooms = np.arange(float(len(open_bins)))
    needed = (MEAN_ITEM * to_come - np.dot(open_bins[SMALL:-1], rooms[SMALL:-1])) / 100.0
    end = falling(needed, TURN, PACE)
    # Loss of a room while many new bins are needed, and at the end.
    early = rooms * np.exp(-((rooms / 2.6826) ** 0.65166))
    late = 0.09548 * rooms * np.exp(-((rooms / 29.445) ** 1.30743))
    loss = early * (1.0 - end) + late * end
    left = loss[np.maximum(np.arange(len(rooms)) - int(item), 0)] if len(rooms) else loss
    # A room of which many bins stand open is worth more.
    value = loss - left + np.where(rooms < 50, 0.16896, 0.13772) * np.sqrt(np.maximum(open_bins, 0))
    value[-1:] = -left[-1:] - NEW_EARLY * (1.0 - end) - NEW_LATE * falling(needed, LAST_TURN, LAST_PACE)
    return value
