"""Score crossovers for decap placement: a genetic algorithm breeds with them, and its best placement counts."""

from oragent.harness import Arguments, CandidateError, Guest, Result, each, figures, fresh, gaps, matrix, run, seconds

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from oragent.domains import pdn
from oragent.domains.streams import cell
from oragent.harness.drawing import draw_grid
from oragent.solvers.elimination import with_shunts
from oragent.solvers.genetic import evolve, find_unusable

PROBLEM = "dpp_ga"
SIZES = {
    "train": (pdn.PORTS,),
    "val": (pdn.PORTS,),
    "test": (pdn.PORTS,),
    "fresh": (pdn.PORTS,),
    # Sets of other sizes and distributions.
    "turned": (pdn.PORTS,),
    "crowded": (pdn.PORTS,),
}
GENERATIONS = {"train": 5, "val": 10}
# Where official files are looked for, under the project root.
DATA = f"problems/{PROBLEM}/data"
SITES_SEED = 20
# Share of the children's ports; more would be a random search of the solver's.
MAX_REPAIRED = 0.5
# Share of a child's ports that no parent has.
NOVELTY_EDGES = (0.001, 0.03, 0.08, 0.15, 0.25, 0.4)
# Share of its ports that the parent most like it has.
LIKENESS_EDGES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.95)
# Share of its ports that another child of the same call has.
TWIN_EDGES = (0.25, 0.35, 0.45, 0.55, 0.7, 0.9)


def evaluate(arguments: Arguments, crossover: Guest) -> Result:
    """Run the genetic algorithm on every instance of the mode."""
    folder = arguments.root_dir / DATA
    network = pdn.read_network(folder) or pdn.generate()
    read = pdn.read_sites(folder, network)
    sites = read or pdn.draw_sites(np.random.default_rng(SITES_SEED))
    decaps = pdn.decap_magnitude(network.frequencies)
    rewards: dict[int, list[float]] = {pdn.PORTS: []}
    histories: list[tuple[float, ...]] = []
    traits: list[tuple[float, float, float]] = []
    begun = perf_counter()
    for size, index, instance in each(crossover, {pdn.PORTS: instances(arguments, sites, network)}, rewards):
        # Nothing is kept from one instance to the next.
        crossover.renew()
        repairs: list[float] = []

        def fitness(placements: np.ndarray, instance: pdn.PlacementInstance = instance) -> np.ndarray:
            return pdn.reward(instance, with_shunts(instance.network.impedance, instance.probe, decaps, placements))

        def breed(
            parents: np.ndarray,
            count: int,
            instance: pdn.PlacementInstance = instance,
            repairs: list[float] = repairs,
        ) -> np.ndarray:
            children = ports(crossover(parents, count), (count, pdn.DECAPS))
            repairs.append(float(find_unusable(children, instance.free).mean()))
            traits.append(kinship(parents, children))
            return children

        solution = evolve(
            fitness,
            breed,
            instance.free,
            instance.decaps,
            np.random.default_rng([*f"{PROBLEM} {arguments.mode}".encode(), size, index]),
            generations=GENERATIONS.get(arguments.mode, GENERATIONS["val"]),
        )
        if (repaired := float(np.mean(repairs))) > MAX_REPAIRED:
            raise CandidateError(
                f"{repaired:.0%} of the ports of its children were forbidden or repeated, and replaced by random ones; "
                f"return children of {pdn.DECAPS} different allowed ports"
            )
        placement = pdn.check(instance, solution.genes)
        rewards[size].append(pdn.objective(instance, placement))
        crossover.show(instance, placement, rewards[size][-1])
        histories.append(solution.history)
    metrics, score = figures("reward", rewards)
    # The references were made with these networks.
    if network.origin == "generated" and not read and arguments.fresh_seed is None:
        metrics |= gaps(arguments, PROBLEM, rewards)
    first, *later = np.mean(histories, axis=0).round(3).tolist()
    novelty, likeness, twins = np.mean(traits, axis=0).tolist()
    metrics |= {
        "pdn": network.origin,
        "instances": "official" if read and arguments.fresh_seed is None else "generated",
    }
    metrics |= fresh(arguments, f"probes and keep-outs of the same law, drawn anew, on the {network.origin} network")
    metrics |= {"random_start": first, "by_generation": later}
    metrics |= {"novelty": round(novelty, 3), "likeness": round(likeness, 3), "twins": round(twins, 3)}
    metrics |= seconds(begun, crossover.seconds)
    return Result(metrics, cell((novelty, NOVELTY_EDGES), (likeness, LIKENESS_EDGES), (twins, TWIN_EDGES)), score)


def instances(arguments: Arguments, sites: list[pdn.Site], network: pdn.Network) -> list[pdn.PlacementInstance]:
    """The mode's part of the hundred sites, or sites that are drawn anew."""
    if arguments.fresh_seed is None:
        return pdn.part(arguments.mode, sites, network)
    return pdn.fresh_part(arguments.fresh_seed, network)


def ports(value: object, shape: tuple[int, int]) -> np.ndarray:
    """Check what a crossover returned: the right shape, whole numbers, all of them ports.

    Raises:
        CandidateError: ``invalid``, saying what came and what was expected.
    """
    numbers = matrix(value, shape)  # type: ignore[arg-type]
    wrong = (numbers != np.rint(numbers)) | (numbers < 0) | (numbers >= pdn.PORTS)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        returned = f"{numbers[row, column]:.6g} at [{row}, {column}] ({int(wrong.sum())} such entries)"
        raise CandidateError(f"returned {returned}; expected ports, whole numbers 0 to {pdn.PORTS - 1}")
    return numbers.astype(np.int64)


def kinship(parents: np.ndarray, children: np.ndarray) -> tuple[float, float, float]:
    """Novelty, likeness and twins of children, as they came from the crossover; averaged over them."""
    old, new = (np.zeros((len(sets), pdn.PORTS)) for sets in (parents, children))
    for table, sets in ((old, parents), (new, children)):
        np.put_along_axis(table, sets, 1.0, axis=1)
    distinct = new.sum(axis=1, keepdims=True)
    novelty = (new * (old.max(axis=0) == 0)).sum(axis=1) / distinct[:, 0]
    siblings = new @ new.T * (1 - np.eye(len(new)))
    return (
        float(novelty.mean()),
        float(((new @ old.T).max(axis=1) / distinct[:, 0]).mean()),
        float((siblings.max(axis=1) / distinct[:, 0]).mean()),
    )


def draw(instance: pdn.PlacementInstance, placement: NDArray[np.int64]) -> str:
    """Draw a placement as SVG: capacitors, keep-outs and the probe on the grid of ports."""
    kinds = {"capacitor": placement, "keep-out": instance.keepouts, "probe": [instance.probe]}
    return draw_grid(pdn.GRID, pdn.GRID, kinds)


if __name__ == "__main__":
    run(evaluate, function="crossover", sizes=SIZES, renew=True, race=True, draw=draw)
