"""Report for a terminal of 80 columns or more, and its content, which pages show too."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from oragent._base.protocol import Status
from oragent._base.terminal import text_table
from oragent._base.text_format import one_line
from oragent.evaluation.hardening import HardenedProgram
from oragent.evaluation.problem import CAN_FORGE
from oragent.report.fresh import Sets
from oragent.report.held_out import BestCheck
from oragent.report.pages import text as in_words
from oragent.report.pages.text import clip_text, diff_texts
from oragent.report.research import Research
from oragent.report.run import RunData
from oragent.search.candidate import Committed, Elite
from oragent.search.leader_race import describe_races

# The best program counts as a rewrite from this share of lines that are not in the seed.
REWRITTEN = 0.8


MAX_ELITES = 10
MAX_LINES = 120
MAX_MEMORY = 20
# Maximum number of characters of texts that are shown in one line.
MAX_COMMAND, MAX_SENTENCE, MAX_MESSAGE, MAX_ORIGIN = 1000, 600, 160, 30
STYLES = {"added": "green", "removed": "red", "gap": "cyan", "same": "default"}


@dataclass(frozen=True)
class FailureRow:
    """Kind of failure."""

    status: Status
    number: int
    # Share of all candidates, in [0, 1].
    share: float
    message: str
    # Number of candidates with this message.
    alike: int
    # Id of the latest of them.
    example: str


@dataclass(frozen=True)
class EliteRow:
    """An elite in a table."""

    id: str
    score: float | None
    # Gain over the seed. Above 0 is better.
    change: str
    # Islands that have it.
    islands: str
    # Features of the candidate, which are its cell of the archive.
    cell: str
    # Number of nodes of its syntax tree.
    size: str
    # Genetic operator or model role that made it.
    origin: str


def is_rewrite(data: RunData) -> bool:
    """Return True if almost no line of the seed heuristic is left in the best program."""
    lines, _ = diff_texts(data.seed.candidate.source, data.best.candidate.source, sys.maxsize)
    new = sum(text.kind == "added" and bool(text.text[1:].strip()) for text in lines)
    line_count = sum(bool(text.strip()) for text in data.best.candidate.source.splitlines())
    return new >= REWRITTEN * line_count


def list_failures(data: RunData) -> tuple[FailureRow, ...]:
    """List the kinds of failures, the most frequent first."""
    return tuple(_make_failure(status, group, data.spend.candidates) for status, group in data.failures.items())


def list_costs(data: RunData) -> tuple[tuple[str, str], ...]:
    """List name and value of each cost of the run."""
    spend, calls = data.spend, data.spend.calls
    probes = [("probes, which are none of them", f"{spend.probes:,}")] if spend.probes else []
    screened = [("of them ended before a full score", f"{spend.screened:,}")] if spend.screened else []
    checks = [("checks", str(data.checks))] if data.checks.number else []
    races = [("new best programs on new instances", describe_races(data.races))] if data.races else []
    number, cpu_s = data.experiments
    sweeps = f"{number:,} runs, {in_words.format_duration(cpu_s)} of CPU time"
    median_s = "–" if spend.wall_median_s is None else in_words.format_duration(spend.wall_median_s)
    rows = [
        ("candidates", f"{spend.candidates:,}"),
        *screened,
        *probes,
        ("evaluations", f"{spend.evaluations:,}"),
        ("time", in_words.format_duration(spend.seconds)),
        ("CPU time of evaluations", in_words.format_duration(spend.cpu_s)),
        *checks,
        *races,
        *([("sweeps and probes on training instances", sweeps)] if number else []),
        ("median time of an evaluation", median_s),
        ("evaluations an hour", "–" if spend.per_hour is None else f"{spend.per_hour:,.0f}"),
        ("model calls", f"{calls.number:,}"),
    ]
    if calls.number:
        rows.append(("tokens in, out", f"{calls.tokens_in:,}, {calls.tokens_out:,}"))
        rows.append(("money", in_words.format_money(calls.cost, calls.unpriced)))
    return tuple(rows)


def describe_trust(data: RunData) -> tuple[str, ...]:
    """List the evidence for the best program's score, in sentences; first that a candidate can forge its score."""
    shown = [verdict.sentence for verdict in data.verdicts]
    more = [*(data.reference.sentences if data.reference else []), *shown, *data.remarks]
    evidence = list_evidence(data.check, data.hardened, data.sets, more, data.about.packages)
    return tuple(sorted(evidence, key=lambda sentence: not sentence.endswith(CAN_FORGE)))


def list_evidence(
    check: BestCheck | None,
    hardened: HardenedProgram | None,
    sets: Sets | None,
    remarks: Sequence[str],
    packages: Mapping[str, str],
) -> tuple[str, ...]:
    """List the sentences of checks and of scores on other sets, the remarks of the run, and required packages."""
    checks = [tested.sentence for tested in (check, hardened) if tested is not None]
    versions = ", ".join(f"{name} {version}" for name, version in packages.items())
    used = [f"all scores with {versions}"] if versions else []
    return (*checks, *(sets.sentences if sets else []), *remarks, *used)


def list_elites(data: RunData, limit: int) -> tuple[tuple[EliteRow, ...], int]:
    """List the elites of all islands, each once, best first, up to a limit. Return also the number of omitted ones."""
    homes: dict[str, list[int]] = {}
    for island, group in enumerate(data.islands):
        for record in group:
            homes.setdefault(record.id, []).append(island)
    ranked = [record for record in data.records if record.id in homes]
    ranked.sort(key=lambda record: -data.gain_of(record.candidate.evaluation.score).amount)
    rows = [_make_elite(data, record, homes[record.id]) for record in ranked[:limit]]
    return tuple(rows), len(ranked) - len(rows)


def _make_failure(status: Status, group: Sequence[Committed], candidates: int) -> FailureRow:
    message, alike = Counter(record.candidate.evaluation.message for record in group).most_common()[0]
    example = next(record.id for record in reversed(group) if record.candidate.evaluation.message == message)
    return FailureRow(status, len(group), len(group) / candidates, message, alike, example)


def _make_elite(data: RunData, record: Committed, islands: Sequence[int]) -> EliteRow:
    candidate, evaluation = record.candidate, record.candidate.evaluation
    share, nodes = data.gain_of(evaluation.score).share, Elite.of(record).length
    return EliteRow(
        id=record.id,
        score=evaluation.score,
        change="–" if share is None else f"{100 * share:+.2f} %",
        islands="all" if len(islands) == len(data.islands) > 1 else ", ".join(map(str, islands)),
        cell="–" if evaluation.features is None else ", ".join(map(str, evaluation.features)),
        size=f"{nodes:,}" if nodes else "–",
        origin=candidate.origin,
    )


def show_run(data: RunData, console: Console) -> None:
    """Print a run: gain, best program and its difference from the seed, archive, failures, cost."""
    _show_headline(data, console)
    _show_best(data, console)
    _show_heading(console, "Archive")
    console.print(_tabulate_islands(data))
    console.print()
    console.print(_tabulate_elites(data))
    if data.research:
        _show_research(data.research, console)
    if data.failures:
        _show_heading(console, "Failures")
        console.print(_tabulate_failures(data))
    if describe_trust(data):
        _show_trust(data, console)
    _show_heading(console, "Time and cost")
    console.print(_tabulate_costs(data))


def _show_headline(data: RunData, console: Console) -> None:
    scores = [in_words.format_score(record.candidate.evaluation.score) for record in (data.seed, data.best)]
    hint = data.about.direction.words
    console.print(Text(one_line(data.about.title), style="bold"))
    console.print(Text.assemble(f"{scores[0]} → ", (scores[1], "bold"), f"  {data.gain.sentence}; {hint}"))
    ended = f"ended: {one_line(data.end)}" if data.end else "not ended: interrupted, or still running"
    console.print(Text(ended, style="dim"))
    # A wrapped command could not be copied.
    console.print(Text(f"to go on: {one_line(data.resume_command, MAX_COMMAND)}", style="dim"), soft_wrap=True)


def _show_best(data: RunData, console: Console) -> None:
    _show_heading(console, f"Best program, {data.best.id} by {one_line(data.best.candidate.origin, MAX_ORIGIN)}")
    source, left_out = clip_text(data.best.candidate.source, MAX_LINES)
    _show_code(console, Syntax("", "python", theme="ansi_dark", background_color="default").highlight(source))
    _show_left_out(console, left_out, "line")
    diff_lines, left_out = diff_texts(data.seed.candidate.source, data.best.candidate.source, MAX_LINES)
    if not diff_lines:
        return
    _show_heading(console, "Against the seed")
    # For a rewrite, the difference would only repeat the program.
    if is_rewrite(data):
        console.print(Text("A rewrite: hardly a line of the seed heuristic is left.", style="dim"))
        return
    for diff_line in diff_lines:
        _show_code(console, Text(diff_line.text, style=STYLES[diff_line.kind]))
    _show_left_out(console, left_out, "line")


def _show_code(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=True, end="" if text.plain.endswith("\n") else "\n")


def _show_research(research: Research, console: Console) -> None:
    _show_heading(console, "Research")
    more = f"; {research.untried} more not tried" if research.untried else ""
    tried = f"{in_words.format_count(research.ideas, 'idea')} tried, {research.better} of them better than their start"
    if research.ideas or more:
        console.print(f"{tried}{more}")
    if research.actions:
        rows = []
        for row in research.actions:
            gain, index = in_words.format_score(row.gain), "" if row.index is None else f"{row.index:.3g}"
            rounds, programs, tokens = str(row.rounds), str(row.programs), f"{row.tokens:,}"
            rows.append((row.action, rounds, programs, tokens, gain, row.gain_per_token, index))
        heads = ("action", "rounds", "programs", "tokens", "gain", "per 1000", "index")
        console.print(text_table(heads, rows, "lrrrrrr"))
        console.print()
    memory, left_out = clip_text(research.memory, MAX_MEMORY)
    if memory:
        console.print(Text(memory, style="dim"))
    _show_left_out(console, left_out, "line")


def _show_trust(data: RunData, console: Console) -> None:
    _show_heading(console, "What the score is worth")
    if data.sets:
        console.print(tabulate_sets(data.sets))
        console.print()
    for sentence in describe_trust(data):
        console.print(Text(one_line(sentence, MAX_SENTENCE)))


def tabulate_sets(sets: Sets) -> Table:
    """Return a table of the scores of seed and best program on other sets than that of the search."""
    rows = ((name, str(seed), str(best)) for name, (seed, best) in sets.scores.items())
    return text_table(("set", "seed", "best"), rows, "lrr")


def _tabulate_islands(data: RunData) -> Table:
    rows = []
    for island, elites in enumerate(data.islands):
        covered = in_words.format_percent(len(elites) / data.about.cell_count) if data.about.cell_count else "–"
        best = (in_words.format_score(elites[0].candidate.evaluation.score), elites[0].id) if elites else ("–", "–")
        rows.append((str(island), str(len(elites)), covered, *best))
    return text_table(("island", "elites", "coverage", "best", "by"), rows, "rrrrl")


def _tabulate_elites(data: RunData) -> Table:
    rows, left_out = list_elites(data, MAX_ELITES)
    cells = (
        (
            row.id,
            in_words.format_score(row.score),
            row.change,
            row.islands,
            row.cell,
            row.size,
            one_line(row.origin, MAX_ORIGIN),
        )
        for row in rows
    )
    heads = ("elite", "score", "vs seed", "islands", "cell", "size", "made by")
    caption = f"{in_words.format_count(left_out, 'more elite')} in the archive" if left_out else None
    return text_table(heads, cells, "lrrllrl", caption=caption)


def _tabulate_failures(data: RunData) -> Table:
    rows = (
        (str(row.status), str(row.number), in_words.format_percent(row.share), one_line(row.message, MAX_MESSAGE))
        for row in list_failures(data)
    )
    return text_table(("status", "number", "share", "most frequent message"), rows, "lrrl")


def _tabulate_costs(data: RunData) -> Table:
    rows = list(list_costs(data))
    if len(data.spend.by_role) > 1:
        for role, calls in data.spend.by_role.items():
            count = in_words.format_count(calls.number, "call")
            money = in_words.format_money(calls.cost, calls.unpriced)
            rows.append((f"  as {one_line(role, MAX_ORIGIN)}", f"{count}, {money}"))
    return text_table(("", ""), rows, "lr")


def _show_heading(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold cyan"))


def _show_left_out(console: Console, number: int, noun: str) -> None:
    if number:
        console.print(Text(f"{in_words.format_count(number, f'more {noun}')} left out", style="dim"))
