"""The report for a terminal of 80 columns or more."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from oragent.report import view
from oragent.report.pages import format as in_words
from oragent.report.pages.text import clip, one_line
from oragent.report.research import Research
from oragent.report.run import RunData

MAX_ELITES = 10
MAX_LINES = 120
MAX_MEMORY = 20
STYLES = {"added": "green", "removed": "red", "gap": "cyan", "same": "default"}


def show(data: RunData, console: Console) -> None:
    """Print a run: what it gained, the best program and its difference to the seed, archive, failures, cost.

    Args:
        data: Findings of the run.
        console: Console to print on.
    """
    _headline(data, console)
    _best(data, console)
    _heading(console, "Archive")
    console.print(_islands(data))
    console.print(_elites(data))
    if data.research:
        _research(data.research, console)
    if data.failures:
        _heading(console, "Failures")
        console.print(_failures(data))
    if data.sets or view.trust(data):
        _trust(data, console)
    _heading(console, "Time and cost")
    console.print(_costs(data))


def _headline(data: RunData, console: Console) -> None:
    scores = [in_words.score(record.candidate.evaluation.score) for record in (data.seed, data.best)]
    hint = data.about.direction.words
    console.print(Text(one_line(data.about.title), style="bold"))
    console.print(Text.assemble(f"{scores[0]} → ", (scores[1], "bold"), f"  {data.gain.sentence}; {hint}"))
    ended = f"ended: {one_line(data.end)}" if data.end else "not ended: interrupted, or still running"
    console.print(Text(f"{ended}\nto go on: {one_line(data.resume, 1000)}", style="dim"))


def _best(data: RunData, console: Console) -> None:
    _heading(console, f"Best program, {data.best.id} by {one_line(data.best.candidate.origin, 40)}")
    source, left_out = clip(data.best.candidate.source, MAX_LINES)
    _code(console, Syntax("", "python", theme="ansi_dark", background_color="default").highlight(source))
    _left_out(console, left_out, "line")
    compared = view.against_seed(data, MAX_LINES)
    if not compared.lines:
        return
    _heading(console, "Against the seed")
    if view.is_rewrite(data):  # the program again, with a plus before each line
        console.print(Text("A rewrite: hardly a line of the seed heuristic is left.", style="dim"))
        return
    for line in compared.lines:
        _code(console, Text(line.text, style=STYLES[line.kind]))
    _left_out(console, compared.left_out, "line")


def _code(console: Console, text: Text) -> None:
    """Print lines of a program as they are: what is wrapped or cut is no program any more."""
    console.print(text, soft_wrap=True, end="" if text.plain.endswith("\n") else "\n")


def _research(research: Research, console: Console) -> None:
    _heading(console, "Research")
    more = f"; {research.untried} more not tried" if research.untried else ""
    tried = f"{in_words.count(research.ideas, 'idea')} tried, {research.better} of them better than their start"
    console.print(f"{tried}{more}")
    memory, left_out = clip(research.memory, MAX_MEMORY)
    if memory:
        console.print(Text(memory, style="dim"))
    _left_out(console, left_out, "line")


def _trust(data: RunData, console: Console) -> None:
    _heading(console, "What the score is worth")
    if data.sets:
        table = _table(("set", "l"), ("seed", "r"), ("best", "r"))
        for name, (seed, best) in data.sets.scores.items():
            table.add_row(name, str(seed), str(best))
        console.print(table)
    for sentence in view.trust(data):
        console.print(Text(one_line(sentence, 600)))


def _islands(data: RunData) -> Table:
    table = _table(("island", "r"), ("elites", "r"), ("coverage", "r"), ("best", "r"), ("by", "l"))
    for island, elites in enumerate(data.islands):
        covered = in_words.percent(len(elites) / data.about.cells) if data.about.cells else "–"
        best = (in_words.score(elites[0].candidate.evaluation.score), elites[0].id) if elites else ("–", "–")
        table.add_row(str(island), str(len(elites)), covered, *best)
    return table


def _elites(data: RunData) -> Table:
    rows, left_out = view.elites(data, MAX_ELITES)
    heads = [("elite", "l"), ("score", "r"), ("vs seed", "r"), ("islands", "l"), ("cell", "l"), ("size", "r")]
    table = _table(*heads, ("made by", "l"))
    for row in rows:
        figures = (in_words.score(row.score), row.change, row.islands, row.cell, row.size)
        table.add_row(row.id, *figures, Text(one_line(row.origin, 30)))
    if left_out:
        table.caption = f"{in_words.count(left_out, 'more elite')} in the archive"
        table.caption_justify = "left"
    return table


def _failures(data: RunData) -> Table:
    table = _table(("status", "l"), ("number", "r"), ("share", "r"), ("most frequent message", "l"))
    for row in view.failures(data):
        table.add_row(str(row.status), str(row.number), in_words.percent(row.share), Text(one_line(row.message, 160)))
    return table


def _costs(data: RunData) -> Table:
    table = _table(("", "l"), ("", "r"))
    table.show_header = False
    for name, value in view.costs(data):
        table.add_row(name, value)
    if len(data.spend.by_role) > 1:
        for role, calls in data.spend.by_role.items():
            spent = f"{in_words.count(calls.number, 'call')}, {in_words.money(calls.cost, calls.unpriced)}"
            table.add_row(Text(f"  as {one_line(role, 30)}"), spent)
    return table


def _table(*columns: tuple[str, str]) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="dim", pad_edge=False)
    for name, side in columns:
        table.add_column(name, justify="right" if side == "r" else "left", overflow="fold")
    return table


def _heading(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold cyan"))


def _left_out(console: Console, number: int, noun: str) -> None:
    if number:
        console.print(Text(f"{in_words.count(number, f'more {noun}')} left out", style="dim"))
