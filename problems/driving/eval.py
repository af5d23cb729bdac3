"""Score a driver of all vehicles: SUMO simulates a road on which they must weave, and traffic must flow safely."""

from oragent.harness import run
from oragent.harness.arguments import PROTOCOL

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from functools import partial

from oragent.domains.driving.evaluation import FLAGS
from oragent.domains.driving.scenario import WEAVING
from oragent.domains.driving.scoring import FUNCTION, HOOK, data_folder, draw_drive, score

SIZES = WEAVING.sizes

if __name__ == "__main__":
    evaluate = partial(score, course=WEAVING, problem="driving", data=data_folder())
    run(
        evaluate,
        function=FUNCTION,
        sizes=SIZES,
        flags=FLAGS,
        choices=PROTOCOL,
        renew=True,
        floor=True,
        hooks=(HOOK,),
        draw=draw_drive,
    )
