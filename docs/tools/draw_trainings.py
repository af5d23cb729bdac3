"""Draw the learning curves of our weights, for docs/neural.md and for the gallery.

python docs/tools/draw_trainings.py outputs/training   # the folder that has those of the four trainings
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

from oragent_benchmarks.training import curve
from oragent_benchmarks.training.request import PROBLEMS

TARGET = Path(__file__).parents[2] / "docs" / "images" / "training.png"


def main(folder: Path) -> None:
    """Draw all four, side by side and each alone."""
    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = figure.subplots(2, 2, sharey=True)
    for problem, place in zip(PROBLEMS, axes.flat, strict=True):
        curve.plot(place, folder / problem)
        place.set_title(problem)
    figure.supxlabel("CPU hours")
    figure.supylabel("greedy gap to LKH, PyVRP")
    figure.savefig(TARGET, dpi=80)
    for problem in PROBLEMS:
        figure = Figure(figsize=(5, 3), layout="constrained")
        axes = figure.subplots()
        curve.plot(axes, folder / problem)
        axes.set_title(problem)
        figure.savefig(TARGET.parent / "problems" / f"{problem}.png", dpi=80)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
