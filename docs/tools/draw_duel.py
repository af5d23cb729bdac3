"""Draw the gains of a duel on a fixed set, for the gallery: one bar for each instance.

python docs/tools/draw_duel.py outputs/duels/cvrp_solver/swept-default-54539f6c
"""

import json
import sys
from pathlib import Path

from matplotlib.figure import Figure

# What the size of an instance counts.
SIZES = {"bpp_online_informed": "items", "cvrp_solver": "customers", "milp_branching": "variables"}
IMAGES = Path(__file__).parents[1] / "images" / "problems"


def main(folder: Path) -> None:
    """Write the picture of the duel's problem."""
    duel = json.loads((folder / "duel.json").read_text())
    first, second = duel["rounds"][0]["values"]
    sign = 1 if duel["direction"] == "maximize" else -1
    pairs = [(int(size), one, other) for size in first for one, other in zip(first[size], second[size], strict=True)]
    gains = [200 * sign * (one - other) / (abs(one) + abs(other)) for _, one, other in pairs]
    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.subplots()
    axes.bar(range(len(gains)), gains)
    step = 2 if len(gains) <= 24 else 4
    axes.set_xticks(range(0, len(gains), step), [str(size) for size, _, _ in pairs[::step]])
    axes.axhline(0, color="0.5", linewidth=0.8)
    axes.set(xlabel=SIZES[duel["problem"]], ylabel="gain, %")
    figure.savefig(IMAGES / f"{duel['problem']}.png", dpi=80)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
