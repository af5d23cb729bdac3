"""Ways of vehicles over time as SVG, by lane, without further packages."""

from collections.abc import Iterator, Mapping

from oragent.domains.driving.drive import Drive
from oragent.domains.driving.network import Road
from oragent.harness.drawing import MARGIN, SIDE, WIDTH, wrap_shapes

COLORS = "#a50026", "#f46d43", "#b8a020", "#66bd63", "#006837"  # of speeds, the slowest first
STEP_MPS, STEP_S = 3.0, 2  # from one color to the next; between two drawn moments
PANEL, GAP, LEGEND = 110.0, 18.0, 26.0  # pixels


def draw_drive(road: Road, ended: Drive) -> str:
    """Draw a recorded drive: a panel for each lane of E0, the left one first; colors are speeds.

    Args:
        road: Road of the drive.
        ended: Drive; it was recorded.
    """
    along, across = SIDE / max(1, len(ended.seconds)), PANEL / road.length
    shapes = [f'<text x="{MARGIN}" y="14" font-size="12" font-family="sans-serif">m/s:</text>']
    for at, color in enumerate(COLORS):
        x, text = (
            MARGIN + 40 + 70 * at,
            f"{STEP_MPS * at:g} to {STEP_MPS * (at + 1):g}" if at < len(COLORS) - 1 else f"{STEP_MPS * at:g} or more",
        )
        shapes.append(f'<rect x="{x:.0f}" y="4" width="10" height="10" fill="{color}"/>')
        shapes.append(f'<text x="{x + 14:.0f}" y="14" font-size="11" font-family="sans-serif">{text}</text>')
    for row, lane in enumerate(reversed(range(road.lanes))):
        top = LEGEND + row * (PANEL + GAP)
        side = {0: ", right", road.lanes - 1: ", left"}.get(lane, "")
        label = f"lane {lane}{side}: {road.length:.0f} m upwards, {len(ended.seconds)} s to the right"
        shapes.append(f'<text x="{MARGIN}" y="{top + 10:.0f}" font-size="11" font-family="sans-serif">{label}</text>')
        shapes.append(f'<rect x="{MARGIN}" y="{top + GAP - 4:.0f}" width="{SIDE}" height="{PANEL}" fill="#f2f3f0"/>')
        paths = dict.fromkeys(COLORS, "")
        base = top + GAP - 4 + PANEL
        for time, former, now, speed in iterate_moves(ended, lane, STEP_S):
            color = COLORS[min(int(max(speed, 0.0) / STEP_MPS), len(COLORS) - 1)]
            x, y = MARGIN + (time - STEP_S) * along, base - former * across
            paths[color] += f"M{x:.1f} {y:.1f}l{STEP_S * along:.1f} {(former - now) * across:.1f}"
        shapes += [
            f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1"/>' for color, path in paths.items() if path
        ]
    return wrap_shapes(WIDTH, LEGEND + road.lanes * (PANEL + GAP) + MARGIN, shapes)


def iterate_moves(ended: Drive, lane: int, step: int = 1) -> Iterator[tuple[int, float, float, float]]:
    """Yield second, former and present position and speed of each vehicle that stays on a lane for some seconds."""
    positions: Mapping[str, float] = {}
    for time, second in enumerate(ended.seconds):
        if time % step:
            continue
        now = {state.vehicle: state for state in second.states if state.lane == lane}
        for name in now.keys() & positions.keys():
            yield time, positions[name], now[name].position, now[name].speed
        positions = {name: state.position for name, state in now.items()}
