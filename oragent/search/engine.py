"""The engine: rounds in flight, commits in order, one clean end.

``window`` rounds are in flight at once, and round k begins on the state that round k - window left, however many
evaluations run at once: so a seed (and the same replies) gives the same archive at any number of workers, and a run
that was killed goes on as if it had not been. Leading programs are audited in the background: the verdict takes effect
before a fixed round is committed (`search/auditing.py`).
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
from oragent._base.errors import BudgetExhausted, ModelError, OragentError, ProblemError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.devices import AUTO, CPU
from oragent.evaluation.pool import EvaluationPool, RunningJob
from oragent.ledger import Interrupted, ReplayModel
from oragent.llm.model import Model, RoundLearner
from oragent.search.archive import AddStatus, Archive, success_rate
from oragent.search.auditing import AuditSchedule, would_lead
from oragent.search.caching import Cache
from oragent.search.candidate import Candidate, Committed, Elite
from oragent.search.evaluation_key import ended_race_text, found_out_text
from oragent.search.events import EventKind, Observer, OnEvent, Progress, RunEvent, SearchResult, ignore_event
from oragent.search.folder import RunFolder
from oragent.search.journal import Journal
from oragent.search.program_header import describe_program, format_comments
from oragent.search.round_context import EXPERIMENT_S, RoundContext, count_probes
from oragent.search.run_archive import RunArchive
from oragent.search.run_budget import RunBudget
from oragent.search.run_context import RunContext, count_replies
from oragent.search.run_end import RunEnd
from oragent.search.scoring import Scoring, Seen
from oragent.search.store import RoundNote, Store
from oragent.search.strategies.tuning import is_worth, tuning_period, with_tuning
from oragent.search.strategy import Round, Strategy
from oragent.search.user_commands import FOLDER, ORIGIN, STOPPED, ActLog, PersonModel, change_budget

# of evaluations, from the root of the project
CACHE = Path("outputs") / "cache.db"
# between two looks at whether a paused run is to continue
PAUSED_S = 0.2
# after which a new best of a round that goes on is told
ANNOUNCED_S = 5.0
# the origin of what a lost run had found
REBUILT = "rebuilt"
T = TypeVar("T")


class Engine:
    """Runs a strategy on a problem until a budget ends it.

    A run whose database has rounds in it is resumed. A coroutine function alone is the round of a strategy that looks
    back on every candidate. ``offers`` are options that the evaluator has beyond the contract; ``tell`` gets each line
    for a person once in the life of the run; ``since`` is the reading of ``time.monotonic`` when this sitting began
    (None: now).
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
        # Where seconds bind, a run that finds its evaluations done would get further than one that does not.
        # Another product may have the name of this GPU tomorrow, and other last digits.
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
        self._context.hints = self._acts.hints
        if not isinstance(model, ReplayModel):
            self._context.replace_model = self._replace_model
        # the best that was scored, committed or not
        self._leader: Elite | None = None
        self._leader_fingerprint = ""
        # before it led, as in a run that is resumed
        self._leader_is_audited = False
        # fingerprint of the program whose audit a round or the end of the run waits for
        self._audited_now = ""
        # id of the latest program whose audit began in the background
        self._begun_id = ""
        lag, last = self._window if config.audit_lag is None else config.audit_lag, max(self._recorded, default=-1)
        self._schedule = AuditSchedule(store, lag, last, self._audit_in_background)
        self._learner: RoundLearner | None = model if isinstance(model, RoundLearner) else None
        share = self._settings.tuning or 0.0
        self._free = tuning_period(self._window) if is_worth(share, self._budget.bounds) else 0
        self._play = with_tuning(strategy.round, share, self._free) if self._free else strategy.round
        self._remembering = strategy.remembers or self._settings.history or self._learner is not None
        self._notes: list[RoundNote] = []
        by_round = groupby(store.notes(), key=lambda note: note.round)
        self._recorded_notes = {number: [*notes] for number, notes in by_round}
        self._seed: Elite | None = None
        self._horizon = -1
        self._run_end = RunEnd(self._settings.patience)
        self._aborted = asyncio.Event()

    @property
    def _archive(self) -> Archive:
        return self._run_archive.archive

    @property
    def under_way(self) -> tuple[list[RunningJob], list[RunningJob]]:
        """The evaluations and the model calls that have begun and not ended; may be read in another thread."""
        return self._pool.running, list(self._context.asking.values())

    @property
    def audits(self) -> str:
        """Number of audits in the background, for a person; empty before the first; may be read in another thread."""
        return str(self._schedule)

    @property
    def experiment_s(self) -> float:
        """CPU seconds of sweeps and probes on training instances in committed rounds."""
        return sum(float(note.text) for note in [*self._notes] if note.kind == EXPERIMENT_S)

    @property
    def spent(self) -> Spent:
        """Spending until now, with what rounds under way have paid; may be read in another thread."""
        paid = self._budget.spent.add_all(list(self._context.paid.values()))
        return replace(paid, seconds=self._budget.elapsed_s())

    @property
    def is_ending(self) -> bool:
        """True if nothing new begins."""
        return self._run_end.has_come

    def stop(self, reason: str = "stopped on request") -> None:
        """Begin nothing more; what is being evaluated still ends and is kept."""
        self._context.stopped = True
        self._run_end.stop(reason)

    def abort(self) -> None:
        """End at once: what is being evaluated or asked is given up, and what has ended is kept."""
        self.stop()
        self._aborted.set()

    async def run(self) -> SearchResult:
        """Search until the end.

        Raises:
            ProblemError: if the problem's own seed fails, with the seed's error.
            Interrupted: if it is ended before the seed has a score.
            StoreError: if the run's folder cannot be written.
        """
        # not yet, or not any more
        self._store.note("end", "")
        about = {"folder": str(self._folder.path), "problem": self._folder.problem.name, "rounds": len(self._recorded)}
        self._emit(EventKind.BEGUN, -1, about)
        flying: dict[int, asyncio.Task[RoundContext]] = {}
        progress = await self._unless_aborted(asyncio.create_task(self._score_seed()))
        self._schedule.resume({record.candidate.fingerprint: record for record in self._store.records()})
        upcoming = 1
        try:
            while True:
                await self._take_acts(upcoming, len(flying))
                while len(flying) < self._window and not self._acts.paused and self._may_begin():
                    run = self._open_round(upcoming, self._window - len(flying))
                    flying[upcoming] = asyncio.create_task(self._run_round(run))
                    upcoming += 1
                    await self._take_acts(upcoming, len(flying))
                if not flying:
                    break
                number = min(flying)
                run = await self._unless_aborted(flying.pop(number))
                run = await self._unless_aborted(asyncio.create_task(self._audit_round(run)))
                progress = self._commit_round(number, run)
            await self._unless_aborted(asyncio.create_task(self._settle_audits(None)))
            if self._archive.best is not None and self._archive.best.id != progress.best.id:
                progress = self._make_progress(())
                self._observer(progress)
            progress = await self._with_audited_winner(progress)
        except Interrupted:
            # Not committed: a resumed run does this round again, with what was paid for at hand.
            await self._wait_for_all(flying.values())
        finally:
            for task in flying.values():
                task.cancel()
            await asyncio.gather(*flying.values(), return_exceptions=True)
            await self._schedule.close()
            self._context.scoring.give_up()
            if self._cache is not None:
                self._cache.close()
        return self._make_result(progress)

    async def _take_acts(self, upcoming: int, flying: int) -> None:
        """Let a user's acts take effect before a round begins; wait if the run is paused and nothing is in flight."""
        is_live = upcoming not in self._recorded
        if self._acts.paused and flying:
            # what is in flight is committed first, so that a replay can repeat the pause
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
                    return
            if not self._acts.paused or self.is_ending:
                break
            await asyncio.sleep(PAUSED_S)
        if (waited := time.monotonic() - begun) > PAUSED_S:
            # a pause is not the run's own time
            self._budget.exclude(waited)

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
            self._write_new_best(number, candidate)

    async def _unless_aborted(self, task: asyncio.Task[T]) -> T:
        """What a task returns or raises; ``Interrupted``, and the task is given up, once the run is aborted."""
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
                failed = await self._context.scoring.audit(candidate, self._seen_by_audit(run, candidate)) or failed
            if failed.status is not Status.OK:
                detail = f"\n{failed.detail}".rstrip()
                name = self._folder.problem.name
                raise ProblemError(f"the seed heuristic of {name} fails: {failed.status}: {failed.message}{detail}")
            await self._score_initial_programs(run)
            if not self._schedule.lag:
                run = await self._audit_round(run)
            run.case.used += self._store.checks()
        else:
            run = self._replay_round(run)
        self._context.scoring.bound_sleep(run.candidates[0].evaluation)
        return self._commit_round(0, run)

    def _amend_checks(self) -> None:
        """A resumed run asks again whether its models are there, and that is paid for too."""
        spent = Spent(evaluations=self._recorded[0].evaluations) + self._store.checks()
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

    def _may_begin(self) -> bool:
        return not self.is_ending and self._budget.allows_more()

    def _open_round(self, number: int, places: int) -> RoundContext:
        allowance = self._budget.grant(number, places)
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
        except BudgetExhausted:
            # what the round paid for before is committed
            pass
        except ModelError as problem:
            self._run_end.stop_for_model(problem)
            self.stop()
            raise Interrupted(str(problem)) from None
        except OragentError:
            raise
        except Exception as problem:
            # a bug of the strategy, which may be somebody's own file
            where = traceback.extract_tb(problem.__traceback__)[-1]
            location = f"{where.filename}, line {where.lineno}"
            what = f"{type(problem).__name__}: {problem}"
            raise OragentError(
                f"strategy {self._strategy.name!r} fails in round {run.number}: {what} ({location})"
            ) from problem
        return run

    async def _audit_round(self, run: RoundContext) -> RoundContext:
        """Audit the best program of a round that is over, if it would lead; where it fails, the next best.

        With audits in the background, let the verdicts take effect that are due before this round is committed.
        """
        scoring = self._context.scoring
        if self._schedule.lag:
            await self._settle_audits(run.number)
            for candidate in [*run.candidates]:
                caught = found_out_text(candidate.fingerprint)
                if caught in self._context.committed and (rejected := self._store.evaluation(caught)):
                    run.withdraw(candidate.fingerprint, rejected)
            return run
        if run.number in self._recorded:
            return run
        with suppress(BudgetExhausted):
            while (leader := self._would_lead(run)) is not None:
                audited, evaluations = len(self._store.audited_programs()), self._budget.spent.evaluations
                if not scoring.is_audited(leader.fingerprint) and not scoring.audit_has_room(evaluations, audited):
                    break
                self._audited_now = leader.fingerprint
                rejected = await self._context.in_time(scoring.audit(leader, self._seen_by_audit(run, leader)))
                if rejected is None:
                    break
                run.withdraw(leader.fingerprint, rejected)
                self._leader = None
                if self._archive.best is not None:
                    self._write_best(self._archive.best)
        return run

    def _begin_audit(self, number: int) -> None:
        """Audit the best program in the background, if it was not audited and the share of audits has room."""
        best, schedule, scoring = self._archive.best, self._schedule, self._context.scoring
        if best is None or not schedule.lag or not scoring.audits or schedule.is_recorded(number):
            return
        if best.id == self._begun_id or not scoring.audit_has_room(self._budget.spent.evaluations, schedule.count):
            return
        self._begun_id, record = best.id, self._find_record(best)
        if not schedule.has_begun(record.candidate.fingerprint):
            schedule.begin(record, number)

    async def _audit_in_background(self, record: Committed, due: int) -> Evaluation | None:
        what = f"program {record.id}"
        seen = Seen(self._archive, (), lambda fingerprint: False, self._context.check_may_continue, what, due)
        try:
            rejected = await self._context.in_time(self._context.scoring.audit(record.candidate, seen))
        except BudgetExhausted:
            return None
        best = self._archive.best
        if rejected is None and best is not None and best.id == record.id:
            # without the remark that it is not audited yet
            self._write_best(best, record.candidate)
        return rejected

    async def _settle_audits(self, number: int | None) -> None:
        """Let verdicts take effect that are due before a round is committed, in the audits' order; None: all are."""
        at = self._horizon + 1 if number is None else number
        for fingerprint in self._schedule.recorded_withdrawals(at):
            if rejected := self._store.evaluation(found_out_text(fingerprint)):
                # of a replay
                self._store.reject_candidates(fingerprint)
                self._forget_program(fingerprint, rejected, at)
        while (verdict := await self._schedule.next_verdict(number)) is not None:
            record, rejected = verdict
            if rejected is None:
                continue
            self._tell_taken_back(record, rejected)
            row = self._schedule.record_withdrawal(record.candidate.fingerprint, at)
            self._store.withdraw(record.candidate.fingerprint, rejected, self._budget.elapsed_s(), row)
            self._forget_program(record.candidate.fingerprint, rejected, at)
            if number is not None:
                self._begin_audit(number)

    def _tell_taken_back(self, record: Committed, rejected: Evaluation) -> None:
        self._tell_once(f"{record.score:.6g} by program {record.id} is taken back: {rejected.message}")

    def _forget_program(self, fingerprint: str, rejected: Evaluation, number: int) -> None:
        name = found_out_text(fingerprint)

        def without(record: Committed) -> Committed:
            if record.candidate.fingerprint != fingerprint or record.candidate.is_probe:
                return record
            short = replace(rejected, traceback="", log="", output="")
            return replace(record, placed="", candidate=replace(record.candidate, fingerprint=name, evaluation=short))

        self._run_archive.change_early(without)
        self._context.history = [[without(record) for record in records] for records in self._context.history]
        self._context.committed.setdefault(name, number)
        self._schedule.mark_withdrawn(fingerprint)
        if self._context.journal is not None:
            self._context.journal.withdraw(number, fingerprint)
        self._rebuild_archive()

    def _rebuild_archive(self) -> None:
        records = [record for record in self._committed_records() if record.round <= self._horizon]
        self._run_archive.rebuild(records, self._horizon + 1)
        self._leader = None
        if self._archive.best is not None:
            self._write_best(self._archive.best)

    def _find_record(self, elite: Elite) -> Committed:
        records = self._committed_records(int(elite.id.partition(".")[0]))
        return next(record for record in records if record.id == elite.id)

    def _committed_records(self, number: int | None = None) -> list[Committed]:
        """The committed candidates of a round, or of all; what a resumed run withdraws later still has its score."""
        later = self._schedule.withdrawn_later()
        names = {found_out_text(fingerprint): fingerprint for fingerprint in later}
        return [self._with_score(record, names) for record in self._store.records(number)]

    def _with_score(self, record: Committed, names: Mapping[str, str]) -> Committed:
        """Return a candidate as it was before it was withdrawn; ``names`` has its fingerprint by that of now."""
        fingerprint = names.get(record.candidate.fingerprint)
        evaluation = self._store.evaluation(fingerprint) if fingerprint else None
        if fingerprint is None or evaluation is None:
            return record
        return replace(record, candidate=replace(record.candidate, fingerprint=fingerprint, evaluation=evaluation))

    def _would_lead(self, run: RoundContext) -> Candidate | None:
        best: Candidate | None = None
        for candidate in run.candidates:
            if candidate.is_probe or not would_lead(candidate.source, candidate.evaluation, self._archive):
                continue
            if best is None or self._archive.beats(Elite.of(candidate, id=""), Elite.of(best, id="")):
                best = candidate
        return best

    def _seen_by_audit(self, run: RoundContext, candidate: Candidate) -> Seen:
        index = next((at for at, program in enumerate(run.candidates) if program is candidate), 0)
        what = f"program {run.number}.{index}"
        return Seen(self._archive, (), lambda fingerprint: False, self._context.check_may_continue, what, run.number)

    async def _with_audited_winner(self, progress: Progress) -> Progress:
        """Audit the best program when the run ends, whatever the share; where it fails, the next best follows."""
        scoring = self._context.scoring
        while scoring.audits and progress.best.id != progress.seed.id:
            best = progress.best
            record = self._find_record(best)
            winner = record.candidate
            seen = Seen(self._archive, (), lambda fingerprint: False, lambda: None, f"program {best.id}, the winner")
            self._audited_now = winner.fingerprint
            rejected = await self._unless_aborted(asyncio.create_task(scoring.audit(winner, seen, final=True)))
            if rejected is None:
                self._write_best(best, winner)
                break
            self._tell_taken_back(record, rejected)
            self._store.withdraw(winner.fingerprint, rejected, self._budget.elapsed_s())
            self._rebuild_archive()
            progress = self._make_progress(())
            self._observer(progress)
        return progress

    def _replay_round(self, run: RoundContext) -> RoundContext:
        withdrawn = {
            found_out_text(fingerprint): fingerprint for fingerprint in self._schedule.withdrawn_later(run.number)
        }
        for record in self._store.records(run.number):
            run.candidates.append(self._with_score(record, withdrawn).candidate)
        run.notes = self._recorded_notes.get(run.number, [])
        run.case.used = self._recorded[run.number]
        return run

    def _commit_round(self, number: int, run: RoundContext) -> Progress:
        candidates, leader = run.named_candidates(), self._archive.best
        self._notes += run.notes
        placed = [
            (candidate, self._place_candidate(f"{number}.{position}", candidate))
            for position, candidate in enumerate(candidates)
        ]
        used = replace(run.used, evaluations=self._register_programs(number, run.candidates))
        if number not in self._recorded:
            self._store.commit(number, placed, used, self._budget.elapsed_s(), run.notes)
        self._context.marks.append(self._context.marks[-1] + count_replies(run.candidates))
        self._context.probes.append(self._context.probes[-1] + count_probes(run.candidates))
        self._context.paid.pop(number, None)
        self._budget.settle(number, used)
        self._context.spent = self._budget.spent
        if self._remembering:
            self._context.history.append(
                [self._without_output(f"{number}.{at}", *item) for at, item in enumerate(placed)]
            )
        if self._learner:
            gained = success_rate(self._context.history, self._archive.fitness)
            self._learner.settle_round(number, gained, used.money, used.tokens)
        self._horizon = number
        if number not in self._recorded and self._run_archive.reset_by_clock(number, self._budget.elapsed_s()):
            self._context.resets.add(number)
        self._run_archive.tend(number)
        if self._run_archive.lacks_bins:
            records = [self._without_output(f"{number}.{at}", *item) for at, item in enumerate(placed)]
            self._run_archive.choose_bins(number, records)
        kept_free = self._free > 0 and number % self._free == 0
        self._run_end.count_answers(run.reply_problems)
        self._run_end.count_round(used.evaluations, run.candidates, may_idle=kept_free)
        # a resumed run first takes back all that it had
        if number >= len(self._recorded) - 1:
            self._run_end.check(self._budget.bounds, self._budget.spent)
        self._begin_audit(number)
        progress = self._make_progress(candidates)
        self._emit_round(number, placed, leader)
        self._observer(progress)
        return progress

    def _emit_round(self, number: int, placed: Sequence[tuple[Candidate, str]], leader: Elite | None) -> None:
        for position, (candidate, effect) in enumerate(placed):
            values = {"id": f"{number}.{position}", "score": candidate.score, "origin": candidate.origin}
            if effect in (AddStatus.NEW.name, AddStatus.IMPROVED.name):
                self._emit(EventKind.ACCEPTED, number, {**values, "placed": effect})
            if self._archive.best is not leader and self._archive.best and self._archive.best.id == values["id"]:
                self._emit(EventKind.BEST, number, values)
        self._emit(EventKind.BUDGET, number, vars(self._budget.spent))

    def _without_output(self, name: str, candidate: Candidate, placed: str) -> Committed:
        """A candidate as later rounds see it, without what it printed: the store has that, and memory stays small."""
        short = replace(candidate.evaluation, traceback="", log="", output="")
        short_one = replace(candidate, evaluation=short)
        return Committed(id=name, candidate=short_one, placed=placed, elapsed_s=self._budget.elapsed_s())

    def _register_programs(self, number: int, candidates: Sequence[Candidate]) -> int:
        count = 0
        for candidate in candidates:
            if candidate.fingerprint not in self._context.committed:
                self._context.committed[candidate.fingerprint] = number
                if candidate.evaluation.status is Status.SCREENED:
                    self._context.committed.setdefault(ended_race_text(candidate.fingerprint), number)
                count += candidate.evaluation.was_started and not candidate.is_probe
        return count

    def _place_candidate(self, name: str, candidate: Candidate) -> str:
        champion = self._archive.best
        status = self._run_archive.place(name, candidate)
        if status is None:
            return ""
        elite = Elite.of(candidate, id=name)
        self._seed = self._seed or elite
        if status:
            self._folder.write_elite(elite)
        if self._archive.best is not champion and not self._is_outdone(elite):
            self._set_leader(elite, candidate.fingerprint)
            self._write_best(elite, candidate)
        return status.name

    def _write_best(self, elite: Elite, candidate: Candidate | None = None) -> None:
        """Write ``best.py``, with what is known of the program; a committed one that is not given is looked up."""
        if candidate is None:
            candidate, remark = self._find_record(elite).candidate, ""
        else:
            scoring = self._context.scoring
            is_open = scoring.audits and not scoring.is_audited(candidate.fingerprint)
            remark = "not audited yet" if is_open else ""
        config, problem = self._folder.config, self._folder.problem
        lines = describe_program(problem, config.limits, elite, candidate.parents, self._notes)
        self._folder.write_best(elite, remark, partial(format_comments, lines))

    @property
    def leader(self) -> tuple[Elite, str] | None:
        """The best program that was scored, committed or not, and how far its audit is; read in any thread."""
        leader, scoring = self._leader, self._context.scoring
        if leader is None:
            return None
        fingerprint = self._leader_fingerprint
        if not scoring.audits or self._leader_is_audited or fingerprint in scoring.audited_decisions:
            return leader, ""
        under_way = any(work.what.startswith("auditing ") for work in self._pool.running)
        audited = [self._audited_now, *self._schedule.under_way]
        return leader, "audit under way" if under_way and fingerprint in audited else "not audited yet"

    def _set_leader(self, elite: Elite, fingerprint: str) -> None:
        self._leader_is_audited = self._context.scoring.is_audited(fingerprint)
        self._leader, self._leader_fingerprint = elite, fingerprint

    def _is_outdone(self, elite: Elite) -> bool:
        return self._leader is not None and self._archive.beats(self._leader, elite)

    def _write_new_best(self, number: int, candidate: Candidate) -> None:
        """Lay out a new best as soon as it is scored: its round may take an hour to be committed."""
        elite = Elite.of(candidate, id=f"round {number}")
        if self._archive.best is None or self._is_outdone(elite) or not self._archive.beats(elite, self._archive.best):
            return
        if self._leader is not None and self._leader.source == elite.source:
            return
        self._set_leader(elite, candidate.fingerprint)
        self._write_best(elite, candidate)
        asyncio.get_running_loop().call_later(ANNOUNCED_S, self._announce_best, number, elite)

    def _announce_best(self, number: int, elite: Elite) -> None:
        """Tell a person of a new best whose round goes on; that of a short round is told when it is committed."""
        if self._leader is elite and self._horizon < number and not self.is_ending:
            news = f"{elite.score:.6g} is scored, a new best, in round {number}, which goes on"
            self._tell_user(f"{news}; {self._folder.best.name} has it")

    def _make_progress(self, candidates: Sequence[Candidate]) -> Progress:
        if self._seed is None or self._archive.best is None:
            raise OragentError("a run without a scored seed")
        solutions = tuple(candidate for candidate in candidates if not candidate.is_probe)
        return Progress(self._budget.spent, self._seed, self._archive.best, solutions)

    def _make_result(self, progress: Progress) -> SearchResult:
        reason, complete = self._run_end.reason, self._run_end.is_complete
        reason += self._cut_short() if complete else ""
        self._folder.keep_only([*self._archive.elites(), progress.best])
        self._store.note("end", reason)
        self._emit(EventKind.ENDED, -1, {"reason": reason, "complete": complete})
        audits = replace(self._store.audits(), winner=self._describe_winner_audit(progress))
        return SearchResult(reason, complete, progress, audits=audits)

    def _describe_winner_audit(self, progress: Progress) -> str:
        scoring = self._context.scoring
        if not scoring.audits or progress.best.id == progress.seed.id:
            return ""
        put = scoring.audited_decisions.get(scoring.fingerprint(progress.best.source))
        if put is None:
            if scoring.is_audited(scoring.fingerprint(progress.best.source)):
                return ""
            return "the best is not audited"
        return f"{put} decisions of the best"

    def _cut_short(self) -> str:
        number, grace = self._context.cut_short, self._budget.bounds.grace_s
        if not number:
            return ""
        what = "one evaluation or model call was" if number == 1 else f"{number} evaluations or model calls were"
        return f"; {what} ended {grace:g} s later"

    def _tell_once(self, message: str) -> None:
        if self._store.remark(message):
            self._tell_user(message)
