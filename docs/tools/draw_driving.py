"""Draw a drive by the seed of driving_long on a road of one kilometre, for the gallery; it needs SUMO.

python docs/tools/draw_driving.py
"""

import runpy
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from oragent.domains.driving.evaluation import RoadBench
from oragent.domains.driving.pictures import COLOURS, SPEEDS, ways
from oragent.domains.driving.scenario import LONG
from oragent.domains.driving.scoring import FUNCTION
from oragent.report.pages.charts import apply_style

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "docs" / "images" / "problems" / "driving_long.png"
LANE = 0


def main(target: Path) -> None:
    """Draw time and place of all vehicles on the rightmost lane."""
    controller = runpy.run_path(str(ROOT / "problems" / "driving_long" / "heuristic.py"))[FUNCTION]
    scenario = LONG.demands("train", (1,), 0)[1][0]
    with TemporaryDirectory() as folder:
        ended = RoadBench(Path(folder)).drive(scenario, lambda name: controller, record=True)
    segments, speeds = ways(ended, LANE)
    with apply_style("driving_long"):
        figure = Figure(figsize=(7.2, 3.2), layout="constrained")
        axes = figure.subplots()
        lines = LineCollection(segments, cmap=COLOURS, norm=SPEEDS, linewidths=1.0)
        lines.set_array(speeds)
        axes.add_collection(lines)
        axes.set_xlim(0, len(ended.seconds))
        axes.set_ylim(0, max(place for segment in segments for _, place in segment))
        axes.set_xlabel("time, s")
        axes.set_ylabel("rightmost lane, m")
        figure.colorbar(lines, ax=axes, label="speed, m/s")
        figure.savefig(target, dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
