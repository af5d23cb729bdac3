"""Pictures of a recorded simulation: vehicles from above, and where each was at which time. Imported only to draw."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from oragent.domains.driving.demand import ROUTES, Departure
from oragent.domains.driving.drive import Drive
from oragent.domains.driving.network import Road
from oragent.domains.driving.simulation import Place
from oragent.domains.driving.vehicles import TYPES

__all__ = ["animate", "time_space"]

SPEEDS = Normalize(0.0, 15.0)  # m/s
COLOURS = colormaps["RdYlGn"]
EXITS = {"E4": ("#4c72b0", "straight on"), "E5": ("#c44e52", "to the left"), "E6": ("#55a868", "to the right")}
ASPHALT, GROUND, PAINT = "#55585c", "#eef0ea", "#c9ccd0"
LANE_WIDTH, VEHICLE_WIDTH = 3.2, 2.0  # m; twice as wide as long ones would be too small to see
INCHES, DPI = (12.0, 4.6), 80
FRAME_MS, PALETTE = 100, 64  # milliseconds a frame, colours


def animate(ended: Drive, road: Road, file: Path) -> None:
    """Write a GIF of the road from above, a frame a second; the colour of a vehicle is where it wants to go.

    Args:
        ended: a recorded simulation.
        road: where it took place.
        file: to be written.
    """
    frames = list(_frames(ended, road))
    palette = frames[len(frames) // 2].quantize(PALETTE)
    images = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    images[0].save(file, save_all=True, append_images=images[1:], duration=FRAME_MS, loop=0)


def time_space(ended: Drive, road: Road, file: Path) -> None:
    """Write a PNG with a panel a lane of E0: the way of every vehicle over time, its colour is its speed.

    Args:
        ended: a simulation, recorded or not.
        road: where it took place.
        file: to be written.
    """
    figure = Figure(figsize=(12.0, 9.0), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(road.lanes, 1, sharex=True, sharey=True)
    for lane, axes in zip(reversed(range(road.lanes)), panels, strict=True):
        segments, speeds = _ways(ended, lane)
        lines = LineCollection(segments, cmap=COLOURS, norm=SPEEDS, linewidths=1.2)
        lines.set_array(speeds)
        axes.add_collection(lines)
        axes.set_facecolor("#2f3338")
        axes.set_xlim(0, len(ended.seconds))
        axes.set_ylim(0, road.length)
        side = {0: " (right)", road.lanes - 1: " (left)"}.get(lane, "")
        axes.set_ylabel(f"lane {lane}{side}\nposition on E0, m")
    panels[-1].set_xlabel("time, s")
    panels[0].set_title(f"Time-space diagram: {ended.scenario.name}", loc="left")
    figure.colorbar(lines, ax=list(panels), label="speed, m/s", pad=0.01)
    figure.savefig(file)


def _frames(ended: Drive, road: Road) -> Iterator[Image.Image]:
    """Draw the road once, and what moves on copies of it: ten times faster than matplotlib's own animation."""
    figure = Figure(figsize=INCHES, dpi=DPI, facecolor="white")
    canvas: Any = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.01, 0.02, 0.98, 0.86))
    _draw_road(axes, road)
    vehicles = PolyCollection([], edgecolors="black", linewidths=0.5, zorder=3, animated=True)
    axes.add_collection(vehicles)
    title = figure.text(0.01, 0.93, "", fontsize=12, animated=True)
    canvas.draw()
    empty = canvas.copy_from_bbox(figure.bbox)
    known = {one.vehicle: one for one in ended.scenario.departures}
    arrived = np.cumsum([len(second.arrived) for second in ended.seconds])
    for time, second in enumerate(ended.seconds):
        vehicles.set_verts([_outline(place, known[place.vehicle]) for place in second.places])
        vehicles.set_facecolor([EXITS[ROUTES[known[place.vehicle].route][1]][0] for place in second.places])
        speeds = [state.speed for state in second.states]
        pace = f"{np.mean(speeds):.1f} m/s" if speeds else "nobody moves"
        seen = f"on E0: {len(speeds)} vehicles, {pace}    arrived: {arrived[time]}"
        title.set_text(f"{ended.scenario.name}    second {time + 1}    {seen}")
        canvas.restore_region(empty)
        axes.draw_artist(vehicles)
        figure.draw_artist(title)
        yield Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def _draw_road(axes: Axes, road: Road) -> None:
    points = [point for shape in road.shapes for point in shape]
    left, bottom = np.min(points, axis=0)
    right, top = np.max(points, axis=0)
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.fill((left, right, right, left), (bottom, bottom, top, top), color=GROUND, linewidth=0, zorder=0)
    for x0, y0, x1, y1 in road.junctions:
        axes.fill((x0, x1, x1, x0), (y0, y0, y1, y1), color=ASPHALT, linewidth=0, zorder=1)
    for shape in road.shapes:
        for width, colour, order in ((LANE_WIDTH, PAINT, 1.1), (LANE_WIDTH - 0.25, ASPHALT, 1.2)):
            axes.fill(*_band(shape, width), color=colour, linewidth=0, zorder=order)
    for colour, label in EXITS.values():
        axes.fill((), (), color=colour, label=label)
    axes.legend(loc="lower center", ncols=3, frameon=False, fontsize=11, bbox_to_anchor=(0.5, 0.02))


def _band(shape: tuple[tuple[float, float], ...], width: float) -> tuple[list[float], list[float]]:
    """Corners of a straight lane: xs, then ys."""
    (x0, y0), (x1, y1) = shape[0], shape[-1]
    length = float(np.hypot(x1 - x0, y1 - y0))
    dx, dy = -(y1 - y0) / length * width / 2, (x1 - x0) / length * width / 2
    return [x0 + dx, x1 + dx, x1 - dx, x0 - dx], [y0 + dy, y1 + dy, y1 - dy, y0 - dy]


def _outline(place: Place, drawn: Departure) -> list[tuple[float, float]]:
    """Corners of a vehicle; its place is the middle of its front."""
    heading = np.radians(90.0 - place.heading)
    along = np.array([np.cos(heading), np.sin(heading)])
    across = np.array([-along[1], along[0]]) * VEHICLE_WIDTH / 2
    front = np.array([place.x, place.y])
    rear = front - along * TYPES[drawn.kind].length
    return [tuple(corner) for corner in (front + across, front - across, rear - across, rear + across)]


def _ways(ended: Drive, lane: int) -> tuple[list[list[tuple[float, float]]], NDArray[np.float64]]:
    """Segments of a second each, of vehicles that stay on the lane in it, and their speeds."""
    moves = list(_moves(ended, lane))
    segments = [[(time - 1.0, before), (float(time), now)] for time, before, now, _ in moves]
    return segments, np.array([speed for *_, speed in moves])


def _moves(ended: Drive, lane: int) -> Iterator[tuple[int, float, float, float]]:
    before: Mapping[str, float] = {}
    for time, second in enumerate(ended.seconds):
        now = {state.vehicle: state for state in second.states if state.lane == lane}
        for name in now.keys() & before.keys():
            yield time, before[name], now[name].position, now[name].speed
        before = {name: state.position for name, state in now.items()}
