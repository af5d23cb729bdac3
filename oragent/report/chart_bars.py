"""Bars: why candidates failed, and what became of each operator's children."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from oragent.report.pages import format as in_words
from oragent.report.pages.charts import BEST, FAILED, KEPT, MUTED, OTHER, bare, label, new_figure
from oragent.report.run import RunData
from oragent.search.candidate import Committed

FATES = ("took an empty cell", "took a worse program's cell", "not kept", "failed")
COLORS = (BEST, KEPT, OTHER, FAILED)
MAX_ORIGINS = 12


def draw_failures(data: RunData) -> Figure:
    """Draw how many candidates failed in which way."""
    names = [str(status) for status in data.failures]
    counts = [len(group) for group in data.failures.values()]
    figure = new_figure(6.6, 0.5 + 0.3 * len(names))
    axes = figure.subplots()
    bars = axes.barh(names, counts, color=FAILED, height=0.62)
    shares = [f"{count:,}  ({in_words.percent(count / data.spend.candidates)})" for count in counts]
    axes.bar_label(bars, shares, padding=4, color=MUTED)
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.margins(x=0.2)
    bare(axes)
    return figure


def fates(data: RunData) -> dict[str, tuple[int, int, int, int]]:
    """Count what became of the children of each origin, in the order of ``FATES``; the most frequent origins first.

    Probes are not there: nothing was to become of them.
    """
    groups: dict[str, list[Committed]] = {}
    for record in data.records:
        if record.id != data.seed.id and not record.candidate.is_probe:
            groups.setdefault(record.candidate.origin, []).append(record)
    ordered = sorted(groups, key=lambda origin: (-len(groups[origin]), origin))
    others = ordered[MAX_ORIGINS - 1 :] if len(ordered) > MAX_ORIGINS else []
    found = {origin: _counted(groups[origin]) for origin in ordered if origin not in others}
    if others:
        found[f"{len(others)} others"] = _counted([record for origin in others for record in groups[origin]])
    return found


def draw_operators(data: RunData) -> Figure:
    """Draw the shares of each origin's children that entered the archive, did not, or failed."""
    found = fates(data)
    figure = new_figure(9.4, 0.85 + 0.3 * len(found))
    axes = figure.subplots()
    names = [f"{label(origin, 34)}  ({sum(counts):,})" for origin, counts in found.items()]
    rows = range(len(names))
    begin = [0.0] * len(names)
    for number, (fate, color) in enumerate(zip(FATES, COLORS, strict=True)):
        shares = [counts[number] / sum(counts) for counts in found.values()]
        bars = axes.barh(rows, shares, left=begin, color=color, height=0.68, label=fate, edgecolor="white")
        inks = {BEST: "white", KEPT: "#0B2A3C", OTHER: MUTED, FAILED: "white"}
        texts = [in_words.percent(round(share, 2)) if share >= 0.055 else "" for share in shares]
        axes.bar_label(bars, texts, label_type="center", color=inks[color], fontsize=7)
        begin = [at + share for at, share in zip(begin, shares, strict=True)]
    axes.set_yticks(rows, names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xticks([])
    bare(axes)
    look = {"ncols": 4, "frameon": False, "handlelength": 1, "handleheight": 1, "labelcolor": MUTED}
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, **look)
    return figure


def _counted(records: Sequence[Committed]) -> tuple[int, int, int, int]:
    placed = [record.placed for record in records]
    failed = sum(record.candidate.evaluation.status.failed for record in records)
    new, improved = placed.count("NEW"), placed.count("IMPROVED")
    return new, improved, len(records) - failed - new - improved, failed
