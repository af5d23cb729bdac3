"""Check of a program that would become the best of a run, before its round is committed."""

import math
from functools import partial

from oragent._base.budget import Spent
from oragent._base.errors import BudgetExhausted
from oragent._base.sequential import fewest_pairs
from oragent._base.statistics import describe_shortage
from oragent.evaluation import Evaluation
from oragent.search.archive import Archive
from oragent.search.best_program import BestProgram
from oragent.search.candidate import Candidate, Elite
from oragent.search.experiments import CPU_S, PRACTICE, Subset
from oragent.search.leader_race import hold_race, is_above_noise
from oragent.search.practice_check import PracticeScore
from oragent.search.round_context import RoundContext
from oragent.search.run_archive import RunArchive
from oragent.search.run_context import RunContext
from oragent.search.scoring import Seen, reject_leader


class LeaderCheck:
    """Checks that would-be best programs are functions of their arguments, and measures them on practice instances."""

    def __init__(self, context: RunContext, run_archive: RunArchive, best: BestProgram, *, measures: bool) -> None:
        """Prepare the checks of a run.

        Args:
            context: Context of the run.
            run_archive: Archive of the committed rounds.
            best: Best program, which is withdrawn if it fails.
            measures: Whether new best programs run on practice instances, where the evaluator has some.
        """
        self._context, self._run_archive, self._best = context, run_archive, best
        self._measures = measures and context.scoring.practice is not None

    @property
    def _archive(self) -> Archive:
        return self._run_archive.archive

    async def check_seed(self, run: RoundContext, candidate: Candidate) -> Evaluation | None:
        """Return why the seed is rejected; None if it passes."""
        return await self._context.scoring.check(candidate, self._make_view(run, candidate))

    async def check_round(self, run: RoundContext) -> None:
        """Check the best program of a round if it would be the best of the run; if it fails, check the next best.

        Raises:
            BudgetExhausted: The budget allows no further check.
        """
        while (leader := self._find_leader(run)) is not None:
            try:
                rejected = await self._check(run, leader)
            except BudgetExhausted as problem:
                if not self._needs_race(run, leader):
                    raise
                reason = f"it is not shown to be better than the best program so far: {problem}"
                rejected = reject_leader(leader, reason)
            if rejected is None:
                await self._measure_on_practice(run, leader)
                return
            run.reject_impure(leader.fingerprint, rejected)
            self._best.withdraw()

    async def _check(self, run: RoundContext, leader: Candidate) -> Evaluation | None:
        scoring, view = self._context.scoring, self._make_view(run, leader)
        more_work = partial(scoring.check_more_work, best=self._archive.best)
        race = partial(self._race, run)
        for check in (scoring.check, scoring.harden, more_work, scoring.check_protected, race):
            if (rejected := await self._context.in_time(check(leader, seen=view))) is not None:
                return rejected
        return None

    def _needs_race(self, run: RoundContext, leader: Candidate) -> bool:
        """Return True if the settings ask for races, and a leader is within the noise."""
        context, best = self._context, self._archive.best
        if not context.settings.strategy.leader_rounds or best is None or not context.scoring.draws_practice:
            return False
        tried = context.spent.evaluations + run.used.evaluations
        direction, metrics = context.problem.about.direction, leader.evaluation.metrics
        return is_above_noise(direction, best.metrics, metrics, tried) is False

    def _count_rounds(self, run: RoundContext) -> int:
        """Return the maximum number of rounds of a race; each takes two evaluations of the budget."""
        context = self._context
        remaining = context.settings.budget.remaining(context.spent + run.used)
        rounds = min(context.settings.strategy.leader_rounds, remaining.evaluations // 2)
        if context.seed_work:
            rounds = min(rounds, int(remaining.work / (2 * context.seed_work)))
        return rounds

    async def _race(self, run: RoundContext, leader: Candidate, seen: Seen) -> Evaluation | None:
        """Compare a leader that is within the noise with the best program on new instances, if the settings ask for it.

        Returns:
            The evaluation as a rejected one if the leader is not shown to be better, else None.
        """
        context, best = self._context, self._archive.best
        if best is None or not self._needs_race(run, leader):
            return None
        direction, size = context.problem.about.direction, context.settings.problem_size

        async def measure(program: str, seed: int) -> Evaluation:
            subset = Subset(mode=PRACTICE, seed=seed)
            return await context.scoring.measure(seen, program, size, subset, math.inf, "")

        programs = best.source, leader.source
        rounds = self._count_rounds(run)
        race = await hold_race(measure, direction, programs, leader.fingerprint, rounds, context.count_work)
        run.notes.append(race.to_note(run.number))
        run.case.used += Spent(evaluations=race.evaluations, work=race.work)
        if race.is_shown:
            return None
        shortage = describe_shortage(race.instances, fewest_pairs(), "new instance")
        chance = shortage or f"p = {race.p:.2g} on {race.instances} new instances"
        return reject_leader(leader, f"it is not shown to be better than the best program so far: {chance}")

    async def _measure_on_practice(self, run: RoundContext, leader: Candidate) -> None:
        if not self._measures:
            return
        position = next(at for at, program in enumerate(run.candidates) if program is leader)
        view = self._make_view(run, leader)
        size, instances = self._context.settings.problem_size, run.experiments.instances
        measuring = self._context.scoring.measure(view, leader.source, size, instances, CPU_S, "")
        measured = await self._context.in_time(measuring)
        if measured.score is not None and leader.score is not None:
            score = PracticeScore(f"{run.number}.{position}", leader.score, measured.score)
            run.notes.append(score.to_note(run.number))

    def _find_leader(self, run: RoundContext) -> Candidate | None:
        """Return the best program of a round that would become the best of the archive; None if there is none."""
        leader, best = None, self._archive.best
        for candidate in run.candidates:
            if candidate.is_probe or candidate.score is None:
                continue
            elite = Elite.of(candidate, id="")
            if best is None or self._archive.beats(elite, best):
                leader, best = candidate, elite
        return leader

    def _make_view(self, run: RoundContext, candidate: Candidate) -> Seen:
        index = next((at for at, program in enumerate(run.candidates) if program is candidate), 0)
        what = f"check of program {run.number}.{index}"
        return Seen(self._archive, (), lambda fingerprint: False, self._context.check_may_continue, what, run.number)
