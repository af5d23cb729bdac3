"""Engine of a search: it runs several rounds at once, commits them in order, and ends the run.

``window`` rounds run at once. Round k starts from the state after round k - window, whatever the number of parallel
evaluations. The same seed and replies therefore give the same archive with any number of workers, and a killed run
resumes with the same results. If the best program of a round would become the best of the run, it is checked before the
commit, and rejected if it is not a function of its arguments.
"""

import asyncio
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from oragent._base.budget import Spent
from oragent._base.errors import BudgetExhausted, ModelError, OragentError, ProblemError, SearchFinished
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.capabilities import read_work
from oragent.evaluation.devices import AUTO, CPU
from oragent.evaluation.pool import EvaluationPool, RunningJob
from oragent.ledger import Interrupted, ReplayModel
from oragent.llm.model import Model, RoundLearner
from oragent.search.archive import AddStatus, Archive, success_rate
from oragent.search.best_program import BestProgram
from oragent.search.caching import Cache
from oragent.search.candidate import Candidate, Elite
from oragent.search.events import EventKind, Observer, OnEvent, Progress, RunEvent, SearchResult, ignore_event
from oragent.search.folder import RunFolder
from oragent.search.journal import Journal
from oragent.search.leader_check import LeaderCheck
from oragent.search.leader_race import LeaderRace, list_races
from oragent.search.practice_check import PRACTICE_NOTE, find_disagreement
from oragent.search.round_commit import RoundCommit
from oragent.search.round_context import RoundContext
from oragent.search.round_experiments import EXPERIMENT_S
from oragent.search.run_archive import RunArchive
from oragent.search.run_budget import RunBudget, bound_evaluations
from oragent.search.run_context import RunContext
from oragent.search.run_end import RunEnd
from oragent.search.running_work import show_running
from oragent.search.scoring import Scoring
from oragent.search.store import COMPLETE, RoundNote, Store
from oragent.search.strategies.tuning import is_worth, tuning_period, with_tuning
from oragent.search.strategy import Round, Strategy
from oragent.search.user_commands import FOLDER, ORIGIN, STOPPED, ActLog, PersonModel, change_budget

# Cache of evaluations, relative to the root of the project.
CACHE = Path("outputs") / "cache.db"
# Reason of an end at which some time is left.
NO_TIME = "the time that is left is shorter than any round with a model call took"
# Seconds between checks whether a paused run continues.
PAUSED_S = 0.2
T = TypeVar("T")


class Engine:
    """Runs a strategy on a problem until a budget ends it.

    A run is resumed if its database has rounds. If ``strategy`` is a coroutine function, it is a round that reads every
    earlier candidate. ``offers`` are options of the evaluator beyond the contract. ``tell`` receives each message for
    the user once per run. ``since`` is the value of ``time.monotonic`` at the start of this session; None means now.
    """

    def __init__(
        self,
        folder: RunFolder,
        store: Store,
        pool: EvaluationPool,
        strategy: Strategy | Round,
        model: Model | None = None,
        observer: Observer = lambda progress: None,
        cast: Mapping[str, Model] | None = None,
        offers: frozenset[str] = frozenset(),
        tell: Callable[[str], None] = lambda message: None,
        since: float | None = None,
        on_event: OnEvent = ignore_event,
    ) -> None:
        config, about = folder.config, folder.problem.about
        if not isinstance(strategy, Strategy):
            strategy = Strategy(name="own", round=strategy, remembers=True)
        self._folder, self._store, self._strategy, self._observer = folder, store, strategy, observer
        self._pool, self._tell_user = pool, tell
        self._settings = strategy.settled(config.strategy, live=not config.is_scripted)
        self._window = self._settings.window or strategy.window
        self._run_archive = RunArchive(config, about, store)
        self._budget = RunBudget(config.budget, store.elapsed_s(), since)
        self._recorded = store.rounds()
        if 0 in self._recorded:
            self._amend_checks()
        # The cache is off with a time limit, because cache hits would let a run get further. It is off on GPUs, because
        # GPUs of the same name can round differently.
        shared = config.cache and config.budget.seconds is None and config.device in (AUTO, CPU)
        self._cache = Cache(folder.root / CACHE, folder.problem, folder.root) if shared else None
        problem, clock, tell_once = folder.problem, self._budget.elapsed_s, self._tell_once
        scoring = Scoring(problem, folder.root, config, store, pool, clock, offers, tell_once, self._cache)
        settings = replace(config, strategy=self._settings)
        self._context = RunContext(problem, settings, strategy.own(config), store, scoring, model, clock, cast or {})
        self._context.resets = set(self._run_archive.resets)
        self._context.journal = Journal(store) if self._settings.live else None
        self._context.packages = store.packages(folder.problem.about.requires)
        self._context.noticed = self._notice_candidate
        self._context.emit = self._emit
        self._on_event = on_event
        self._acts = ActLog(folder.path, store, self._budget.bounds)
        self._pause: RunningJob | None = None
        self._context.hints = self._acts.hints
        if not isinstance(model, ReplayModel):
            self._context.replace_model = self._replace_model
        self._learner: RoundLearner | None = model if isinstance(model, RoundLearner) else None
        share = self._settings.tuning or 0.0
        self._free = tuning_period(self._window) if is_worth(share, self._budget.bounds) else 0
        self._play = with_tuning(strategy.round, share, self._free) if self._free else strategy.round
        self._notes: list[RoundNote] = []
        self._best = BestProgram(folder, store, self._run_archive, self._notes)
        measures = not strategy.asks_model and bool(config.strategy.disagreement)
        self._leader_check = LeaderCheck(self._context, self._run_archive, self._best, measures=measures)
        remembers = strategy.remembers or self._settings.history or self._learner is not None
        self._commits = RoundCommit(
            folder,
            store,
            self._context,
            self._run_archive,
            self._budget,
            self._best,
            self._recorded,
            remembers=remembers,
        )
        by_round = groupby(store.notes(), key=lambda note: note.round)
        self._recorded_notes = {number: [*notes] for number, notes in by_round}
        self._horizon = -1
        self._run_end = RunEnd(self._settings.patience)
        self._aborted = asyncio.Event()

    @property
    def _archive(self) -> Archive:
        return self._run_archive.archive

    @property
    def leader(self) -> Elite | None:
        """Best scored program, committed or not; other threads may read it."""
        return self._best.elite

    @property
    def under_way(self) -> tuple[list[RunningJob], list[RunningJob]]:
        """Return the running evaluations and model calls; other threads may call this."""
        return self._pool.running, list(self._context.asking.values())

    @property
    def sweeps(self) -> list[RunningJob]:
        """Return the running sweeps, each with its setting and CPU seconds; other threads may call this."""
        return list(self._context.sweeping.values())

    @property
    def pause(self) -> RunningJob | None:
        """Return the pause of a run that waits for its user, or ends its running rounds before; None without one."""
        return self._pause

    @property
    def experiment_s(self) -> float:
        """CPU seconds of sweeps and probes on training instances in committed rounds."""
        return sum(float(note.text) for note in [*self._notes] if note.kind == EXPERIMENT_S)

    @property
    def spent(self) -> Spent:
        """Return the spending so far, including unfinished rounds; other threads may call this."""
        paid = self._budget.spent.add_all(list(self._context.paid.values()))
        return replace(paid, seconds=self._budget.elapsed_s())

    @property
    def is_ending(self) -> bool:
        """True if the run starts nothing new."""
        return self._run_end.has_come

    def stop(self, reason: str = "stopped on request") -> None:
        """Start nothing new; running evaluations finish and are stored."""
        self._context.stopped = True
        self._run_end.stop(reason)

    def abort(self) -> None:
        """End at once. Running evaluations and calls are cancelled; finished ones are stored."""
        self.stop()
        self._aborted.set()

    async def run(self) -> SearchResult:
        """Search until the end.

        Raises:
            ProblemError: The seed heuristic fails; the message contains its error.
            Interrupted: The run is stopped before the seed has a score.
            StoreError: The run's folder cannot be written.
        """
        # The run has no end yet, or is resumed.
        self._store.note("end", "")
        self._store.note(COMPLETE, str(False))
        about = {"folder": str(self._folder.path), "problem": self._folder.problem.name, "rounds": len(self._recorded)}
        self._emit(EventKind.BEGUN, -1, about)
        showing = asyncio.create_task(show_running(self._folder.path, self._list_running))
        try:
            return await self._run_rounds()
        finally:
            showing.cancel()

    def _list_running(self) -> list[RunningJob]:
        evaluations, calls = self.under_way
        calls = [replace(call, what=f"model call, {call.what}") for call in calls]
        return [*([self._pause] if self._pause else []), *self.sweeps, *calls, *evaluations]

    async def _run_rounds(self) -> SearchResult:
        flying: dict[int, asyncio.Task[RoundContext]] = {}
        progress = await self._unless_aborted(asyncio.create_task(self._score_seed()))
        upcoming = 1
        try:
            while True:
                await self._take_acts(upcoming, len(flying))
                while len(flying) < self._window and not self._acts.paused and self._may_begin(upcoming):
                    run = self._open_round(upcoming, self._window - len(flying))
                    flying[upcoming] = asyncio.create_task(self._run_round(run))
                    upcoming += 1
                    await self._take_acts(upcoming, len(flying))
                if not flying:
                    if self._budget.lacks_time:
                        self._run_end.finish(NO_TIME)
                    break
                number = min(flying)
                run = await self._unless_aborted(flying.pop(number))
                run = await self._unless_aborted(asyncio.create_task(self._check_round(run)))
                progress = self._commit_round(number, run)
        except (OragentError, OSError) as problem:
            # The round is not committed. A resumed run repeats it with the stored replies and evaluations.
            # Calls of other rounds are paid for, so they end and are stored.
            self._context.stopped = True
            await self._wait_for_all(flying.values())
            if not isinstance(problem, Interrupted):
                raise
        finally:
            for task in flying.values():
                task.cancel()
            await asyncio.gather(*flying.values(), return_exceptions=True)
            self._context.scoring.give_up()
            if self._cache is not None:
                self._cache.close()
        return self._make_result(progress)

    async def _take_acts(self, upcoming: int, flying: int) -> None:
        """Apply the actions of the user before a round begins. If the run is paused and no round is running, wait."""
        is_live = upcoming not in self._recorded
        self._note_pause()
        if self._acts.paused and flying:
            # Running rounds are committed first, so that a replay can repeat the pause.
            return
        begun = time.monotonic()
        while True:
            for act in self._acts.take(upcoming, self._horizon, self._budget.bounds, is_live=is_live):
                self._emit(EventKind.STEERED, upcoming, {"act": act.act, "value": act.value})
                if act.act == "budget":
                    self._budget.bounds = change_budget(self._budget.bounds, act.value)
                    self._context.settings = replace(self._context.settings, budget=self._budget.bounds)
                elif act.act == "stop":
                    self.stop(STOPPED)
                elif act.act == "pause" and flying:
                    self._note_pause()
                    return
            self._note_pause()
            if not self._acts.paused or self.is_ending:
                break
            await asyncio.sleep(PAUSED_S)
        if (waited := time.monotonic() - begun) > PAUSED_S:
            # Pauses do not count as time of the run.
            self._budget.exclude(waited)

    def _note_pause(self) -> None:
        """Show a pause among the running tasks."""
        if not self._acts.paused or self.is_ending:
            self._pause = None
        elif self._pause is None:
            self._pause = RunningJob("paused by its user", time.monotonic())

    def _replace_model(self, model: Model) -> Model:
        if not self._acts.asks_person:
            return model

        def tell(key: str) -> None:
            self._emit(EventKind.STEERED, self._horizon + 1, {"act": "answer", "value": key})

        return PersonModel(self._folder.path / FOLDER, model, tell)

    def _emit(self, kind: EventKind, number: int, data: Mapping[str, object]) -> None:
        self._on_event(RunEvent(kind, number, self._budget.elapsed_s(), data))

    def _notice_candidate(self, number: int, candidate: Candidate) -> None:
        evaluation = candidate.evaluation
        values = {"status": str(evaluation.status), "score": evaluation.score, "origin": candidate.origin}
        self._emit(EventKind.EVALUATED, number, values)
        if candidate.score is not None:
            self._best.take_scored(number, candidate)

    async def _unless_aborted(self, task: asyncio.Task[T]) -> T:
        """Return the result of a task; if the run is aborted, cancel the task and raise ``Interrupted``."""
        await self._wait_for_all([task])
        if not task.done():
            task.cancel()
            raise Interrupted(self._run_end.reason)
        return task.result()

    async def _wait_for_all(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        aborted = asyncio.create_task(self._aborted.wait())
        pending = set(tasks)
        try:
            while pending and not aborted.done():
                finished, _ = await asyncio.wait({*pending, aborted}, return_when=asyncio.FIRST_COMPLETED)
                pending -= finished
        except asyncio.CancelledError:
            for task in pending:
                task.cancel()
            raise
        finally:
            aborted.cancel()

    async def _score_seed(self) -> Progress:
        run = self._open_round(0, 1)
        if 0 not in self._recorded:
            candidate = await self._evaluate_seed(run)
            failed = candidate.evaluation
            if failed.status is Status.OK:
                failed = await self._leader_check.check_seed(run, candidate) or failed
            if failed.status is not Status.OK:
                detail = f"\n{failed.detail}".rstrip()
                name = self._folder.problem.name
                raise ProblemError(f"the seed heuristic of {name} fails: {failed.status}: {failed.message}{detail}")
            self._note_seed(candidate.evaluation)
            run.case.allowance = bound_evaluations(run.case.allowance, self._context.seed_work)
            await self._score_initial_programs(run)
            run = await self._check_round(run)
            run.case.used += self._store.checks()
        else:
            run = self._replay_round(run)
            self._note_seed(run.candidates[0].evaluation)
        return self._commit_round(0, run)

    def _note_seed(self, seed: Evaluation) -> None:
        """Take limits from the evaluation of the seed, and how busy the machine is.

        Raises:
            ProblemError: The budget bounds the work, and the evaluator reports none.
        """
        self._context.scoring.take_limits(seed)
        if seed.cpu_s > 0 and seed.wall_s > 0:
            self._context.core_share = min(seed.cpu_s / seed.wall_s, 1.0)
        self._context.seed_work = read_work(seed.metrics) or 0.0
        if self._budget.bounds.work is not None and not self._context.seed_work:
            name = self._folder.problem.name
            raise ProblemError(
                f"budget.work: the evaluator of {name} reports no work by harness.work; set budget.evaluations instead"
            )

    def _amend_checks(self) -> None:
        """Add the cost of the model checks of a resumed run, which repeats these checks."""
        first = self._recorded[0]
        spent = Spent(evaluations=first.evaluations, work=first.work) + self._store.checks()
        if spent != self._recorded[0]:
            self._recorded[0] = spent
            self._store.amend(0, spent)

    async def _evaluate_seed(self, run: RoundContext) -> Candidate:
        try:
            return await run.evaluate(self._folder.problem.seed, (), "seed")
        except BudgetExhausted as problem:
            remedy = "give it more, such as --seconds 600"
            raise BudgetExhausted(f"{problem} before the seed heuristic has a score: {remedy}") from None

    async def _score_initial_programs(self, run: RoundContext) -> None:
        sources = self._store.initial_sources()
        score = partial(RoundContext.evaluate, parents=(), origin=self._store.initial_origin)
        works = [partial(score, source=source) for source in sources]
        with suppress(BudgetExhausted):
            await run.fork(works, [at % self._archive.islands for at in range(len(works))])

    def _may_begin(self, number: int) -> bool:
        """Return True if a round may begin; a round that cannot end in the time that is left would be paid in vain."""
        if self.is_ending or not self._budget.allows_more():
            return False
        return number in self._recorded or not self._budget.lacks_time

    def _open_round(self, number: int, places: int) -> RoundContext:
        allowance = self._budget.grant(number, places, self._context.seed_work)
        if self._learner:
            self._learner.begin_round(number)
        return RoundContext.opened(
            self._context,
            number,
            archive=self._acts.restrict(self._archive.snapshot()),
            rng=np.random.default_rng([self._folder.config.seed, number]),
            allowance=allowance,
            horizon=self._horizon,
            island=number % self._archive.islands,
            memory=tuple(self._notes),
            spent=self._budget.spent,
        )

    async def _run_round(self, run: RoundContext) -> RoundContext:
        if run.number in self._recorded:
            return self._replay_round(run)
        try:
            for source in self._acts.programs(run.number):
                await run.evaluate(source, (), ORIGIN)
            await self._play(run)
        except SearchFinished as problem:
            self._run_end.finish(str(problem))
        except BudgetExhausted:
            # The results so far are already committed.
            pass
        except ModelError as problem:
            self._run_end.stop_for_model(problem)
            self.stop()
            raise Interrupted(str(problem)) from None
        except OragentError:
            raise
        except Exception as problem:
            # The strategy has a bug. It may be a file of the user.
            where = traceback.extract_tb(problem.__traceback__)[-1]
            location = f"{where.filename}, line {where.lineno}"
            what = f"{type(problem).__name__}: {problem}"
            raise OragentError(
                f"strategy {self._strategy.name!r} fails in round {run.number}: {what} ({location})"
            ) from problem
        return run

    async def _check_round(self, run: RoundContext) -> RoundContext:
        if run.number not in self._recorded:
            with suppress(BudgetExhausted):
                await self._leader_check.check_round(run)
        return run

    def _replay_round(self, run: RoundContext) -> RoundContext:
        run.candidates += [record.candidate for record in self._store.records(run.number)]
        run.notes = self._recorded_notes.get(run.number, [])
        run.case.used = self._recorded[run.number]
        return run

    def _commit_round(self, number: int, run: RoundContext) -> Progress:
        leader = self._archive.best
        self._notes += run.notes
        committed = self._commits.commit(number, run)
        if self._learner:
            gained = success_rate(self._context.history, self._archive.fitness)
            self._learner.settle_round(number, gained, committed.used.money, committed.used.tokens)
        self._horizon = number
        self._commits.tend_archive(number, committed.placed)
        self._note_end(number, run, committed.used)
        progress = self._make_progress(committed.candidates, list_races(run.notes))
        self._emit_round(number, committed.placed, leader)
        self._observer(progress)
        return progress

    def _note_end(self, number: int, run: RoundContext, used: Spent) -> None:
        kept_free = self._free > 0 and number % self._free == 0
        self._run_end.count_answers(run.reply_problems)
        self._run_end.count_round(used.evaluations, run.candidates, may_idle=kept_free)
        # A resumed run first replays all its committed rounds.
        if number >= len(self._recorded) - 1:
            self._run_end.check(self._budget.bounds, self._budget.spent)
            if any(note.kind == PRACTICE_NOTE for note in run.notes):
                self._end_if_val_is_fitted()

    def _end_if_val_is_fitted(self) -> None:
        """End the run if its latest best programs are worse on practice instances than an earlier one was."""
        direction, patience = self._folder.problem.about.direction, self._folder.config.strategy.disagreement
        if reason := find_disagreement(self._notes, direction, patience):
            self._run_end.stop(reason)

    def _emit_round(self, number: int, placed: Sequence[tuple[Candidate, str]], leader: Elite | None) -> None:
        for position, (candidate, effect) in enumerate(placed):
            values = {"id": f"{number}.{position}", "score": candidate.score, "origin": candidate.origin}
            if effect in (AddStatus.NEW.name, AddStatus.IMPROVED.name):
                self._emit(EventKind.ACCEPTED, number, {**values, "placed": effect})
            if self._archive.best is not leader and self._archive.best and self._archive.best.id == values["id"]:
                self._emit(EventKind.BEST, number, values)
        self._emit(EventKind.BUDGET, number, vars(self._budget.spent))

    def _make_progress(self, candidates: Sequence[Candidate], races: Sequence[LeaderRace]) -> Progress:
        if self._commits.seed is None or self._archive.best is None:
            raise OragentError("a run without a scored seed")
        solutions = tuple(candidate for candidate in candidates if not candidate.is_probe)
        shown_on = sum(race.instances for race in races if race.is_shown)
        return Progress(self._budget.spent, self._commits.seed, self._archive.best, solutions, shown_on)

    def _make_result(self, progress: Progress) -> SearchResult:
        reason, complete = self._run_end.reason, self._run_end.is_complete
        reason += self._cut_short() if complete else ""
        self._folder.keep_only([*self._archive.elites(), progress.best])
        self._store.note("end", reason)
        self._store.note(COMPLETE, str(complete))
        self._emit(EventKind.ENDED, -1, {"reason": reason, "complete": complete})
        return SearchResult(reason, complete, progress, checks=self._store.purity_checks())

    def _cut_short(self) -> str:
        number, grace = self._context.cut_short, self._budget.bounds.grace_s
        if not number:
            return ""
        what = "one evaluation or model call was" if number == 1 else f"{number} evaluations or model calls were"
        return f"; {what} ended {grace:g} s later"

    def _tell_once(self, message: str) -> None:
        if self._store.remark(message):
            self._tell_user(message)
