"""Show a search on the terminal while it runs, and summarise it at its end."""

import math
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.markup import escape

from oragent._base.budget import Budget, Spent
from oragent._base.direction import Direction
from oragent._base.plain import format_count, one_line
from oragent._base.protocol import Status
from oragent.cli.scene import Best, DisplayedJob, Scene
from oragent.evaluation.pool import RunningJob
from oragent.report.pages.text import format_duration, format_money, measure_gain
from oragent.search.candidate import Candidate
from oragent.search.checks import way_on
from oragent.search.engine import Engine
from oragent.search.events import Progress, SearchResult
from oragent.search.folder import RunFolder

REFRESHES = 4  # a second
STARTING = "starting: the evaluator, and the model if there is one"
LINE_S = 60.0  # between two lines where there is no terminal, unless something better was found


class Display:
    """A live display of a search; where there is no terminal, a line for every new best and for every minute.

    Args:
        console: Console of the command.
        title: Problem and strategy.
        budget: Budget of the search.
        direction: Direction of the problem.
        live: Whether it draws; None: if the console is a terminal that can.
        line_s: Seconds between two lines where it does not.
    """

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
        self._committed = 0  # evaluations of rounds that are over
        self._best: tuple[str, Best, float] | None = None  # id, what is told of it, when
        self._engine: Engine | None = None
        self._final: Spent | None = None  # what was spent when the engine ended
        self._seed = math.nan
        self._ahead: tuple[float, float] | None = None  # score of a best that is not committed, and when it was seen
        drawn = _can_draw(console) if live is None else live
        self._live = Live(console=console, get_renderable=self.make_scene, transient=True, refresh_per_second=REFRESHES)
        self._lines = None if drawn else _LinePrinter(self, line_s)

    def __enter__(self) -> Self:
        if self._lines:
            self._lines.start()
        else:
            self._live.start()
            self._console.show_cursor(True)  # so that a terminal is as it was, however the process ends
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
        evaluations, calls = engine.under_way if engine else ([], [])
        has_ended = engine is None and self._final is not None
        spent = engine.spent if engine else self._final or Spent(seconds=now - self._begun)
        return Scene(
            title=self._title,
            budget=self._budget,
            spent=spent,
            best=self._describe_best(now),
            evaluations=_displayed_jobs(evaluations, now),
            calls=_displayed_jobs(calls, now),
            ends=Counter(self._ends),
            further=0 if has_ended else max(0, spent.evaluations - self._committed),
            cpu_s=self._cpu_s,
            is_ending=engine is not None and engine.is_ending,
            has_ended=has_ended,
            audits=engine.audits if engine else "",
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
        by = f", by {origin_candidate.origin}" if origin_candidate and origin_candidate.origin != "seed" else ""
        self._print(f"{gained}{by}", f"{progress.spent.evaluations:6d}  {best.score:.6g}  ")
        evaluations = format_count(progress.spent.evaluations, "evaluation")
        origin = f"{best.id}{_describe_origin(origin_candidate)}, after {evaluations}"
        self._best = best.id, Best(best.score, gained, origin, 0.0), time.monotonic()

    def _describe_best(self, now: float) -> Best | None:
        if self._best is None:
            return None
        name, best, since = self._best
        leader, audit = (self._engine and self._engine.leader) or (None, "")
        if leader is None or leader.id == name:
            return replace(best, age_s=now - since, remark=audit)
        if not self._direction.better(leader.score, best.score):
            return replace(best, age_s=now - since)
        if self._ahead is None or self._ahead[0] != leader.score:
            self._ahead = leader.score, now
        gained = measure_gain(self._direction, self._seed, leader.score).sentence
        remark = f"not committed, {audit}" if audit else "not committed"
        return Best(leader.score, gained, f"{leader.id}, which goes on", now - self._ahead[1], remark)

    def _print(self, text: str, head: str = "") -> None:
        self._console.print(f"{head}{escape(one_line(text, 2000))}", highlight=False, soft_wrap=True)


class _LinePrinter(threading.Thread):
    """Thread that prints a line at intervals."""

    def __init__(self, display: Display, every_s: float) -> None:
        super().__init__(name="lines of a search", daemon=True)
        self._display, self._every_s, self._over = display, every_s, threading.Event()

    def run(self) -> None:
        while not self._over.wait(self._every_s):
            self._display.print_line()

    def stop(self) -> None:
        """End it, and wait until it has ended."""
        self._over.set()
        self.join()


def print_summary(console: Console, folder: RunFolder, outcome: SearchResult, page: Path) -> None:
    """Print the result of a search and its folder."""
    progress = outcome.progress
    spent = progress.spent
    spending = f"{format_count(spent.evaluations, 'evaluation')} in {format_duration(spent.seconds)}"
    if spent.model_calls:
        spending += f", {format_count(spent.model_calls, 'model call')}, {format_count(spent.tokens, 'token')}"
    if spent.money:  # nothing is said of a model without a known price
        spending += f", {format_money(spent.money)}"
    lines = {
        "seed": f"{progress.seed.score:.6g}",
        "best": f"{progress.best.score:.6g}, {_describe_gain(folder.problem.about.direction, progress)}",
        "spent": spending,
        **({"audited": outcome.audits} if outcome.audits.number else {}),
        "ended": outcome.reason,
        **({"note": outcome.remark} if outcome.remark else {}),
        "program": folder.best,
        "report": page,
        "go on": way_on(folder.path, folder.config.budget, spent, outcome.reason, folder.again),
    }
    for name, text in lines.items():
        console.print(f"[bold]{name:<8}[/] {escape(str(text))}", highlight=False, soft_wrap=True)


def _can_draw(console: Console) -> bool:
    """Return True if a console is a terminal that can be drawn on; a pipe with forced colours is not."""
    return console.is_terminal and not console.is_dumb_terminal and sys.stdout.isatty()


def _displayed_jobs(running: list[RunningJob], now: float) -> tuple[DisplayedJob, ...]:
    return tuple(DisplayedJob(job.what, max(0.0, now - job.since)) for job in running)


def _describe_origin(candidate: Candidate | None) -> str:
    """Describe the origin of a candidate."""
    if candidate is None or candidate.origin == "seed":
        return ""
    parents = " and ".join([parent for parent in candidate.parents if "." in parent][:2])
    return f" by {candidate.origin}{f' of {parents}' if parents else ''}"


def _describe_gain(direction: Direction, progress: Progress) -> str:
    return measure_gain(direction, progress.seed.score, progress.best.score).sentence
