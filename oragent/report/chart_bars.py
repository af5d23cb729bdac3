"""Bar charts of failures and of each operator's results."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from oragent.report.pages import format as in_words
from oragent.report.pages.charts import BEST, FAILED, KEPT, MUTED, OTHER, fit_label, new_figure, strip_axes
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
    shares = [f"{count:,}  ({in_words.format_percent(count / data.spend.candidates)})" for count in counts]
    axes.bar_label(bars, shares, padding=4, color=MUTED)
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.margins(x=0.2)
    strip_axes(axes)
    return figure


def count_fates(data: RunData) -> dict[str, tuple[int, int, int, int]]:
    """Count the results of each origin's children, in the order of ``FATES``; the most frequent origins first.

    Probes are left out.
    """
    groups: dict[str, list[Committed]] = {}
    for record in data.records:
        if record.id != data.seed.id and not record.candidate.is_probe:
            groups.setdefault(record.candidate.origin, []).append(record)
    ordered = sorted(groups, key=lambda origin: (-len(groups[origin]), origin))
    others = ordered[MAX_ORIGINS - 1 :] if len(ordered) > MAX_ORIGINS else []
    counts = {origin: _count_records(groups[origin]) for origin in ordered if origin not in others}
    if others:
        counts[f"{len(others)} others"] = _count_records([record for origin in others for record in groups[origin]])
    return counts


def draw_operators(data: RunData) -> Figure:
    """Draw the shares of each origin's children that entered the archive, did not, or failed."""
    fate_counts = count_fates(data)
    figure = new_figure(9.4, 0.85 + 0.3 * len(fate_counts))
    axes = figure.subplots()
    names = [f"{fit_label(origin, 34)}  ({sum(counts):,})" for origin, counts in fate_counts.items()]
    rows = range(len(names))
    begin = [0.0] * len(names)
    for number, (fate, color) in enumerate(zip(FATES, COLORS, strict=True)):
        shares = [counts[number] / sum(counts) for counts in fate_counts.values()]
        bars = axes.barh(rows, shares, left=begin, color=color, height=0.68, label=fate, edgecolor="white")
        inks = {BEST: "white", KEPT: "#0B2A3C", OTHER: MUTED, FAILED: "white"}
        texts = [in_words.format_percent(round(share, 2)) if share >= 0.055 else "" for share in shares]
        axes.bar_label(bars, texts, label_type="center", color=inks[color], fontsize=7)
        begin = [at + share for at, share in zip(begin, shares, strict=True)]
    axes.set_yticks(rows, names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xticks([])
    strip_axes(axes)
    look = {"ncols": 4, "frameon": False, "handlelength": 1, "handleheight": 1, "labelcolor": MUTED}
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, **look)
    return figure


def _count_records(records: Sequence[Committed]) -> tuple[int, int, int, int]:
    placed = [record.placed for record in records]
    failed = sum(record.candidate.evaluation.status.failed for record in records)
    new, improved = placed.count("NEW"), placed.count("IMPROVED")
    return new, improved, len(records) - failed - new - improved, failed
