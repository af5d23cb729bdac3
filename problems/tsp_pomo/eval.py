"""Score attention biases for POMO: greedy tours of cities up to ten times as many as the network was trained on."""

from oragent.harness import run
from oragent.harness.neural import CHOICES, FLAGS, need_torch

need_torch()

# isort: split
# The harness pins numerical libraries to one thread, and says what is missing, so it comes before them.

from functools import partial  # noqa: E402

from oragent.solvers.attention_bias import scoring  # noqa: E402
from oragent.solvers.attention_bias.scoring import TOURS, evaluate  # noqa: E402

SIZES = {
    **scoring.SIZES,
    # Sets of other sizes and distributions.
    "twice": (2000,),
    "clustered": (500,),
    "exploded": (500,),
    "grid": (500,),
}
# Instances of a size.
COUNTS = {"train": 10, "val": 10, "test": 10}

if __name__ == "__main__":
    score = partial(evaluate, kind=TOURS, problem="tsp_pomo", counts=COUNTS)
    run(score, function="heuristics", sizes=SIZES, flags=FLAGS, choices=CHOICES, draw=TOURS.draw)
