"""Pictures of solutions for the gallery: each by the seed, and by a heuristic of our own that is better."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import own_rules as rules
from classical import seed_of
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from oragent.domains import bpp, cvrp, mkp, op, pdn, tsp
from oragent.report.pages.charts import BEST, FAILED, INK, KEPT, MUTED, OTHER, apply_style, new_figure
from oragent.solvers.aco_bpp import solve_bpp
from oragent.solvers.aco_cvrp import solve_cvrp
from oragent.solvers.aco_mkp import solve_mkp
from oragent.solvers.aco_op import solve_op
from oragent.solvers.aco_tsp import solve_tsp
from oragent.solvers.constructive import construct_tour, pack_online
from oragent.solvers.elimination import with_shunts
from oragent.solvers.genetic import evolve
from oragent.solvers.gls import solve_tsp_gls
from oragent_benchmarks.search.paper_figures import color_scale

__all__ = ["CAPTIONS", "draw"]

Heuristic = Callable[..., object]
Panel = Callable[[Axes, Heuristic], str]  # draws what a heuristic leads to; returns what it comes to
RULES = {
    "tsp_constructive": rules.constructive_lonely_first,
    "tsp_aco": rules.tsp_ranked,
    "tsp_gls": rules.gls_local,
    "cvrp_aco": rules.cvrp_saving,
    "op_aco": rules.op_reachable,
    "mkp_aco": rules.mkp_dense,
    "bpp_offline_aco": rules.bpp_large,
    "bpp_online": rules.bpp_all_or_plenty,
    "dpp_ga": rules.dpp_voted,
}
CAPTIONS = {
    "tsp_constructive": "The tour of a val instance of 100 cities; it starts at the dot.",
    "tsp_aco": "The best tour that the ants find on a val instance of 100 cities.",
    "tsp_gls": "The best tour of a train instance of 200 cities, and the hundred edges that were penalised most.",
    "cvrp_aco": "The best routes that the ants find on a val instance of 50 customers; dots grow with the demand.",
    "op_aco": "The best path that the ants find on a val instance of 100 nodes; darker nodes have higher prizes.",
    "mkp_aco": "The items of a val instance of 100: prize, and the largest share of a capacity that the item takes.",
    "bpp_offline_aco": "The best packing of a val instance of 120 items; each column is a bin, its parts are items.",
    "bpp_online": "Fill of each bin after 5,000 items of a val instance, packed online; the space above is wasted.",
    "dpp_ga": "The best placement of a val instance: probe, keep-outs, and 20 capacitors on a grid of 10 x 10 ports.",
}


def draw(name: str, folder: Path) -> None:
    """Draw ``<name>.png``: the seed's solution on the left, ours on the right."""
    wide = name in ("bpp_offline_aco", "bpp_online")
    with apply_style(name):
        figure = new_figure(7.2, 2.6 if wide else 3.7)
        for place, (what, heuristic) in enumerate((("seed", seed_of(name)), ("ours", RULES[name]))):
            axes = figure.add_subplot(1, 2, place + 1)
            axes.set_title(f"{what}: {PANELS[name](axes, heuristic)}")
        figure.savefig(folder / f"{name}.png", dpi=150)


def rng() -> np.random.Generator:
    """The generator of all pictures."""
    return np.random.default_rng(0)


def square(axes: Axes) -> None:
    """The unit square, without ticks."""
    axes.set(aspect="equal", xticks=[], yticks=[], xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.spines[:].set_visible(False)


def closed(axes: Axes, points: np.ndarray, tour: np.ndarray, **style: object) -> None:
    """A closed tour through points."""
    axes.plot(*points[np.append(tour, tour[0])].T, **{"color": BEST, "linewidth": 1.2, **style})


def tour_panel(axes: Axes, instance: tsp.TspInstance, tour: np.ndarray) -> str:
    """A tour and its cities."""
    square(axes)
    closed(axes, instance.coordinates, tour)
    axes.scatter(*instance.coordinates.T, s=7, color=INK, zorder=3)
    return f"length {tsp.objective(instance, tsp.check(instance, tour)):.3f}"


def constructive(axes: Axes, heuristic: Heuristic) -> str:
    """City after city."""
    one = tsp.stream(tsp.CONSTRUCTIVE_STREAM, "val", 100)[0]
    axes.scatter(*one.coordinates[0], s=60, color=FAILED, zorder=2)
    return tour_panel(axes, one, np.array(construct_tour(heuristic, one.distances)))


def ants(axes: Axes, heuristic: Heuristic) -> str:
    """Ants on a TSP."""
    one = tsp.stream(tsp.ACO_STREAM, "val", 100)[0]
    promise = heuristic(one.distances + np.eye(len(one)))
    return tour_panel(axes, one, solve_tsp(one.distances, promise, rng()).path)


def guided(axes: Axes, heuristic: Heuristic) -> str:
    """Guided local search, with what it penalises."""
    one = tsp.stream(tsp.GLS_STREAM, "train", 200)[0]
    found = solve_tsp_gls(one.distances, heuristic(one.distances + 1e-5 * np.eye(len(one))))
    both = np.triu(found.penalties + found.penalties.T)
    for edge in np.argsort(both, axis=None)[-100:]:
        axes.plot(*one.coordinates[list(np.unravel_index(edge, both.shape))].T, color=FAILED, linewidth=0.8, alpha=0.6)
    return tour_panel(axes, one, found.tour)


def routes(axes: Axes, heuristic: Heuristic) -> str:
    """Routes from a depot."""
    one = cvrp.stream("val", 50)[0]
    promise = heuristic(one.distances + np.eye(len(one)), one.coordinates, one.demands.astype(float), one.capacity)
    path = cvrp.check(one, solve_cvrp(one.distances, one.demands, one.capacity, promise, rng()).path)
    square(axes)
    for number, route in enumerate(cvrp.split(path)):
        closed(axes, one.coordinates, np.append(0, route), color=(BEST, KEPT, MUTED, FAILED)[number % 4])
    axes.scatter(*one.coordinates.T, s=4 + 4 * one.demands, color=INK, zorder=3)
    axes.scatter(*one.coordinates[0], s=60, color=FAILED, marker="s", zorder=4)
    return f"length {cvrp.objective(one, path):.3f}, {len(cvrp.split(path))} routes"


def prizes(axes: Axes, heuristic: Heuristic) -> str:
    """A path for prizes."""
    one = op.stream("val", 100)[0]
    promise = heuristic(one.prizes, one.distances + 1e9 * np.eye(len(one)), one.maxlen)
    path = op.check(one, solve_op(one.prizes, one.distances, one.maxlen, promise, rng(), ants=20, iterations=50).path)
    square(axes)
    closed(axes, one.coordinates, path)
    axes.scatter(*one.coordinates.T, s=16, c=one.prizes, cmap=color_scale(), edgecolors=MUTED, linewidths=0.3, zorder=3)
    axes.scatter(*one.coordinates[0], s=60, color=FAILED, marker="s", zorder=4)
    return f"prize {op.objective(one, path):.2f} within length {one.maxlen:g}"


def knapsack(axes: Axes, heuristic: Heuristic) -> str:
    """Items by prize and weight, those chosen in colour."""
    one = mkp.stream("val", 100)[0]
    chosen = mkp.check(one, solve_mkp(one.prizes, one.weights, heuristic(one.prizes, one.weights), rng()).path)
    heaviest = one.weights.max(axis=1)
    inside = np.isin(np.arange(len(one)), chosen)
    axes.scatter(heaviest[~inside], one.prizes[~inside], s=14, color=OTHER, edgecolors=MUTED, linewidths=0.4)
    axes.scatter(heaviest[inside], one.prizes[inside], s=18, color=BEST)
    axes.set(xlabel="largest share of a capacity", ylabel="prize", ylim=(0, 1.03), xlim=(0, None))
    return f"{len(chosen)} items, prize {mkp.objective(one, chosen):.3f}"


def columns(axes: Axes, instance: bpp.BppInstance, bins: np.ndarray) -> None:
    """Bins as columns of items, the fullest first."""
    fills = bpp.fills(instance, bins)
    for place, number in enumerate(np.argsort(-fills, kind="stable")[: np.count_nonzero(fills)]):
        bottom = 0
        for turn, size in enumerate(sorted(instance.items[bins == number].tolist(), reverse=True)):
            axes.bar(place, size, 0.8, bottom, color=(BEST, KEPT, OTHER, MUTED)[turn % 4])
            bottom += size
    axes.axhline(instance.capacity, color=INK, linewidth=0.8)
    axes.set(xticks=[], ylim=(0, 1.04 * instance.capacity), xlabel="bins", ylabel="size")


def packing(axes: Axes, heuristic: Heuristic) -> str:
    """A packing by ants."""
    one = bpp.uniform_stream("val", 120)[0]
    promise = heuristic(one.items, one.capacity)
    bins = bpp.check(one, solve_bpp(one.items, one.capacity, promise, rng()).bins)
    columns(axes, one, bins)
    return f"{bpp.objective(one, bins)} bins (at least {bpp.lower_bound(one)})"


def online(axes: Axes, heuristic: Heuristic) -> str:
    """A packing of items as they come, as how full its bins are: the fullest first."""
    one = bpp.weibull_stream("val", 5000)[0]
    bins = np.array(pack_online(heuristic, one.items, one.capacity))
    fills = np.sort(bpp.fills(one, bins))[::-1]
    used, least = np.count_nonzero(fills), bpp.lower_bound(one)
    axes.bar(range(used), one.capacity - fills[:used], 1.0, fills[:used], color=FAILED)
    axes.bar(range(used), fills[:used], 1.0, color=KEPT)
    axes.set(xlim=(0, 1.05 * least), ylim=(0, one.capacity), xlabel="bins, the fullest first", ylabel="size")
    return f"{bpp.objective(one, bins)} bins (at least {least})"


def capacitors(axes: Axes, heuristic: Heuristic) -> str:
    """A placement on the grid."""
    network = pdn.generate()
    one = pdn.part("val", pdn.draw_sites(np.random.default_rng(20)), network)[0]
    decaps = pdn.decap_magnitude(network.frequencies)

    def fitness(rows: np.ndarray) -> np.ndarray:
        return pdn.reward(one, with_shunts(network.impedance, one.probe, decaps, rows))

    placed = pdn.check(one, evolve(fitness, heuristic, one.free, one.decaps, rng()).genes)
    kinds = {int(port): KEPT for port in placed} | {int(port): MUTED for port in one.keepouts} | {one.probe: FAILED}
    for port in range(pdn.PORTS):
        row, column = divmod(port, pdn.GRID)
        axes.add_patch(Rectangle((column + 0.06, row + 0.06), 0.88, 0.88, color=kinds.get(port, "#F2F4F6")))
    for name, colour, height in (("probe", FAILED, 0), ("keep-out", MUTED, 1), ("capacitor", KEPT, 2)):
        axes.add_patch(Rectangle((3.4 * height, -1.0), 0.6, 0.6, color=colour))
        axes.text(3.4 * height + 0.8, -0.7, name, va="center")
    axes.set(aspect="equal", xticks=[], yticks=[], xlim=(0, pdn.GRID), ylim=(-1.2, pdn.GRID))
    axes.spines[:].set_visible(False)
    return f"reward {pdn.objective(one, placed):.3f}"


PANELS: dict[str, Panel] = {
    "tsp_constructive": constructive,
    "tsp_aco": ants,
    "tsp_gls": guided,
    "cvrp_aco": routes,
    "op_aco": prizes,
    "mkp_aco": knapsack,
    "bpp_offline_aco": packing,
    "bpp_online": online,
    "dpp_ga": capacitors,
}
