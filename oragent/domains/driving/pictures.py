"""Pictures of recorded drives: the road from above, and time-space diagrams. Imported only for drawing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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

from oragent.domains.driving.network import Road
from oragent.domains.driving.rules import TYPES
from oragent.domains.driving.scenario import Departure
from oragent.domains.driving.simulation import VehiclePosition
from oragent.domains.driving.trials import Drive, iterate_moves

EXITS = {"E4": ("#4c72b0", "straight on"), "E5": ("#c44e52", "to the left"), "E6": ("#55a868", "to the right")}
ASPHALT, GROUND, PAINT = "#55585c", "#eef0ea", "#c9ccd0"
# Widths in metres; twice the real widths, because small vehicles would be hard to see.
LANE_WIDTH, VEHICLE_WIDTH = 3.2, 2.0
INCHES, DPI = (12.0, 4.6), 80
# Duration of a frame in milliseconds, and number of colours.
FRAME_MS, PALETTE = 100, 64
# Minimum time between two moments in s.
APART_S = 60
# Position on E0 in metres; most vehicles change lanes right after it.
ENTRY = 20.0


# Range of the colours of speeds in m/s.
SPEEDS = Normalize(0.0, 15.0)
COLOURS = colormaps["RdYlGn"]
# Size of the diagram of each drive.
DIAGRAM_INCHES, DIAGRAM_DPI = (12.0, 9.0), 110


def animate(ended: Mapping[str, Drive], road: Road, file: Path) -> None:
    """Write a GIF of the road from above with one frame per second; a vehicle's colour shows its destination.

    Args:
        ended: Recorded drives of the same scenario by label, drawn one below the other.
        road: Road of the drives.
        file: File to write.
    """
    seconds = range(max(len(drive.seconds) for drive in ended.values()))
    (middle,) = _draw_film(ended, road, [len(seconds) // 2])
    palette = middle.quantize(PALETTE)
    # Frames are generated one by one, because all frames of two long drives would need more memory than an evaluation
    # has.
    images = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in _draw_film(ended, road, seconds))
    next(images).save(file, save_all=True, append_images=images, duration=FRAME_MS, loop=0)


def _draw_film(ended: Mapping[str, Drive], road: Road, seconds: Sequence[int]) -> Iterator[Image.Image]:
    """Yield frames of all drives, one below the other; a finished drive shows its last frame until the end."""
    films = [
        _draw_frames(label, drive, road, [min(second, len(drive.seconds) - 1) for second in seconds])
        for label, drive in ended.items()
    ]
    for shown in zip(*films, strict=True):
        yield _stack_images(list(shown))


def moments(ended: Drive, road: Road, file: Path, count: int = 2) -> None:
    """Write a PNG of the ``count`` seconds with the most lane changers, a minute apart, one below the other."""
    ranked = sorted(range(len(ended.seconds)), key=lambda second: -weaving(ended, road, second))
    chosen: list[int] = []
    for second in ranked:
        if len(chosen) < count and all(abs(second - earlier) >= APART_S for earlier in chosen):
            chosen.append(second)
    _stack_images(list(_draw_frames("", ended, road, sorted(chosen)))).save(file)


def weaving(ended: Drive, road: Road, second: int) -> int:
    """Count the moving vehicles that have passed the entry of E0 and still need a lane change."""
    departures = {departure.vehicle: departure for departure in ended.scenario.departures}
    states = [state for state in ended.seconds[second].states if state.speed > 1.0 and state.position > ENTRY]
    return sum(state.lane not in road.exits[road.plan.routes[departures[state.vehicle].route][1]] for state in states)


def _stack_images(images: list[Image.Image]) -> Image.Image:
    width, height = max(picture.width for picture in images), sum(picture.height for picture in images)
    whole, top = Image.new("RGB", (width, height), "white"), 0
    for image in images:
        whole.paste(image, (0, top))
        top += image.height
    return whole


def _draw_frames(label: str, ended: Drive, road: Road, chosen: Iterable[int]) -> Iterator[Image.Image]:
    """Yield frames that copy one drawing of the road, which is ten times faster than matplotlib's own animation."""
    figure = Figure(figsize=INCHES, dpi=DPI, facecolor="white")
    canvas: Any = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.01, 0.02, 0.98, 0.86))
    _draw_road(axes, road)
    vehicles = PolyCollection([], edgecolors="black", linewidths=0.5, zorder=3, animated=True)
    axes.add_collection(vehicles)
    title = figure.text(0.01, 0.93, "", fontsize=12, animated=True)
    canvas.draw()
    empty = canvas.copy_from_bbox(figure.bbox)
    departures = {departure.vehicle: departure for departure in ended.scenario.departures}
    arrived = np.cumsum([len(second.arrived) for second in ended.seconds])
    name = f"{label}: {ended.scenario.name}" if label else ended.scenario.name
    for time in chosen:
        second = ended.seconds[time]
        vehicles.set_verts([_vehicle_outline(position, departures[position.vehicle]) for position in second.places])
        vehicles.set_facecolor(
            [EXITS[road.plan.routes[departures[position.vehicle].route][1]][0] for position in second.places]
        )
        speeds = [state.speed for state in second.states]
        pace = f"{np.mean(speeds):.1f} m/s" if speeds else "nobody moves"
        seen = f"on E0: {len(speeds)} vehicles, {pace}    arrived: {arrived[time]}"
        title.set_text(f"{name}    second {time + 1}    {seen}")
        canvas.restore_region(empty)
        axes.draw_artist(vehicles)
        figure.draw_artist(title)
        yield Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def _draw_road(axes: Axes, road: Road) -> None:
    points = [point for shape in road.shapes for point in shape]
    west, bottom = np.min(points, axis=0)
    right, top = np.max(points, axis=0)
    axes.set_xlim(west, right)
    axes.set_ylim(bottom, top)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.fill((west, right, right, west), (bottom, bottom, top, top), color=GROUND, linewidth=0, zorder=0)
    for x0, y0, x1, y1 in road.junctions:
        axes.fill((x0, x1, x1, x0), (y0, y0, y1, y1), color=ASPHALT, linewidth=0, zorder=1)
    for shape in road.shapes:
        for width, colour, order in ((LANE_WIDTH, PAINT, 1.1), (LANE_WIDTH - 0.25, ASPHALT, 1.2)):
            axes.fill(*_draw_band(shape, width), color=colour, linewidth=0, zorder=order)
    for colour, label in EXITS.values():
        axes.fill((), (), color=colour, label=label)
    axes.legend(loc="lower center", ncols=3, frameon=False, fontsize=11, bbox_to_anchor=(0.5, 0.02))


def _draw_band(shape: tuple[tuple[float, float], ...], width: float) -> tuple[list[float], list[float]]:
    (x0, y0), (x1, y1) = shape[0], shape[-1]
    length = float(np.hypot(x1 - x0, y1 - y0))
    dx, dy = -(y1 - y0) / length * width / 2, (x1 - x0) / length * width / 2
    return [x0 + dx, x1 + dx, x1 - dx, x0 - dx], [y0 + dy, y1 + dy, y1 - dy, y0 - dy]


def _vehicle_outline(position: VehiclePosition, drawn: Departure) -> list[tuple[float, float]]:
    """Return the corners of a vehicle; its position is the middle of its front."""
    heading = np.radians(90.0 - position.heading)
    along = np.array([np.cos(heading), np.sin(heading)])
    across = np.array([-along[1], along[0]]) * VEHICLE_WIDTH / 2
    front = np.array([position.x, position.y])
    rear = front - along * TYPES[drawn.kind].length
    return [tuple(corner) for corner in (front + across, front - across, rear - across, rear + across)]


def time_space(ended: Mapping[str, Drive], road: Road, file: Path) -> None:
    """Write a PNG with one panel per lane of E0: position of each vehicle over time, coloured by speed."""
    figure = Figure(figsize=(DIAGRAM_INCHES[0] * len(ended), DIAGRAM_INCHES[1]), dpi=DIAGRAM_DPI, layout="constrained")
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
    """Return one-second segments of the vehicles that stay on the lane, and their speeds.

    Returns:
        Segments ``[(second, metres), (second, metres)]``, and ``(n,)`` speeds at their ends, m/s.
    """
    moves = list(iterate_moves(ended, lane))
    segments = [[(time - 1.0, former), (float(time), now)] for time, former, now, _ in moves]
    return segments, np.array([speed for *_, speed in moves])
