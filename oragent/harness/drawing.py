"""Drawings of tours, routes, packings and grids as SVG, for the ``draw`` of an ``eval.py``."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import cycle

COLORS = "#2a6f97", "#c1453b", "#3a7d44", "#8e5aa8", "#b8791a", "#40798c", "#9c4668", "#5b6770"
ITEM_COLORS, EMPTY_COLOR, START_COLOR, GRID_COLOR = ("#2a6f97", "#7fb2cf"), "#f2d7d3", "#c1453b", "#e3e7ea"
# Sizes of a picture in pixels. The height is at most the width.
WIDTH, MARGIN = 480.0, 12.0
SIDE = WIDTH - 2 * MARGIN
BINS_PER_ROW, MAX_ROWS, ROW_HEIGHT, ROW_GAP = 160, 20, 120.0, 6.0
LEGEND_HEIGHT = 24.0


def draw_routes(coordinates: Iterable[Sequence[float]], routes: Iterable[Sequence[int]]) -> str:
    """Draw closed routes through nodes in the plane, each in its own color. A tour is a single route.

    Args:
        coordinates: ``(n, 2)`` coordinates of the nodes.
        routes: Nodes of each route in order. The way back to the first node is added.

    Returns:
        An SVG document. The first node of the first route is marked, and nodes on no route are hollow.

    Raises:
        IndexError: A route names a node that does not exist.
    """
    points = [(float(x), float(y)) for x, y in coordinates]
    left, top = min(x for x, _ in points), max(y for _, y in points)
    span = max(max(x for x, _ in points) - left, top - min(y for _, y in points)) or 1.0
    scale = SIDE / span
    places = [f"{MARGIN + (x - left) * scale:.1f},{MARGIN + (top - y) * scale:.1f}" for x, y in points]
    height = 2 * MARGIN + (top - min(y for _, y in points)) * scale
    ordered = [[int(node) for node in route] for route in routes]
    shapes = [
        f'<polygon points="{" ".join(places[node] for node in route)}" fill="none" stroke="{color}" '
        'stroke-width="1.5"/>'
        for route, color in zip(ordered, cycle(COLORS), strict=False)
    ]
    start = ordered[0][0] if ordered and ordered[0] else None
    visited = {node for route in ordered for node in route}
    for node, place in enumerate(places):
        x, y = place.split(",")
        if node == start:
            radius, color = (5, START_COLOR)
        else:
            radius, color = (2, "#222")
        fill = color if node in visited else "none"
        shapes.append(f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}" stroke="{color}"/>')
    return wrap_shapes(WIDTH, height, shapes)


def draw_packing(sizes: Iterable[float], bins: Iterable[int], capacity: float) -> str:
    """Draw items stacked in bins of equal capacity; empty space stays blank.

    Args:
        sizes: Size of each item.
        bins: Number of the bin of each item.
        capacity: Capacity of every bin, positive.

    Returns:
        An SVG document with a column for each bin, in the order of their numbers. A row has 160 bins; above 3200 bins,
        there are 20 rows.
    """
    contents: dict[int, list[float]] = {}
    for size, number in zip(sizes, bins, strict=True):
        contents.setdefault(int(number), []).append(float(size))
    per_row = max(BINS_PER_ROW, -(-len(contents) // MAX_ROWS))
    width = SIDE / min(per_row, max(1, len(contents)))
    rows = max(1, -(-len(contents) // per_row))
    row_height = min(ROW_HEIGHT, (SIDE + ROW_GAP) / rows - ROW_GAP)
    shapes, paths = [], ["", ""]
    for row in range(rows):
        columns = min(per_row, len(contents) - row * per_row)
        y = MARGIN + row * (row_height + ROW_GAP)
        box = f'width="{columns * width:.1f}" height="{row_height:.1f}"'
        shapes.append(f'<rect x="{MARGIN}" y="{y:.1f}" {box} fill="{EMPTY_COLOR}"/>')
    for index, number in enumerate(sorted(contents)):
        row, column = divmod(index, per_row)
        x, base = MARGIN + (column + 0.5) * width, MARGIN + row * (row_height + ROW_GAP) + row_height
        for at, item in enumerate(contents[number]):
            height = item / capacity * row_height
            paths[at % 2] += f"M{x:.1f} {base:.1f}v{-height:.1f}"
            base -= height
    stroke = f'stroke-width="{width * 0.85:.2f}"'
    shapes += [f'<path d="{path}" stroke="{color}" {stroke}/>' for path, color in zip(paths, ITEM_COLORS, strict=True)]
    return wrap_shapes(WIDTH, 2 * MARGIN + rows * (row_height + ROW_GAP) - ROW_GAP, shapes)


def draw_grid(rows: int, columns: int, kinds: Mapping[str, Iterable[int]]) -> str:
    """Draw the cells of a grid, each kind in its own color, with a legend.

    Args:
        rows: Number of rows.
        columns: Number of columns.
        kinds: Cells of each kind, by its name in the legend. The number of a cell is ``columns * row + column``, with
            row 0 at the top. If a cell has several kinds, the last one is drawn.

    Returns:
        An SVG document. Cells without a kind are gray.

    Raises:
        ValueError: A cell does not exist.
    """
    side = min(SIDE / columns, (SIDE - LEGEND_HEIGHT) / rows)
    cells: dict[int, str] = {}
    legend = []
    for at, ((kind, members), color) in enumerate(zip(kinds.items(), cycle(COLORS), strict=False)):
        cells |= {int(cell): color for cell in members}
        x, y = MARGIN + at * SIDE / len(kinds), MARGIN + rows * side + 12
        legend += [
            f'<rect x="{x:.1f}" y="{y:.1f}" width="12" height="12" fill="{color}"/>',
            f'<text x="{x + 17:.1f}" y="{y + 11:.1f}" font-size="13" font-family="sans-serif">{escape(kind)}</text>',
        ]
    if cells and not 0 <= min(cells) <= max(cells) < rows * columns:
        raise ValueError(f"cells must be 0 to {rows * columns - 1}, not {min(cells)} to {max(cells)}")
    shapes = []
    for cell in range(rows * columns):
        row, column = divmod(cell, columns)
        x, y = MARGIN + (column + 0.05) * side, MARGIN + (row + 0.05) * side
        box = f'x="{x:.1f}" y="{y:.1f}" width="{0.9 * side:.1f}" height="{0.9 * side:.1f}"'
        shapes.append(f'<rect {box} fill="{cells.get(cell, GRID_COLOR)}"/>')
    return wrap_shapes(WIDTH, 2 * MARGIN + rows * side + LEGEND_HEIGHT, shapes + legend)


def wrap_shapes(width: float, height: float, shapes: Iterable[str]) -> str:
    """Return the SVG document of some shapes."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.1f} {height:.1f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(shapes)}</svg>\n'
