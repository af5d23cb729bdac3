"""Commit of rounds: their candidates enter the archive, the database and the history in a fixed order."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from oragent._base.budget import Spent
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.best_program import BestProgram
from oragent.search.candidate import Candidate, Committed, Elite
from oragent.search.evaluation_key import ended_race_text
from oragent.search.folder import RunFolder
from oragent.search.leader_race import list_races
from oragent.search.round_context import RoundContext, count_probes
from oragent.search.run_archive import RunArchive
from oragent.search.run_budget import RunBudget
from oragent.search.run_context import RunContext, count_replies
from oragent.search.store import Store


@dataclass(frozen=True)
class CommittedRound:
    """A committed round: its candidates, each with the effect on the archive, and its spending."""

    placed: tuple[tuple[Candidate, str], ...]
    used: Spent

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Candidates of the round, in order."""
        return tuple(candidate for candidate, _ in self.placed)


class RoundCommit:
    """Commits rounds one after the other.

    Attributes:
        seed: Seed of the run, the first scored program; None before it is committed.
    """

    def __init__(
        self,
        folder: RunFolder,
        store: Store,
        context: RunContext,
        run_archive: RunArchive,
        budget: RunBudget,
        best: BestProgram,
        recorded: Mapping[int, Spent],
        *,
        remembers: bool,
    ) -> None:
        """Prepare the commits of a run.

        Args:
            folder: Folder of the run.
            store: Database of the run.
            context: Context of the run, whose history and counts grow.
            run_archive: Archive of the run.
            budget: Account of the run.
            best: Best program of the run.
            recorded: Spending of the rounds that an earlier session stored; they are not stored again.
            remembers: Whether later rounds read the candidates of earlier ones.
        """
        self._folder, self._store, self._context, self._run_archive = folder, store, context, run_archive
        self._budget, self._best, self._recorded, self._remembers = budget, best, recorded, remembers
        self.seed: Elite | None = None

    def commit(self, number: int, run: RoundContext) -> CommittedRound:
        """Place the candidates of a round, store it, and settle its spending."""
        placed = tuple(
            (candidate, self._place(f"{number}.{position}", candidate))
            for position, candidate in enumerate(run.named_candidates())
        )
        races, new = list_races(run.notes), self._register(number, run.candidates)
        evaluations = len(new) + sum(race.evaluations for race in races)
        work = math.fsum([*map(self._context.count_work, new), *(race.work for race in races)])
        used = replace(run.used, evaluations=evaluations, work=work)
        if number not in self._recorded:
            self._store.commit(number, placed, used, self._budget.elapsed_s(), run.notes)
        context = self._context
        context.marks.append(context.marks[-1] + count_replies(run.candidates))
        context.probes.append(context.probes[-1] + count_probes(run.candidates))
        context.paid.pop(number, None)
        self._budget.settle(number, used, is_live=number not in self._recorded)
        context.spent = self._budget.spent
        if self._remembers:
            context.history.append(self._make_records(number, placed))
        return CommittedRound(placed, used)

    def tend_archive(self, number: int, placed: Sequence[tuple[Candidate, str]]) -> None:
        """Reset and migrate islands that are due after a round, and choose the bins of measured features."""
        if number not in self._recorded and self._run_archive.reset_by_clock(number, self._budget.elapsed_s()):
            self._context.resets.add(number)
        self._run_archive.tend(number)
        if self._run_archive.lacks_bins:
            self._run_archive.choose_bins(number, self._make_records(number, placed))

    def _place(self, name: str, candidate: Candidate) -> str:
        """Add a candidate to the archive; return the effect, empty for a probe or a failure."""
        champion = self._run_archive.archive.best
        status = self._run_archive.place(name, candidate)
        if status is None:
            return ""
        elite = Elite.of(candidate, id=name)
        self.seed = self.seed or elite
        if status:
            self._folder.write_elite(replace(elite, source=self._store.complete_program(elite.source)))
        if self._run_archive.archive.best is not champion:
            self._best.take_committed(elite, candidate)
        return status.name

    def _register(self, number: int, candidates: Sequence[Candidate]) -> list[Evaluation]:
        """Register the programs of a round; return the evaluations of those that were evaluated for the first time."""
        new = []
        for candidate in candidates:
            if candidate.fingerprint not in self._context.committed:
                self._context.committed[candidate.fingerprint] = number
                if candidate.evaluation.status is Status.SCREENED:
                    self._context.committed.setdefault(ended_race_text(candidate.fingerprint), number)
                if candidate.evaluation.was_started and not candidate.is_probe:
                    new.append(candidate.evaluation)
        return new

    def _make_records(self, number: int, placed: Sequence[tuple[Candidate, str]]) -> list[Committed]:
        """Return the candidates of a round for later rounds, without their output, which only the store keeps."""
        elapsed_s = self._budget.elapsed_s()
        records = []
        for position, (candidate, effect) in enumerate(placed):
            evaluation = replace(candidate.evaluation, traceback="", log="", output="")
            short = replace(candidate, evaluation=evaluation)
            records.append(Committed(id=f"{number}.{position}", candidate=short, placed=effect, elapsed_s=elapsed_s))
        return records
