"""Time-space diagrams: where each vehicle was at which time. Imported only to draw."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from oragent.domains.driving.drive import Drive
from oragent.domains.driving.network import Road

SPEEDS = Normalize(0.0, 15.0)  # m/s
COLOURS = colormaps["RdYlGn"]
INCHES, DPI = (12.0, 9.0), 110  # for each drive


def time_space(ended: Mapping[str, Drive], road: Road, file: Path) -> None:
    """Write a PNG with a panel a lane of E0: the way of every vehicle over time, its colour is its speed.

    Args:
        ended: drives on the same road, recorded or not, by the label under which each is shown; side by side.
        road: where they took place.
        file: to be written.
    """
    figure = Figure(figsize=(INCHES[0] * len(ended), INCHES[1]), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(road.lanes, len(ended), sharex=True, sharey=True, squeeze=False)
    for column, (label, drive) in enumerate(ended.items()):
        grid[0, column].set_title(f"{label}: {drive.scenario.name}", loc="left")
        grid[-1, column].set_xlabel("time, s")
        for lane in range(road.lanes):
            _draw_lane(grid[road.lanes - 1 - lane, column], drive, road, lane)
    for lane in range(road.lanes):
        side = {0: " (right)", road.lanes - 1: " (left)"}.get(lane, "")
        grid[road.lanes - 1 - lane, 0].set_ylabel(f"lane {lane}{side}\nposition on E0, m")
    colours = grid[0, 0].collections[0]
    figure.colorbar(colours, ax=list(grid.ravel()), label="speed, m/s", pad=0.01)
    figure.savefig(file)


def _draw_lane(axes: Axes, ended: Drive, road: Road, lane: int) -> None:
    segments, speeds = ways(ended, lane)
    lines = LineCollection(segments, cmap=COLOURS, norm=SPEEDS, linewidths=1.2)
    lines.set_array(speeds)
    axes.add_collection(lines)
    axes.set_facecolor("#2f3338")
    axes.set_xlim(0, len(ended.seconds))
    axes.set_ylim(0, road.length)


def ways(ended: Drive, lane: int) -> tuple[list[list[tuple[float, float]]], NDArray[np.float64]]:
    """Segments of a second each, of vehicles that stay on the lane in it, and their speeds.

    Returns:
        For every segment ``[(second, metres), (second, metres)]``, and ``(n,)`` speeds at its end, m/s.
    """
    moves = list(_iterate_moves(ended, lane))
    segments = [[(time - 1.0, former), (float(time), now)] for time, former, now, _ in moves]
    return segments, np.array([speed for *_, speed in moves])


def _iterate_moves(ended: Drive, lane: int) -> Iterator[tuple[int, float, float, float]]:
    positions: Mapping[str, float] = {}
    for time, second in enumerate(ended.seconds):
        now = {state.vehicle: state for state in second.states if state.lane == lane}
        for name in now.keys() & positions.keys():
            yield time, positions[name], now[name].position, now[name].speed
        positions = {name: state.position for name, state in now.items()}
