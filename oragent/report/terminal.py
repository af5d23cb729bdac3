"""The report for a terminal of 80 columns or more."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from oragent._base.plain import one_line
from oragent.report import view
from oragent.report.pages import text as in_words
from oragent.report.pages.text import clip_text
from oragent.report.research import Research
from oragent.report.run import RunData

MAX_ELITES = 10
MAX_LINES = 120
MAX_MEMORY = 20
STYLES = {"added": "green", "removed": "red", "gap": "cyan", "same": "default"}


def show_run(data: RunData, console: Console) -> None:
    """Print a run: gain, best program and its difference from the seed, archive, failures, cost.

    Args:
        data: Findings of the run.
        console: Console to print on.
    """
    _show_headline(data, console)
    _show_best(data, console)
    _show_heading(console, "Archive")
    console.print(_tabulate_islands(data))
    console.print(_tabulate_elites(data))
    if data.research:
        _show_research(data.research, console)
    if data.failures:
        _show_heading(console, "Failures")
        console.print(_tabulate_failures(data))
    if data.sets or view.describe_trust(data):
        _show_trust(data, console)
    _show_heading(console, "Time and cost")
    console.print(_tabulate_costs(data))


def _show_headline(data: RunData, console: Console) -> None:
    scores = [in_words.format_score(record.candidate.evaluation.score) for record in (data.seed, data.best)]
    hint = data.about.direction.words
    console.print(Text(one_line(data.about.title), style="bold"))
    console.print(Text.assemble(f"{scores[0]} → ", (scores[1], "bold"), f"  {data.gain.sentence}; {hint}"))
    ended = f"ended: {one_line(data.end)}" if data.end else "not ended: interrupted, or still running"
    console.print(Text(f"{ended}\nto go on: {one_line(data.resume_command, 1000)}", style="dim"))


def _show_best(data: RunData, console: Console) -> None:
    _show_heading(console, f"Best program, {data.best.id} by {one_line(data.best.candidate.origin, 40)}")
    source, left_out = clip_text(data.best.candidate.source, MAX_LINES)
    _show_code(console, Syntax("", "python", theme="ansi_dark", background_color="default").highlight(source))
    _show_left_out(console, left_out, "line")
    compared = view.against_seed(data, MAX_LINES)
    if not compared.lines:
        return
    _show_heading(console, "Against the seed")
    if view.is_rewrite(data):  # the program again, with a plus before each line
        console.print(Text("A rewrite: hardly a line of the seed heuristic is left.", style="dim"))
        return
    for diff_line in compared.lines:
        _show_code(console, Text(diff_line.text, style=STYLES[diff_line.kind]))
    _show_left_out(console, compared.left_out, "line")


def _show_code(console: Console, text: Text) -> None:
    """Print lines of a program without wrapping or cutting them."""
    console.print(text, soft_wrap=True, end="" if text.plain.endswith("\n") else "\n")


def _show_research(research: Research, console: Console) -> None:
    _show_heading(console, "Research")
    more = f"; {research.untried} more not tried" if research.untried else ""
    tried = f"{in_words.format_count(research.ideas, 'idea')} tried, {research.better} of them better than their start"
    if research.ideas or more:
        console.print(f"{tried}{more}")
    if research.actions:
        table = _make_table(
            ("action", "l"), ("rounds", "r"), ("programs", "r"), ("tokens", "r"), ("gain", "r"), ("per 1000", "r"),
            ("index", "r"),
        )  # fmt: skip
        for row in research.actions:
            gain, index = in_words.format_score(row.gain), "" if row.index is None else f"{row.index:.3g}"
            rounds, programs, tokens = str(row.rounds), str(row.programs), f"{row.tokens:,}"
            table.add_row(row.action, rounds, programs, tokens, gain, row.gain_per_token, index)
        console.print(table)
    memory, left_out = clip_text(research.memory, MAX_MEMORY)
    if memory:
        console.print(Text(memory, style="dim"))
    _show_left_out(console, left_out, "line")


def _show_trust(data: RunData, console: Console) -> None:
    _show_heading(console, "What the score is worth")
    if data.sets:
        table = _make_table(("set", "l"), ("seed", "r"), ("best", "r"))
        for name, (seed, best) in data.sets.scores.items():
            table.add_row(name, str(seed), str(best))
        console.print(table)
    for sentence in view.describe_trust(data):
        console.print(Text(one_line(sentence, 600)))


def _tabulate_islands(data: RunData) -> Table:
    table = _make_table(("island", "r"), ("elites", "r"), ("coverage", "r"), ("best", "r"), ("by", "l"))
    for island, elites in enumerate(data.islands):
        covered = in_words.format_percent(len(elites) / data.about.cell_count) if data.about.cell_count else "–"
        best = (in_words.format_score(elites[0].candidate.evaluation.score), elites[0].id) if elites else ("–", "–")
        table.add_row(str(island), str(len(elites)), covered, *best)
    return table


def _tabulate_elites(data: RunData) -> Table:
    rows, left_out = view.list_elites(data, MAX_ELITES)
    heads = [("elite", "l"), ("score", "r"), ("vs seed", "r"), ("islands", "l"), ("cell", "l"), ("size", "r")]
    table = _make_table(*heads, ("made by", "l"))
    for row in rows:
        figures = (in_words.format_score(row.score), row.change, row.islands, row.cell, row.size)
        table.add_row(row.id, *figures, Text(one_line(row.origin, 30)))
    if left_out:
        table.caption = f"{in_words.format_count(left_out, 'more elite')} in the archive"
        table.caption_justify = "left"
    return table


def _tabulate_failures(data: RunData) -> Table:
    table = _make_table(("status", "l"), ("number", "r"), ("share", "r"), ("most frequent message", "l"))
    for row in view.list_failures(data):
        table.add_row(
            str(row.status), str(row.number), in_words.format_percent(row.share), Text(one_line(row.message, 160))
        )
    return table


def _tabulate_costs(data: RunData) -> Table:
    table = _make_table(("", "l"), ("", "r"))
    table.show_header = False
    for name, value in view.list_costs(data):
        table.add_row(name, value)
    if len(data.spend.by_role) > 1:
        for role, calls in data.spend.by_role.items():
            spent = (
                f"{in_words.format_count(calls.number, 'call')}, {in_words.format_money(calls.cost, calls.unpriced)}"
            )
            table.add_row(Text(f"  as {one_line(role, 30)}"), spent)
    return table


def _make_table(*columns: tuple[str, str]) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="dim", pad_edge=False)
    for name, side in columns:
        table.add_column(name, justify="right" if side == "r" else "left", overflow="fold")
    return table


def _show_heading(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold cyan"))


def _show_left_out(console: Console, number: int, noun: str) -> None:
    if number:
        console.print(Text(f"{in_words.format_count(number, f'more {noun}')} left out", style="dim"))
