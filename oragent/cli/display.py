"""Display of a running search, on a terminal of any width or as single lines, and its summary at the end."""

import math
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from oragent._base.budget import Budget, Spent
from oragent._base.direction import Direction
from oragent._base.protocol import Status
from oragent._base.text_format import escape_text, format_count, one_line
from oragent.evaluation.pool import RunningJob
from oragent.report.pages.text import format_duration, format_money, measure_gain
from oragent.search.candidate import Candidate, Elite
from oragent.search.checks import way_on
from oragent.search.engine import Engine
from oragent.search.events import Progress, SearchResult
from oragent.search.folder import RunFolder
from oragent.search.leader_race import describe_step

# Minimum number of columns at which running jobs are a column of their own.
WIDE = 140
# Maximum number of lines of running jobs.
RUNNING = 6
BOUNDS = {
    "evaluations": "evaluations",
    "model_calls": "model calls",
    "tokens": "tokens",
    "money": "money",
    "work": "work",
    "seconds": "time",
}


# First word of the description of an experiment among the evaluations.
EXPERIMENT = "experiment"
# Number of refreshes per second.
REFRESHES = 4
STARTING = "starting: the evaluator, and the model if there is one"
# Seconds between two lines without a terminal; a new best program is printed at once.
LINE_S = 60.0


@dataclass(frozen=True)
class Best:
    """The best program so far."""

    # Score in the natural units of the problem.
    score: float
    # Gain over the seed, in words.
    gained: str
    # Origin of the program, in words.
    origin: str
    # Seconds since it was found.
    age_s: float
    # Remark that its round is not finished. Empty for a committed program.
    remark: str = ""


@dataclass(frozen=True)
class DisplayedJob:
    """Running job: its description and its duration in seconds."""

    what: str
    seconds: float


@dataclass(frozen=True)
class Scene:
    """State of a search at one moment."""

    # Problem and strategy.
    title: str
    budget: Budget
    # Budget spent so far.
    spent: Spent = field(default_factory=Spent)
    # Best program. None before the seed has a score.
    best: Best | None = None
    # Running evaluations, the oldest first.
    evaluations: Sequence[DisplayedJob] = ()
    # Running model calls, the oldest first.
    calls: Sequence[DisplayedJob] = ()
    # Running sweeps, each with its setting and CPU seconds.
    sweeps: Sequence[DisplayedJob] = ()
    # Pause by the user. None without one.
    pause: DisplayedJob | None = None
    # Candidates of finished rounds by status.
    ends: Counter[Status] = field(default_factory=Counter)
    # Number of finished evaluations in unfinished rounds.
    further: int = 0
    # CPU seconds of finished evaluations.
    cpu_s: float = 0.0
    # True if no new job begins any more.
    is_ending: bool = False
    # True if the search is over.
    has_ended: bool = False
    # CPU seconds of sweeps and probes on training instances.
    experiment_s: float = 0.0
    # Current step before the first evaluation. Empty once the search runs.
    stage: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the scene in the width of the console."""
        facts = _make_rows(
            ("best", self._render_best()),
            ("tried", Text(self.tried_text)),
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
        """Describe the scene on one line."""
        under_way = [*self.evaluations, *self.calls, *self.sweeps]
        longest = f", the longest for {format_clock(max(work.seconds for work in under_way))}" if under_way else ""
        remark = f" ({self.best.remark})" if self.best and self.best.remark else ""
        best = f"best {self.best.score:.6g}{remark}, " if self.best else ""
        running = f"{self._describe_running()}{longest}"
        return f"{format_clock(self.spent.seconds)}: {best}{self.tried_text}; {running}; {self.remaining_text}"

    @property
    def tried_text(self) -> str:
        """Return the number of candidates so far, with the failures by status."""
        failures = [(status, number) for status, number in self.ends.most_common() if status.failed]
        number, failed = sum(self.ends.values()), sum(number for _, number in failures)
        kinds = f" ({', '.join(f'{number} {status}' for status, number in failures)})" if failures else ""
        screened = f", {self.ends[Status.SCREENED]} screened" if self.ends[Status.SCREENED] else ""
        further = f", {self.further} more in unfinished rounds" if self.further else ""
        return f"{format_count(number, 'candidate')}, {failed or 'none'} failed{kinds}{screened}{further}"

    @property
    def spent_text(self) -> str:
        """Return the spent budget with its limits."""
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
        if budget.work:
            parts.append(f"{spent.work:,.6g} of {budget.work:,.6g} units of work")
        return ", ".join(parts)

    @property
    def remaining_text(self) -> str:
        """Return the time until the next limit of the budget is reached, and the name of the limit."""
        if self.has_ended:
            return "ended"
        if self.is_ending:
            return "ending"
        if self.pause:
            return "'oragent steer RUN continue' goes on"
        bound = self.budget.next_bound(self.spent)
        if bound is None:
            bounded = any(getattr(self.budget, name) for name in BOUNDS)
            if bounded:
                return "no telling yet how long"
            return "no bound: until Ctrl-C"
        name, seconds = bound
        if seconds:
            return f"{'' if name == 'seconds' else 'about '}{format_clock(seconds)} left, by {BOUNDS[name]}"
        return f"its {BOUNDS[name]} used up, up to {format_clock(self.budget.grace_s)} for what is under way"

    def _render_best(self) -> Text:
        if self.best is None:
            return Text("not yet: the seed heuristic is being scored" if self.evaluations else "not yet")
        best = self.best
        remark = f" ({best.remark})" if best.remark else ""
        head = Text.assemble((f"{best.score:.6g}", "bold green"), f"{remark}  {best.gained}\n")
        return head + Text(f"{one_line(best.origin, 120)}, {format_clock(best.age_s)} ago", style="dim")

    def _render_head(self, width: int) -> Table:
        """Render title, progress bar and remaining budget on one line."""
        remaining = Text(self.remaining_text, no_wrap=True)
        title = Text(one_line(self.title, max(12, width - remaining.cell_len - 16)), style="bold", no_wrap=True)
        grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
        grid.add_column(no_wrap=True)
        grid.add_column(ratio=1)
        grid.add_column(no_wrap=True, justify="right")
        grid.add_row(title, ProgressBar(total=1.0, completed=self._spent_share()), remaining)
        return grid

    def _spent_share(self) -> float:
        bounds = {name: getattr(self.budget, name) for name in BOUNDS}
        return min(1.0, max((getattr(self.spent, name) / bound for name, bound in bounds.items() if bound), default=0))

    def _describe_running(self) -> str:
        experiments = sum(job.what.startswith(EXPERIMENT) for job in self.evaluations)
        evaluations = len(self.evaluations) - experiments
        parts = [self.pause.what] if self.pause else []
        parts += [job.what for job in self.sweeps]
        if experiments and not self.sweeps:
            parts.append(format_count(experiments, "experiment"))
        parts += [format_count(evaluations, "evaluation")] if evaluations else []
        parts += [format_count(len(self.calls), "model call")] if self.calls else []
        return " and ".join(parts) or self.stage or "nothing under way"

    def _render_running(self) -> Text:
        every = [*self.evaluations, *(DisplayedJob(f"asks {call.what}", call.seconds) for call in self.calls)]
        every.sort(key=lambda work: -work.seconds)
        text = Text(self._describe_running(), no_wrap=True, overflow="ellipsis")
        for work in every[:RUNNING]:
            text.append(f"\n{format_clock(work.seconds):>9}  ", style="cyan").append(one_line(work.what, 120))
        if len(every) > RUNNING:
            text.append(f"\n{'':>9}  and {len(every) - RUNNING} more", style="dim")
        return text


def format_clock(seconds: float) -> str:
    """Format a duration in whole seconds, minutes or hours, for a display that changes every second."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def _format_of(used: int, bound: int | None, noun: str) -> str:
    if bound is None:
        return format_count(used, noun)
    return f"{used:,} of {format_count(bound, noun)}"


def _make_rows(*rows: tuple[str, Text]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(style="dim", width=5, no_wrap=True)
    table.add_column(ratio=1)
    for name, text in rows:
        table.add_row(name, text)
    return table


class Display:
    """Live display of a search. Without a terminal, it prints a line for every new best program and every minute."""

    def __init__(
        self,
        console: Console,
        title: str,
        budget: Budget,
        direction: Direction,
        live: bool | None = None,
        line_s: float = LINE_S,
    ) -> None:
        self._console, self._title, self._budget, self._direction = console, title, budget, direction
        self._begun = time.monotonic()
        self._ends: Counter[Status] = Counter()
        self._cpu_s = 0.0
        # Number of evaluations in finished rounds.
        self._committed = 0
        # Id, description and time of the best committed program.
        self._best: tuple[str, Best, float] | None = None
        self._engine: Engine | None = None
        # Best elite of the committed rounds.
        self._leader: Elite | None = None
        # Budget spent when the engine ended.
        self._final: Spent | None = None
        self._seed = math.nan
        # Score of a better program that is not committed yet, and the time when it was found.
        self._ahead: tuple[float, float] | None = None
        # A pipe with forced colours cannot show a live display.
        if live is None:
            live = console.is_terminal and not console.is_dumb_terminal and sys.stdout.isatty()
        self._live = Live(console=console, get_renderable=self.make_scene, transient=True, refresh_per_second=REFRESHES)
        self._lines = None if live else _LinePrinter(self, line_s)

    def __enter__(self) -> Self:
        if self._lines:
            self._lines.start()
        else:
            self._live.start()
            # The cursor must be visible again, however the process ends.
            self._console.show_cursor(True)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._lines:
            self._lines.stop()
        else:
            self._live.stop()

    @contextmanager
    def watch_engine(self, engine: Engine) -> Iterator[None]:
        """Show the state of the engine while it runs."""
        self._engine = engine
        try:
            yield
        finally:
            self._final, self._engine = engine.spent, None

    def show_note(self, text: str) -> None:
        """Show a line above the display."""
        self._print(f"note: {text}")

    def print_line(self) -> None:
        """Print the state of the search on one line."""
        self._print(str(self.make_scene()))

    def make_scene(self) -> Scene:
        """Return the present state of the search."""
        now, engine = time.monotonic(), self._engine
        if engine:
            evaluations, calls = engine.under_way
        else:
            evaluations, calls = ([], [])
        has_ended = engine is None and self._final is not None
        spent = engine.spent if engine else self._final or Spent(seconds=now - self._begun)
        return Scene(
            title=self._title,
            budget=self._budget,
            spent=spent,
            best=self._describe_best(now),
            evaluations=_displayed_jobs(evaluations, now),
            calls=_displayed_jobs(calls, now),
            sweeps=_displayed_jobs(engine.sweeps if engine else [], now),
            pause=next(iter(_displayed_jobs([engine.pause] if engine and engine.pause else [], now)), None),
            ends=Counter(self._ends),
            further=0 if has_ended else max(0, spent.evaluations - self._committed),
            cpu_s=self._cpu_s,
            is_ending=engine is not None and engine.is_ending,
            has_ended=has_ended,
            experiment_s=engine.experiment_s if engine else 0.0,
            stage="" if engine or has_ended or self._best else STARTING,
        )

    def __call__(self, progress: Progress) -> None:
        """Record a committed round."""
        self._committed = progress.spent.evaluations
        self._ends.update(candidate.evaluation.status for candidate in progress.candidates)
        self._cpu_s += sum(candidate.evaluation.cpu_s for candidate in progress.candidates)
        best, self._seed = progress.best, progress.seed.score
        if self._best and best.id == self._best[0]:
            return
        origin_candidate = next((new for new in progress.candidates if new.source == best.source), None)
        gained = "the seed" if best.id == progress.seed.id else _describe_gain(self._direction, progress)
        if self._leader is not None:
            gained += self._describe_step(self._leader, progress)
        self._leader = best
        by = f", by {origin_candidate.origin}" if origin_candidate and origin_candidate.origin != "seed" else ""
        self._print(f"{gained}{by}", f"{progress.spent.evaluations:6d}  {best.score:.6g}  ")
        evaluations = format_count(progress.spent.evaluations, "evaluation")
        origin = f"{best.id}{_describe_origin(origin_candidate)}, after {evaluations}"
        self._best = best.id, Best(best.score, gained, origin, 0.0), time.monotonic()

    def _describe_step(self, former: Elite, progress: Progress) -> str:
        """Describe whether the step from the former leader is more than the noise of the instances."""
        if progress.shown_on:
            return f", shown on {format_count(progress.shown_on, 'new instance')}"
        step = describe_step(self._direction, former.metrics, progress.best.metrics, progress.spent.evaluations)
        return f", {step}" if step else ""

    def _describe_best(self, now: float) -> Best | None:
        if self._best is None:
            return None
        name, best, since = self._best
        leader = self._engine.leader if self._engine else None
        if leader is None or leader.id == name or not self._direction.better(leader.score, best.score):
            return replace(best, age_s=now - since)
        if self._ahead is None or self._ahead[0] != leader.score:
            self._ahead = leader.score, now
        gained = measure_gain(self._direction, self._seed, leader.score).sentence
        return Best(leader.score, gained, f"{leader.id}, its round is unfinished", now - self._ahead[1], "provisional")

    def _print(self, text: str, head: str = "") -> None:
        self._console.print(f"{head}{escape(one_line(text, 2000))}", highlight=False, soft_wrap=True)


class _LinePrinter(threading.Thread):
    def __init__(self, display: Display, every_s: float) -> None:
        super().__init__(name="lines of a search", daemon=True)
        self._display, self._every_s, self._over = display, every_s, threading.Event()

    def run(self) -> None:
        while not self._over.wait(self._every_s):
            self._display.print_line()

    def stop(self) -> None:
        self._over.set()
        self.join()


def print_summary(
    console: Console, folder: RunFolder, outcome: SearchResult, page: Path, verdicts: Sequence[str] = ()
) -> None:
    """Print the result of a search, its verdicts on new instances, and its folder."""
    progress = outcome.progress
    spent = progress.spent
    spending = f"{format_count(spent.evaluations, 'evaluation')} in {format_duration(spent.seconds)}"
    if spent.model_calls:
        spending += f", {format_count(spent.model_calls, 'model call')}, {format_count(spent.tokens, 'token')}"
    # Without a known price, no cost is printed.
    if spent.money:
        spending += f", {format_money(spent.money)}"
    lines = {
        "seed": f"{progress.seed.score:.6g}",
        "best": f"{progress.best.score:.6g}, {_describe_gain(folder.problem.about.direction, progress)}",
        "spent": spending,
        **({"checked": outcome.checks} if outcome.checks.number else {}),
        "ended": outcome.reason,
        **({"note": outcome.remark} if outcome.remark else {}),
        "program": folder.best,
        "report": page,
        "go on": way_on(folder.path, folder.config.budget, spent, outcome.reason, folder.again),
    }
    for name, text in lines.items():
        console.print(f"[bold]{name:<8}[/] {escape(str(text))}", highlight=False, soft_wrap=True)
        for sentence in verdicts if name == "best" else ():
            console.print(f"[bold]verdict [/] {escape(escape_text(sentence))}", highlight=False, soft_wrap=True)


def _displayed_jobs(running: list[RunningJob], now: float) -> tuple[DisplayedJob, ...]:
    return tuple(DisplayedJob(job.what, max(0.0, now - job.since)) for job in running)


def _describe_origin(candidate: Candidate | None) -> str:
    if candidate is None or candidate.origin == "seed":
        return ""
    parents = " and ".join([parent for parent in candidate.parents if "." in parent][:2])
    return f" by {candidate.origin}{f' of {parents}' if parents else ''}"


def _describe_gain(direction: Direction, progress: Progress) -> str:
    return measure_gain(direction, progress.seed.score, progress.best.score).sentence
