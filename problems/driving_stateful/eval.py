"""Score a driver of all vehicles that remembers the simulation so far: SUMO simulates a road on which they weave."""

from oragent.harness import run

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from functools import partial

from oragent.domains.driving.control import RememberingDriver
from oragent.domains.driving.evaluation import FLAGS
from oragent.domains.driving.scenario import WEAVING
from oragent.domains.driving.scoring import FUNCTION, HOOK, data_folder, draw_drive, score

SIZES = WEAVING.sizes

if __name__ == "__main__":
    evaluate = partial(score, course=WEAVING, problem="driving_stateful", driver=RememberingDriver, data=data_folder())
    run(
        evaluate,
        function=FUNCTION,
        sizes=SIZES,
        flags=FLAGS,
        renew=True,
        floor=True,
        hooks=(HOOK,),
        draw=draw_drive,
    )
