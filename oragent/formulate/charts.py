"""Stacked bars over periods as the content of an SVG element; all text is escaped."""

import itertools
import math

from markupsafe import Markup

from oragent._base.text_format import escape_text
from oragent.formulate.breakdown import TimeChart
from oragent.modelling.data.display import figure

# Sizes in units of the view box ``0 0 640 184``.
WIDTH, HEIGHT, LEFT, TOP = 560, 150, 70, 8
# Distance of the figures from the bars; base lines of the upper figure below the top, and of periods below the bars.
LABEL_GAP, UPPER_LINE, PERIOD_LINE = 8, 8, 18
# Share of a column that its bar takes.
BAR_SHARE = 0.8
# Maximum number of characters of a period.
MAX_LABEL = 12
# Maximum number of periods that are named.
MAX_TICKS = 12
COLOURS = ("#2B5F8C", "#D98E2B", "#2C6E49", "#8C4A6B", "#7A7A7A", "#5FA8A8")
BAR = Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"><title>{}, {}: {}</title></rect>')
AXIS = Markup('<line x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}" class="axis"/>')
TEXT = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')


def draw_chart(chart: TimeChart) -> Markup:
    """Draw a column for each period, with positive values above the axis and negative ones below.

    A chart has a value that is not 0.
    """
    columns = list(zip(*chart.series.values(), strict=True))
    top = max(math.fsum(max(0.0, value) for value in column) for column in columns)
    bottom = min(math.fsum(min(0.0, value) for value in column) for column in columns)
    scale = HEIGHT / (top - bottom)
    axis = TOP + top * scale
    step = WIDTH / len(columns)
    parts = [AXIS.format(LEFT, LEFT + WIDTH, axis, axis)]
    for position, (period, column) in enumerate(zip(chart.periods, columns, strict=True)):
        above = below = axis
        for colour, name, value in zip(itertools.cycle(COLOURS), chart.series, column, strict=False):
            rise, fall = max(0.0, value) * scale, max(0.0, -value) * scale
            above -= rise
            if rise or fall:
                words = (escape_text(period), escape_text(name), figure(value))
                x = LEFT + (position + (1 - BAR_SHARE) / 2) * step
                y = above if rise else below
                parts.append(BAR.format(x, y, BAR_SHARE * step, rise + fall, colour, *words))
            below += fall
    every = math.ceil(len(columns) / MAX_TICKS)
    for position, period in list(enumerate(chart.periods))[::every]:
        label = escape_text(period)[:MAX_LABEL]
        parts.append(TEXT.format(LEFT + (position + 0.5) * step, TOP + HEIGHT + PERIOD_LINE, "middle", label))
    parts.append(TEXT.format(LEFT - LABEL_GAP, TOP + UPPER_LINE, "end", figure(top)))
    if bottom < 0:
        parts.append(TEXT.format(LEFT - LABEL_GAP, TOP + HEIGHT, "end", figure(bottom)))
    return Markup("").join(parts)
