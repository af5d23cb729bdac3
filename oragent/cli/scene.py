"""Render the state of a search: on a terminal of any width, or as one line."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from oragent._base.budget import Budget, Spent
from oragent._base.plain import format_count, one_line
from oragent._base.protocol import Status
from oragent.report.pages.text import format_duration, format_money

WIDE = 140  # columns from which what runs stands beside the rest
RUNNING = 6  # lines of what runs
BOUNDS = {
    "evaluations": "evaluations",
    "model_calls": "model calls",
    "tokens": "tokens",
    "money": "money",
    "seconds": "time",
}


@dataclass(frozen=True)
class Best:
    """The best program so far."""

    score: float  # score in the problem's natural units
    gained: str  # what it gained on the seed, in words
    origin: str  # where it came from, in words
    age_s: float  # seconds since it was found
    remark: str = ""  # whether its round goes on, and how far its audit is; empty for a committed, audited program


@dataclass(frozen=True)
class DisplayedJob:
    """Something under way: what it is, and for how many seconds."""

    what: str
    seconds: float


@dataclass(frozen=True)
class Scene:
    """A search at one moment.

    Attributes:
        title: Problem and strategy.
        budget: Budget of the search.
        spent: Spending until now.
        best: Best program; None before the seed has a score.
        evaluations: Evaluations under way, the oldest first.
        calls: Model calls under way, likewise.
        ends: Number of candidates by how their evaluation ended, of rounds that are over.
        further: Evaluations that have ended in rounds which go on.
        cpu_s: CPU seconds of evaluations that have ended.
        is_ending: Whether nothing new begins any more.
        has_ended: Whether the search is over.
        audits: Number of audits of leading programs, in words; empty without any.
        experiment_s: CPU seconds of sweeps and probes on training instances.
        stage: What is done before anything is evaluated; empty once the search runs.
    """

    title: str
    budget: Budget
    spent: Spent = field(default_factory=Spent)
    best: Best | None = None
    evaluations: Sequence[DisplayedJob] = ()
    calls: Sequence[DisplayedJob] = ()
    ends: Counter[Status] = field(default_factory=Counter)
    further: int = 0
    cpu_s: float = 0.0
    is_ending: bool = False
    has_ended: bool = False
    audits: str = ""
    experiment_s: float = 0.0
    stage: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it, as wide as there is room."""
        facts = _make_rows(
            ("best", self._render_best()),
            ("tried", Text(self.tried_text)),
            *([("audit", Text(self.audits))] if self.audits else []),
            ("spent", Text(self.spent_text)),
        )
        running = _make_rows(("now", self._render_running()))
        if options.max_width < WIDE:
            yield Group(self._render_head(options.max_width), facts, running)
            return
        beside = Table.grid(padding=(0, 4, 0, 0), expand=True)
        beside.add_column(ratio=1)
        beside.add_column(ratio=1)
        beside.add_row(facts, running)
        yield Group(self._render_head(options.max_width), beside)

    def __str__(self) -> str:
        """All of it on one line."""
        under_way = [*self.evaluations, *self.calls]
        longest = f", the longest for {format_clock(max(work.seconds for work in under_way))}" if under_way else ""
        remark = f" ({self.best.remark})" if self.best and self.best.remark else ""
        best = f"best {self.best.score:.6g}{remark}, " if self.best else ""
        running = f"{self._describe_running()}{longest}"
        audits = f"; {self.audits}" if self.audits else ""
        return f"{format_clock(self.spent.seconds)}: {best}{self.tried_text}{audits}; {running}; {self.remaining_text}"

    @property
    def tried_text(self) -> str:
        """Number of candidates so far, with the failures by status."""
        failures = [(status, number) for status, number in self.ends.most_common() if status.failed]
        number, failed = sum(self.ends.values()), sum(number for _, number in failures)
        kinds = f" ({', '.join(f'{number} {status}' for status, number in failures)})" if failures else ""
        screened = f", {self.ends[Status.SCREENED]} screened" if self.ends[Status.SCREENED] else ""
        further = f", {self.further} more in rounds that go on" if self.further else ""
        return f"{format_count(number, 'candidate')}, {failed or 'none'} failed{kinds}{screened}{further}"

    @property
    def spent_text(self) -> str:
        """Spending, with its bounds."""
        spent, budget = self.spent, self.budget
        parts = [_format_of(spent.evaluations, budget.evaluations, "evaluation")]
        parts.append(f"{format_clock(spent.seconds)}{f' of {format_clock(budget.seconds)}' if budget.seconds else ''}")
        if self.cpu_s:
            parts.append(f"{format_clock(self.cpu_s) if self.cpu_s >= 1 else format_duration(self.cpu_s)} of CPU time")
        if self.experiment_s:
            parts.append(f"{format_clock(self.experiment_s)} of sweeps")
        if spent.model_calls or budget.model_calls:
            parts.append(_format_of(spent.model_calls, budget.model_calls, "model call"))
        if spent.tokens or budget.tokens:
            parts.append(_format_of(spent.tokens, budget.tokens, "token"))
        if spent.money or budget.money:
            parts.append(f"{format_money(spent.money)}{f' of {format_money(budget.money)}' if budget.money else ''}")
        return ", ".join(parts)

    @property
    def remaining_text(self) -> str:
        """Time until the next bound is reached, and its name."""
        if self.has_ended:
            return "ended"
        if self.is_ending:
            return "ending"
        bound = self.budget.next_bound(self.spent)
        if bound is None:
            bounded = any(getattr(self.budget, name) for name in BOUNDS)
            return "no telling yet how long" if bounded else "no bound: until Ctrl-C"
        name, seconds = bound
        if seconds:
            return f"{'' if name == 'seconds' else 'about '}{format_clock(seconds)} left, by {BOUNDS[name]}"
        return f"its {BOUNDS[name]} used up, up to {format_clock(self.budget.grace_s)} for what is under way"

    def _render_best(self) -> Text:
        if self.best is None:
            is_audit = any(job.what.startswith("auditing ") for job in self.evaluations)
            state = "has a score, and its audit is under way" if is_audit else "is being scored"
            return Text(f"not yet: the seed heuristic {state}" if self.evaluations else "not yet")
        best = self.best
        remark = f" ({best.remark})" if best.remark else ""
        head = Text.assemble((f"{best.score:.6g}", "bold green"), f"{remark}  {best.gained}\n")
        return head + Text(f"{one_line(best.origin, 120)}, {format_clock(best.age_s)} ago", style="dim")

    def _render_head(self, width: int) -> Table:
        """Title, bar and what is left, on one line."""
        remaining = Text(self.remaining_text, no_wrap=True)
        title = Text(one_line(self.title, max(12, width - remaining.cell_len - 16)), style="bold", no_wrap=True)
        grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
        grid.add_column(no_wrap=True)
        grid.add_column(ratio=1)
        grid.add_column(no_wrap=True, justify="right")
        grid.add_row(title, ProgressBar(total=1.0, completed=self._spent_share()), remaining)
        return grid

    def _spent_share(self) -> float:
        """Share of the budget that is used, of the bound that is nearest to its end."""
        bounds = {name: getattr(self.budget, name) for name in BOUNDS}
        return min(1.0, max((getattr(self.spent, name) / bound for name, bound in bounds.items() if bound), default=0))

    def _describe_running(self) -> str:
        parts = [format_count(len(self.evaluations), "evaluation")] if self.evaluations else []
        parts += [format_count(len(self.calls), "model call")] if self.calls else []
        return " and ".join(parts) or self.stage or "nothing under way"

    def _render_running(self) -> Text:
        """What is under way, the oldest first, each with its age."""
        every = [*self.evaluations, *(DisplayedJob(f"asks {call.what}", call.seconds) for call in self.calls)]
        every.sort(key=lambda work: -work.seconds)
        text = Text(self._describe_running(), no_wrap=True, overflow="ellipsis")
        for work in every[:RUNNING]:
            text.append(f"\n{format_clock(work.seconds):>9}  ", style="cyan").append(one_line(work.what, 120))
        if len(every) > RUNNING:
            text.append(f"\n{'':>9}  and {len(every) - RUNNING} more", style="dim")
        return text


def format_clock(seconds: float) -> str:
    """Format a duration in whole seconds, minutes or hours, for values that change every second."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def _format_of(used: int, bound: int | None, noun: str) -> str:
    return format_count(used, noun) if bound is None else f"{used:,} of {format_count(bound, noun)}"


def _make_rows(*rows: tuple[str, Text]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(style="dim", width=5, no_wrap=True)
    table.add_column(ratio=1)
    for name, text in rows:
        table.add_row(name, text)
    return table
