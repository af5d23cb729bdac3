"""Score a driver of all vehicles on long roads between two ramps: traffic must weave and flow safely in SUMO."""

from oragent.harness import run

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from functools import partial

from oragent.domains.driving.evaluation import FLAGS
from oragent.domains.driving.scenario import LONG
from oragent.domains.driving.scoring import FUNCTION, HOOK, draw_drive, score

SIZES = LONG.sizes

if __name__ == "__main__":
    evaluate = partial(score, course=LONG, problem="driving_long")
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
