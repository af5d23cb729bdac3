"""Score attention biases for LEHD: greedy tours of up to ten times as many cities as the network was trained on."""

from oragent.harness import run
from oragent.harness.neural import LEHD_CHOICES, LEHD_FLAGS, need_torch

need_torch()

# isort: split
# The harness pins numerical libraries to one thread, and says what is missing, so it comes before them.

from functools import partial  # noqa: E402

from oragent.solvers.attention_bias import scoring  # noqa: E402
from oragent.solvers.attention_bias.scoring import TOURS, evaluate  # noqa: E402

# Sets of other distributions.
OTHERS = {
    "clustered": (500,),
    "exploded": (500,),
    "grid": (500,),
}
SIZES = scoring.SIZES | OTHERS
# Instances of a size.
COUNTS = {"train": 3, "val": 10, "test": 10} | dict.fromkeys(OTHERS, 2)

if __name__ == "__main__":
    score = partial(evaluate, kind=TOURS, problem="tsp_lehd", counts=COUNTS)
    run(score, function="heuristics", sizes=SIZES, flags=LEHD_FLAGS, choices=LEHD_CHOICES, draw=TOURS.draw)
