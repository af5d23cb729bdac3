"""Intervals of a plan by machine, for a Gantt chart."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from oragent._base.text_format import escape_text
from oragent.formulate.charts import COLOURS, WIDTH
from oragent.modelling.data.intervals import PlanInterval
from oragent.report.pages.time_scales import TimeScale
from oragent.report.pages.value_tables import DecisionFamily, DecisionKind

# Maximum number of bars of a chart.
MAX_BARS = 400
# Sizes in units of the view box, whose width is ``LEFT + WIDTH + 10``.
LEFT, ROW, TOP = 110, 22, 6
# Distances of lanes from the bars and of bars from the borders of their row; base lines of lanes and labels in a row.
LABEL_GAP, BAR_GAP, LANE_LINE, LABEL_LINE = 8, 2, 14, 15
# Base line of times below the bars, and what is below the bars altogether.
TIME_LINE, BELOW = 16, 24
# Maximum number of characters of a lane.
MAX_LANE = 14
TICKS = 6
# Least time from the first start to the last end.
MIN_SPAN = 1e-9
# Width of a letter of a label in a bar.
LETTER = 7
START_NAMES = ("start", "starts", "begin", "begins", "departure")
END_NAMES = ("end", "ends", "finish", "finishes", "completion", "arrival")
BAR = Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" fill="{}"><title>{}</title></rect>')
TEXT = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}"{}>{}</text>')
LINE = Markup('<line x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}" class="axis"/>')
ON_BAR = Markup(' style="fill: #fff"')


@dataclass(frozen=True)
class Bar:
    """An interval of the plan.

    Attributes:
        label: What takes place.
        lane: Machine or resource; empty if unknown.
    """

    label: str
    lane: str
    start: float
    end: float


@dataclass(frozen=True)
class PlanSchedule:
    """Intervals of a plan, by machine and start."""

    bars: tuple[Bar, ...]
    # Clock times; None if the origin of times is unknown.
    scale: TimeScale | None = None

    @property
    def lanes(self) -> dict[str, list[Bar]]:
        """Bars by machine; if machines are unknown, by label."""
        lanes: dict[str, list[Bar]] = {}
        for bar in self.bars:
            lanes.setdefault(bar.lane or bar.label, []).append(bar)
        return lanes

    def time_text(self, value: float) -> str:
        """Return a time as text."""
        clock = self.scale.text(value) if self.scale is not None else ""
        return clock or f"{value:.10g}"


def build_schedule(
    intervals: Sequence[PlanInterval], families: Sequence[DecisionFamily], values: Mapping[str, float]
) -> PlanSchedule | None:
    """Return the schedule of a plan; None without times.

    Without intervals of CP-SAT, families of starts and ends with the same indices are taken.
    """
    times = [family for family in families if family.kind is DecisionKind.TIME]
    scale = next((family.scale for family in times if family.scale is not None), None)
    bars = list(_bars_of_intervals(intervals, families, values)) if intervals else list(_bars_of_families(times))
    bars.sort(key=lambda bar: (bar.start, bar.end))
    return PlanSchedule(tuple(bars), scale) if bars else None


def _bars_of_intervals(
    intervals: Sequence[PlanInterval], families: Sequence[DecisionFamily], values: Mapping[str, float]
) -> Iterator[Bar]:
    index_of = {name: (family, index) for family in families for index, name in family.entries.items()}
    members: dict[str, list[tuple[PlanInterval, tuple[str, ...]]]] = {}
    for interval in intervals:
        if interval.takes_place(values):
            # An interval at a fixed time is named by the decision that it takes place.
            columns_of = (*interval.start.terms, *interval.conditions)
            owner = next((index_of[name] for name in columns_of if name in index_of), None)
            index = () if owner is None else owner[1] or (owner[0].name,)
            members.setdefault(interval.lane, []).append((interval, index))
    for lane, parts in members.items():
        widths = {len(index) for _, index in parts}
        columns = list(zip(*(index for _, index in parts), strict=True)) if len(widths) == 1 else []
        # An index that is the same for all intervals of a machine names the machine.
        shared = [position for position, labels in enumerate(columns) if len(set(labels)) == 1 and len(labels) > 1]
        is_numbered = re.fullmatch(r"(machine|resource) \d+", lane) is not None
        name = columns[shared[0]][0] if lane and shared and is_numbered else lane
        for interval, index in parts:
            label = " ".join(part for position, part in enumerate(index) if not (lane and position in shared))
            yield Bar(label or interval.name or name, name, interval.start.at(values), interval.end.at(values))


def _bars_of_families(times: Sequence[DecisionFamily]) -> Iterator[Bar]:
    def names(family: DecisionFamily, words: Sequence[str]) -> bool:
        return bool(set(re.findall(r"[a-z]+", family.name.lower())) & set(words))

    for first in (family for family in times if names(family, START_NAMES)):
        for second in (family for family in times if names(family, END_NAMES)):
            if first.entries.keys() == second.entries.keys() and first.index_count:
                for index, name in first.entries.items():
                    label, lane = (index[0], index[1]) if len(index) == 2 else (" ".join(index), "")
                    end = second.values[second.entries[index]]
                    yield Bar(label, lane, first.values[name], end)
                return


def draw_gantt(schedule: PlanSchedule) -> tuple[Markup, int]:
    """Draw the bars by machine over time as the content of an SVG element, and return it with its height."""
    bars = schedule.bars[:MAX_BARS]
    lanes = PlanSchedule(bars).lanes
    first, last = min(bar.start for bar in bars), max(bar.end for bar in bars)
    step = WIDTH / max(last - first, MIN_SPAN)
    labels = list(dict.fromkeys(bar.label for bar in bars))
    colour_of = dict(zip(labels, itertools.cycle(COLOURS), strict=False))
    bottom = TOP + ROW * len(lanes)
    parts = []
    for row, (lane, members) in enumerate(lanes.items()):
        y = TOP + ROW * row
        parts.append(TEXT.format(LEFT - LABEL_GAP, y + LANE_LINE, "end", "", escape_text(lane)[:MAX_LANE]))
        for bar in members:
            x, width = LEFT + (bar.start - first) * step, (bar.end - bar.start) * step
            times = f"{schedule.time_text(bar.start)} to {schedule.time_text(bar.end)}"
            title = escape_text(f"{bar.label}: {times}")
            parts.append(BAR.format(x, y + BAR_GAP, max(width, 1.0), ROW - 2 * BAR_GAP, colour_of[bar.label], title))
            if len(bar.label) * LETTER <= width:
                parts.append(TEXT.format(x + width / 2, y + LABEL_LINE, "middle", ON_BAR, escape_text(bar.label)))
    parts.append(LINE.format(LEFT, LEFT + WIDTH, bottom, bottom))
    for tick in range(TICKS + 1):
        value = first + (last - first) * tick / TICKS
        parts.append(
            TEXT.format(
                LEFT + (value - first) * step, bottom + TIME_LINE, "middle", "", schedule.time_text(round(value, 1))
            )
        )
    return Markup("").join(parts), bottom + BELOW


def describe_schedule(schedule: PlanSchedule) -> list[str]:
    """Return a line for each machine with its intervals in the order of time."""
    lines = []
    for lane, members in schedule.lanes.items():
        parts = []
        for bar in members:
            name = f"{bar.label} " if bar.lane else ""
            parts.append(f"{name}{schedule.time_text(bar.start)} to {schedule.time_text(bar.end)}")
        lines.append(f"{lane}: {', '.join(parts)}")
    return lines
