"""The command ``oragent duel``: hold a duel, print its verdict and tables, and write its page."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from oragent import __version__
from oragent._base.publishing import publish_progress, publish_result
from oragent._base.text_format import one_line
from oragent.evals.bench.driver import page_template, rich_table
from oragent.evals.bench.tables import TextTable
from oragent.evals.duel.runner import Duel, DuelPlan, DuelRecord, read_record, run_duel
from oragent.evals.duel.verdict import Decision, DuelVerdict, decide, format_gain, pool_gains
from oragent.report.pages.charts import BEST, KEPT, MUTED, fit_label, new_figure, render_figure, save_page
from oragent.report.pages.text import format_score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DECIDED, UNDECIDED = 0, 3
# Maximum number of instances that are printed.
SHOWN = 32
# Maximum number of characters of a program's name in tables.
MAX_NAME = 28
CAPTION = (
    "Left: mean relative gain of the first program after each round, with the interval that holds at all times. Right: "
    "the gain on each instance, by size. Above 0 the first program is better."
)


def run(plan: DuelPlan, console: Console) -> int:
    """Hold or continue a duel; return 0 if it is decided, else 3."""

    def observe(record: DuelRecord) -> None:
        publish_progress("round", {"rounds": len(record.rounds), "set": record.on})
        if record.is_drawn:
            console.print(f"{len(record.rounds)} of at most {plan.rounds} rounds on {record.on}", highlight=False)

    duel = run_duel(plan, observe)
    page = None if duel.folder is None else write_page(duel.folder)
    publish_result({**describe_duel(duel), "report": page})
    print_duel(duel, console)
    if page is not None:
        console.print(f"[bold]report[/] {escape(str(page))}", highlight=False, soft_wrap=True)
    return UNDECIDED if duel.verdict.decision is Decision.OPEN else DECIDED


def show_folder(folder: Path, console: Console) -> int:
    """Print the result of a duel; its folder is not changed."""
    record = read_record(folder)
    duel = Duel(record, record.judge(), folder)
    publish_result(describe_duel(duel))
    print_duel(duel, console)
    return UNDECIDED if duel.verdict.decision is Decision.OPEN else DECIDED


def write_page(folder: Path) -> Path:
    """Write the page of a duel, and its figure."""
    record = read_record(folder)
    verdict = record.judge()
    drawing = render_figure("duel", CAPTION, lambda: _draw_duel(record))
    page = page_template(Path(__file__)).render(
        record=record,
        verdict=verdict,
        summary=summary_table(record, verdict),
        sizes=size_table(verdict),
        instances=instance_table(record),
        drawing=drawing,
        version=__version__,
    )
    save_page(folder, [drawing], page)
    return folder / "report.html"


def describe_duel(duel: Duel) -> dict[str, object]:
    """Return a duel as plain data."""
    verdict, record = duel.verdict, duel.record
    low, high = (None if math.isinf(end) else end for end in (verdict.low, verdict.high))
    return {
        "first": verdict.names[0],
        "second": verdict.names[1],
        "verdict": verdict.sentence,
        "decision": str(verdict.decision),
        "problem": record.problem,
        "set": record.on,
        "level": record.level,
        "gap": record.gap,
        "gain": verdict.fixed.mean,
        "interval": [low, high],
        "p": verdict.p,
        "p_fixed": {"signs": verdict.fixed.p, "ranks": verdict.p_ranks},
        "instances": verdict.fixed.pairs,
        "better": verdict.fixed.better,
        "worse": verdict.fixed.worse,
        "scores": verdict.means,
        "work": record.work,
        "cpu_ratio": verdict.cpu_ratio,
        "further": verdict.further,
        "wanted": verdict.wanted,
        "by_size": {size: asdict(test) for size, test in verdict.by_size.items()},
        "rows": list_instances(record),
        "folder": duel.folder,
    }


def print_duel(duel: Duel, console: Console) -> None:
    """Print the answer of a duel first, then its tables."""
    record, verdict = duel.record, duel.verdict
    console.print(Text(verdict.sentence, style="bold"))
    for table in (summary_table(record, verdict), size_table(verdict), instance_table(record)):
        if table.rows and len(table.rows) <= SHOWN:
            console.print(rich_table(table))
    if verdict.fixed.pairs > SHOWN:
        console.print("instance by instance: the report, and --json", highlight=False)


def summary_table(record: DuelRecord, verdict: DuelVerdict) -> TextTable:
    """Tabulate scores, counts, tests and CPU time."""
    test = verdict.fixed
    first, second = (_fit_name(name) for name in verdict.names)
    ratio = "–" if verdict.cpu_ratio is None else f"{verdict.cpu_ratio:.2f}"
    when = "any time" if record.is_drawn else "fixed set"
    rows = [
        (f"mean score of {first}, {record.direction.words}", format_score(verdict.means[0])),
        (f"mean score of {second}", format_score(verdict.means[1])),
        (
            f"instances on which {first} is better, worse, equal",
            f"{test.better}, {test.worse}, {test.pairs - test.better - test.worse}",
        ),
        (f"p of the duel ({when})", f"{verdict.p:.2g}"),
        ("p of signs, had the number been fixed", _format_p(test.p)),
        ("p of signed ranks, had the number been fixed", _format_p(verdict.p_ranks)),
        (f"CPU time of {first} as a multiple of that of {second}", ratio),
    ]
    return TextTable(("what", ""), tuple(rows))


def size_table(verdict: DuelVerdict) -> TextTable:
    """Tabulate the gain at each size; no rows for a single size."""
    total = math.fsum(test.mean for test in verdict.by_size.values())
    rows = []
    for size, test in verdict.by_size.items():
        interval = "–"
        if test.low is not None and test.high is not None:
            interval = f"{format_gain(test.low)} to {format_gain(test.high)}"
        share = f"{100 * test.mean / total:.0f} %" if total else "–"
        counts = f"{test.better} / {test.worse}"
        rows.append((size, str(test.pairs), format_gain(test.mean), interval, counts, _format_p(test.p), share))
    return TextTable(("size", "instances", "gain", "95 %", "better / worse", "p", "share"), tuple(rows))


def instance_table(record: DuelRecord) -> TextTable:
    """Tabulate the values of both programs on each instance."""
    heads = ("size", "instance", *map(_fit_name, record.names), "gain", "round")
    rows = [
        (row.size, str(row.index), *map(format_score, (row.first, row.second)), format_gain(row.gain), str(row.round))
        for row in list_instances(record)
    ]
    return TextTable(heads, tuple(rows))


@dataclass(frozen=True)
class InstanceRow:
    """Values of both programs on an instance, and the relative gain of the first."""

    round: int
    size: str
    index: int
    first: float
    second: float
    gain: float


def list_instances(record: DuelRecord) -> list[InstanceRow]:
    """List the instances of a duel."""
    rows = []
    for number, played in enumerate(record.judged):
        gains = iter(pool_gains(record.direction, [played]).gains)
        for size, firsts in played.values[0].items():
            pairs = zip(firsts, played.values[1][size], strict=True)
            rows += [InstanceRow(number, size, index, *pair, next(gains)) for index, pair in enumerate(pairs)]
    return rows


def _fit_name(name: str) -> str:
    """Return a name, or its end, by which candidates of one run differ."""
    name = one_line(name)
    return name if len(name) <= MAX_NAME else f"…{name[1 - MAX_NAME :]}"


def _format_p(p: float | None) -> str:
    return "–" if p is None else f"{p:.2g}"


def _draw_duel(record: DuelRecord) -> "Figure":
    figure = new_figure(9.4, 3.4)
    left, right = figure.subplots(1, 2)
    rounds = record.judged
    counts = list(range(1, len(rounds) + 1))
    pooled = [pool_gains(record.direction, rounds[:count]) for count in counts]
    decided = [decide(gains, record.rule) for gains in pooled]
    means = [100 * float(np.average(gains.gains, weights=gains.weights)) for gains in pooled]
    for count, test in zip(counts, decided, strict=True):
        if math.isfinite(test.high - test.low):
            left.plot([count, count], [100 * test.low, 100 * test.high], color=KEPT, linewidth=2)
    left.plot(counts, means, color=BEST, marker="o", markersize=3)
    left.set(xlabel="rounds", ylabel="gain, %", title=fit_label(f"{record.names[0]} against {record.names[1]}", 60))
    left.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    sizes = list(dict.fromkeys(pooled[-1].sizes))
    shifts = np.random.default_rng(0).uniform(-0.25, 0.25, len(pooled[-1].sizes))
    places = [sizes.index(size) + shift for size, shift in zip(pooled[-1].sizes, shifts, strict=True)]
    right.plot(places, [100 * gain for gain in pooled[-1].gains], ".", color=BEST, markersize=3)
    shown = range(0, len(sizes), math.ceil(len(sizes) / 8))
    right.set_xticks(shown, [fit_label(sizes[place], 12) for place in shown])
    right.set(xlabel="size", ylabel="gain, %", title="each instance")
    for axes in (left, right):
        axes.axhline(0, color=MUTED, linewidth=0.8)
        if record.gap:
            axes.axhspan(-100 * record.gap, 100 * record.gap, color=MUTED, alpha=0.15, linewidth=0)
    return figure
