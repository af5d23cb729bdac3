"""Score the branching of SCIP: it solves instances to optimality, and simplex iterations and nodes count."""

from oragent.harness import Arguments, Guest, Result, each, figures, fresh, matrix, run, seconds

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from time import perf_counter

import numpy as np
from instances import COVERS, KNAPSACKS, SETS, STABLE_SETS, Instance
from instances import draw as draw_instance
from numpy.typing import NDArray
from tree import Node, Outcome, search

from oragent.domains.streams import cell
from oragent.harness.drawing import MARGIN, SIDE, wrap_shapes

SIZES = {
    **dict.fromkeys(("train", "val", "test", "fresh"), (KNAPSACKS, STABLE_SETS, COVERS)),
    # Sets of other sizes and kinds.
    **{mode: tuple(kinds) for mode, kinds in SETS.items()},
}
COUNTS = {"train": 2, "val": 6, "test": 12, "fresh": 12} | dict.fromkeys(SETS, 4) | {"facilities": 10}
# Mean work of SCIP's own rule on 20 other instances of each kind, so that the three count alike.
USUAL_WORK = {KNAPSACKS: 10_000, STABLE_SETS: 20_000, COVERS: 3_000}
# The same of sets, on 20 other instances of the larger kinds and 8 of the others.
SET_WORK = {
    "larger": {40: 20_000, 120: 100_000, 300: 12_000},
    "sparse": {150: 50_000, 250: 12_000},
    "equal_costs": {90: 23_000, 100: 27_000},
    "auctions": {200: 40_000},
    "facilities": {260: 18_000},
    "assignments": {60: 5_000},
}
# Answer of a candidate that leaves the choice to SCIP.
OWN = "scip"
# Share of probes in the work.
PROBE_EDGES = (0.001, 0.05, 0.15, 0.3, 0.5)
# Mean distance from 1/2 of the values that are branched on.
DISTANCE_EDGES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
# Share of nodes that SCIP's own rule decides.
OWN_EDGES = (0.001, 0.1, 0.9)


def evaluate(arguments: Arguments, score: Guest) -> Result:
    """Solve every instance of the kinds that were asked for."""
    begun = perf_counter()
    values: dict[int, list[float]] = {size: [] for size in arguments.sizes}
    outcomes: list[Outcome] = []
    usual = SET_WORK.get(arguments.mode, USUAL_WORK)
    adviser = Adviser(score)
    for size, index, instance in each(score, {size: _draw(arguments, size) for size in values}, values):
        seed = int(np.random.SeedSequence([*_key(arguments, size), index]).generate_state(1)[0] % 2**31)
        outcomes.append(search(instance, seed, adviser.probe, adviser.score))
        values[size].append(outcomes[-1].work / usual[size])
        score.show(instance, outcomes[-1], values[size][-1])
    metrics, mean = figures("work", values)
    metrics |= fresh(arguments)
    metrics["nodes"] = round(float(np.exp(np.mean([np.log(outcome.nodes) for outcome in outcomes]))), 1)
    metrics["unsolved"] = sum(not outcome.solved for outcome in outcomes)
    spent = sum(outcome.iterations + outcome.probe_iterations for outcome in outcomes)
    probes = sum(outcome.probe_iterations for outcome in outcomes) / max(spent, 1)
    own = adviser.own_nodes / max(adviser.nodes, 1)
    distance = adviser.distance / max(adviser.nodes - adviser.own_nodes, 1)
    metrics |= {"probe_share": round(probes, 3), "distance": round(distance, 3), "own_share": round(own, 3)}
    metrics |= seconds(begun, score.seconds)
    return Result(metrics, cell((probes, PROBE_EDGES), (distance, DISTANCE_EDGES), (own, OWN_EDGES)), mean)


def _key(arguments: Arguments, size: int) -> list[int]:
    return [*f"milp_branching {arguments.mode}".encode(), size, arguments.fresh_seed or 0]


def _draw(arguments: Arguments, size: int) -> list[Instance]:
    rngs = np.random.default_rng(_key(arguments, size)).spawn(COUNTS[arguments.mode])
    return [draw_instance(rng, size, arguments.mode) for rng in rngs]


class Adviser:
    """Asks the candidate at each node, and checks its answers."""

    def __init__(self, score: Guest) -> None:
        self._score, self._probe = score, score.of("probe")
        self.nodes, self.own_nodes, self.distance = 0, 0, 0.0

    def probe(self, node: Node) -> NDArray[np.float64]:
        """Ask which variables to probe; raises `CandidateError` if the answer is invalid."""
        return matrix(self._probe(*_arguments(node)), node.fraction.shape, allow_inf=True)

    def score(self, node: Node) -> NDArray[np.float64] | None:
        """Ask for the scores of variables; raises `CandidateError` if the answer is invalid."""
        answer = self._score(*_arguments(node))
        self.nodes += 1
        if isinstance(answer, str) and answer == OWN:
            self.own_nodes += 1
            return None
        scores = matrix(answer, node.fraction.shape, allow_inf=True)
        self.distance += abs(node.fraction[int(np.argmax(scores))] - 0.5)
        return scores


def draw(_: Instance, outcome: Outcome) -> str:
    """Draw the search as SVG: a stroke for each node at which the candidate was asked, as long as the node is deep."""
    width, deepest = SIDE / max(len(outcome.depths), 1), max(outcome.depths, default=0)
    step = SIDE / 2 / (deepest + 1)
    path = "".join(
        f"M{MARGIN + (at + 0.5) * width:.2f} {MARGIN}v{(depth + 1) * step:.1f}"
        for at, depth in enumerate(outcome.depths)
    )
    shape = f'<path d="{path}" stroke="#222" stroke-width="{0.8 * width:.2f}"/>'
    return wrap_shapes(SIDE + 2 * MARGIN, SIDE / 2 + 2 * MARGIN, [shape])


def _arguments(node: Node) -> tuple[object, ...]:
    arrays = (node.fraction, node.gain_down, node.gain_up, node.seen, node.cost, node.rows)
    return (*arrays, node.depth, node.gap)


if __name__ == "__main__":
    run(evaluate, function="score", functions=("probe",), sizes=SIZES, race=True, draw=draw)
