"""`RoundContext`, the interface between a strategy and the engine."""

import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from oragent._base.budget import Spent
from oragent._base.errors import CandidateError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.pool import RunningJob
from oragent.evaluation.problem import Problem
from oragent.ledger import LedgerCase, RecordedReply
from oragent.ledger.case import wait_for_all
from oragent.llm.model import Message
from oragent.programs.blocks import NEAREST
from oragent.programs.inspection import fit_to_frame
from oragent.search.archive import Archive
from oragent.search.candidate import NOWHERE, PROBE, Candidate, Committed
from oragent.search.config import Blocks, Config
from oragent.search.evaluation_key import ended_race_text, screened_text
from oragent.search.events import EventKind
from oragent.search.journal import Moment
from oragent.search.round_experiments import RoundExperiments
from oragent.search.run_context import PROMPTS, RunContext, choose_style
from oragent.search.scoring import Gate, ScoredProgram, Seen
from oragent.search.store import RoundNote

T = TypeVar("T")
# Number of building blocks in a prompt that shows some of them.
SOME = 3


@dataclass
class RoundContext:
    """View of a run for one round: the state before the round began, and the budget of the round.

    Call the methods of one object one after the other. Use branches (``fork``) for parallel work.
    """

    # Context that all rounds share.
    context: RunContext
    # Number of the round.
    number: int
    # Case of its model calls, with a random generator and a share of the budget.
    case: LedgerCase
    # Archive at the beginning of the round.
    archive: Archive
    # Number of the last committed round at the beginning of the round.
    horizon: int
    # Number of the island of its candidates.
    island: int
    # Notes of the rounds up to the horizon.
    memory: Sequence[RoundNote] = ()
    # Spending of the rounds up to the horizon.
    spent: Spent = field(default_factory=Spent)
    # Candidates that it evaluated, in order.
    candidates: list[Candidate] = field(default_factory=list)
    # Reason why a reply was unusable, for each reply in order; empty for a usable one.
    reply_problems: list[str] = field(default_factory=list)
    # Notes of this round for later rounds and for reports.
    notes: list[RoundNote] = field(default_factory=list)
    # Candidates that the round evaluated before it was forked into this branch.
    earlier: tuple[Candidate, ...] = ()
    # Number of probes before the fork.
    earlier_probes: int = 0
    # Notes that were written before the fork.
    written: tuple[RoundNote, ...] = ()
    # CPU seconds of experiments that a branch may use; None for a round.
    experiment_share: float | None = None
    # Candidates by round; later rounds are appended.
    past: list[list[Committed]] = field(default_factory=list)
    # Turn of a round, if several strategies share a run: its number among those of its strategy, 0 for rounds of
    # others. None means that all rounds are its turns.
    turns: Callable[[int], int] | None = None
    # Settings of its strategy, if several strategies share a run.
    acting: Any = None
    # Fingerprints of the programs that were evaluated in this round or before its fork.
    _met: set[str] = field(default_factory=set)

    @classmethod
    def opened(
        cls,
        context: RunContext,
        number: int,
        *,
        archive: Archive,
        rng: np.random.Generator,
        allowance: Spent,
        horizon: int,
        island: int,
        memory: Sequence[RoundNote] = (),
        spent: Spent | None = None,
    ) -> "RoundContext":
        """Return the context of a round that begins. The arguments are attributes of the context and of its case."""
        case = LedgerCase(context, str(number), rng, allowance)
        return cls(context, number, case, archive, horizon, island, memory, spent or Spent(), past=context.history)

    @property
    def turn(self) -> int:
        """Number of the round among those of its strategy; by default the number of the round."""
        return self.turn_of(self.number)

    def turn_of(self, number: int) -> int:
        """Return the turn of a round; 0 for a round of another strategy or of the seed."""
        return number if self.turns is None else self.turns(number)

    @property
    def rng(self) -> np.random.Generator:
        """Random generator of the round or branch."""
        return self.case.rng

    @property
    def used(self) -> Spent:
        """Budget spent by this round so far."""
        return self.case.used

    @property
    def replies(self) -> list[RecordedReply]:
        """Replies of the round in order, without those of branches."""
        return self.case.replies

    @property
    def problem(self) -> Problem:
        """Problem that is searched."""
        if self.context.hints:
            return self.context.problem_in(self.number)
        return self.context.problem

    @property
    def settings(self) -> Config:
        """Configuration of the run."""
        return self.context.settings

    @property
    def own(self) -> Any:
        """The strategy's own settings, or None."""
        if self.acting is None:
            return self.context.own
        return self.acting

    @property
    def window(self) -> int:
        """Rounds in flight at once."""
        return self.settings.strategy.window or 1

    def blocks(self) -> tuple[str, ...]:
        """Return building blocks of the problem for a prompt, by the settings; ``some`` are drawn for each prompt."""
        primitives, choice = self.problem.about.primitives, self.settings.strategy.blocks
        if choice is Blocks.SOME and primitives:
            return tuple(primitives[int(index)] for index in self.rng.permutation(len(primitives))[:SOME])
        if choice is Blocks.ALL:
            return primitives
        return ()

    @property
    def style(self) -> str:
        """Wording of the round's prompts: ``small`` or ``strong``."""
        shown = self.context.marks
        return choose_style(self.settings.model, shown[min(self.horizon + 1, len(shown) - 1)])

    def fill_template(self, template: str, style: str = "", /, **values: object) -> str:
        """Fill a template of the package or, in its place, of the user, by its name, as `PromptFolder.fill` does."""
        return PROMPTS.fill(template, style, self.context.own_templates, **values)

    def temperature(self, role: str) -> float | None:
        """Return the sampling temperature of a role in the strategy's settings; None: the model's own."""
        value: float | None = getattr(getattr(self.own, "temperatures", None), role, None)
        return value

    @property
    def room(self) -> int | None:
        """Tokens that a prompt may have; None if no model's context length is known."""
        return self.context.prompt_token_limit()

    @property
    def solutions(self) -> tuple[Candidate, ...]:
        """Solutions of this round that this branch can see."""
        return (*self.earlier, *(candidate for candidate in self.candidates if not candidate.is_probe))

    @property
    def moment(self) -> Moment:
        """State of the run at the next call: findings of running rounds, and the budget spent."""
        journal = self.context.journal
        if journal is None:
            return Moment(spent=self.spent)
        return journal.moment(self.case.call_position, self.horizon, self.context.spent_now)

    @property
    def rounds(self) -> list[list[Committed]]:
        """Candidates of each round that was committed before this one began, by round number."""
        return self.past[: self.horizon + 1]

    @property
    def history(self) -> list[Committed]:
        """Candidates that were committed before the round began, in order."""
        return [record for candidates in self.rounds for record in candidates]

    @property
    def scored(self) -> list[Committed]:
        """Scored programs that were committed before the round began, each once, in order."""
        by_fingerprint: dict[str, Committed] = {}
        for record in self.history:
            if record.placed:
                by_fingerprint.setdefault(record.candidate.fingerprint, record)
        return list(by_fingerprint.values())

    def fitness(self, record: Committed) -> float:
        """Return the score with the sign for which larger is better; raise ValueError without a score."""
        if record.score is None:
            raise ValueError(f"candidate {record.id} must have a score.")
        return self.archive.fitness(record.score)

    def seen(self, source: str) -> bool:
        """Return True if an equal program was evaluated before this round began, or in it."""
        try:
            source = self.experiments.pin_arrays(fit_to_frame(source, self.problem.signature))
        except CandidateError:
            return False
        fingerprint = self.context.scoring.fingerprint(source)
        return any(map(self._was_evaluated, (fingerprint, screened_text(fingerprint), ended_race_text(fingerprint))))

    def _was_evaluated(self, fingerprint: str) -> bool:
        return self._was_committed(fingerprint) or fingerprint in self._met

    def _was_committed(self, fingerprint: str) -> bool:
        number = self.context.committed.get(fingerprint)
        return number is not None and number <= self.horizon

    def repeats(self, candidate: Candidate) -> bool:
        """Return True if a candidate of this round equals one that was evaluated before it."""
        mine = [program for program in (*self.earlier, *self.candidates) if program is not candidate]
        return self._was_committed(candidate.fingerprint) or any(
            program.fingerprint == candidate.fingerprint for program in mine
        )

    def note(self, kind: str, text: str) -> None:
        """Store a note; it is committed with the round, and later rounds have it in ``memory``."""
        self.notes.append(RoundNote(self.number, kind, text))
        self.publish(kind, text, f"n{len(self.notes)}")

    def publish(self, kind: str, text: str, label: str) -> None:
        """Publish a text to other rounds at once, without a note; ``label`` names it in the branch."""
        if self.context.journal is not None:
            name = f"{self.number}.{self.case.branch}{label}"
            self.context.journal.add_note(name, RoundNote(self.number, kind, text))

    def recall(self, kind: str) -> list[RoundNote]:
        """Return all notes of a kind from earlier rounds, in order."""
        return [note for note in self.memory if note.kind == kind]

    async def fork(
        self,
        works: Sequence[Callable[["RoundContext"], Awaitable[T]]],
        islands: Sequence[int] = (),
        weights: Sequence[int] = (),
    ) -> list[T]:
        """Run several coroutines in parallel branches.

        Results are merged in the order of ``works``, not in order of time.

        A branch has its own random generator, its own numbering of calls, and a share of the remaining budget; what it
        does not use is returned. It sees candidates from before the fork, but none of other branches.

        Args:
            works: Coroutine function for each branch.
            islands: Island of each branch's candidates; by default that of this round.
            weights: Positive weights of the branches' shares of the budget; equal by default.

        Returns:
            Results in the order of ``works``.

        Raises:
            OragentError: The first error of a branch, raised after all branches ended. Errors that end the run take
                precedence over those that end only the round.
        """
        written = (*self.written, *self.notes)
        branches = [
            replace(
                self,
                case=case,
                candidates=[],
                notes=[],
                reply_problems=[],
                earlier=self.solutions,
                earlier_probes=self.probe_count,
                written=written,
                experiment_share=self.experiments.cpu_s_left / len(works),
                _met=set(self._met),
            )
            for case in self.case.open_branches(weights or [1] * len(works))
        ]
        for branch, island in zip(branches, islands, strict=False):
            branch.island = island
        try:
            return await wait_for_all([work(branch) for work, branch in zip(works, branches, strict=True)])
        finally:
            for branch in branches:
                self._merge_branch(branch)

    def _merge_branch(self, branch: "RoundContext") -> None:
        self.candidates += branch.candidates
        self.notes += branch.notes
        self.reply_problems += branch.reply_problems
        self.case.used += branch.used
        self._met |= branch._met

    def withhold_all_but(self, fingerprints: Collection[str]) -> None:
        """Exclude the programs of this round from the choice of parents, except those with these fingerprints."""
        self.candidates[:] = [
            candidate if candidate.fingerprint in fingerprints else replace(candidate, island=NOWHERE)
            for candidate in self.candidates
        ]

    def reject_impure(self, fingerprint: str, rejected: Evaluation) -> None:
        """Mark a program of this round as rejected, because it failed its check."""
        name = self.context.scoring.store_impure(fingerprint, rejected)
        if self.context.journal is not None:
            self.context.journal.reject_program(self.number, fingerprint)
        for at, candidate in enumerate(self.candidates):
            parents = tuple(name if parent == fingerprint else parent for parent in candidate.parents)
            changed = replace(candidate, parents=parents)
            if candidate.fingerprint == fingerprint and not candidate.is_probe:
                changed = replace(changed, fingerprint=name, evaluation=rejected)
            self.candidates[at] = changed

    def named_candidates(self) -> list[Candidate]:
        """Return the candidates of the round; fingerprints of parents from the same round are replaced by ids."""
        ids: dict[str, str] = {}
        named = []
        for position, candidate in enumerate(self.candidates):
            named.append(replace(candidate, parents=tuple(ids.get(parent, parent) for parent in candidate.parents)))
            # A probe has no children.
            if not candidate.is_probe or candidate.fingerprint not in ids:
                ids[candidate.fingerprint] = f"{self.number}.{position}"
        return named

    async def ask(
        self,
        role: str,
        messages: Sequence[Message],
        temperature: float | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> RecordedReply:
        """Send a prompt to the model of a role; the reply is stored before it is used.

        A role may have its own model and its own share of the budget. ``schema`` is a JSON schema of the reply, for
        servers that support one.

        Raises:
            BudgetExhausted: The budget does not allow the call.
            ModelError: The endpoint is unusable.
            Interrupted: The run is being stopped.
        """
        key = object()
        self.context.emit(EventKind.ASKED, self.number, {"role": role})
        self.context.asking[key] = RunningJob(f"{role}, round {self.number}", time.monotonic())
        try:
            asking = self.case.ask(role, messages, temperature, schema=schema)
            reply = await self.context.in_time(asking)
        finally:
            del self.context.asking[key]
        names = ("role", "model", "tokens_in", "tokens_out", "money", "seconds")
        self.context.emit(EventKind.REPLIED, self.number, {name: getattr(reply, name) for name in names})
        self._record_spending(reply.cost)
        return reply

    async def evaluate(
        self,
        source: str,
        parents: Sequence[str],
        origin: str,
        call: int | None = None,
        gate: Callable[[str], Gate | None] | None = None,
    ) -> Candidate:
        """Score a program, or use the score of an equal one; a failure is part of the returned candidate.

        ``parents`` are ids, or fingerprints for parents of the same round. ``origin`` is the operator or role, ``call``
        the number of the reply. ``gate`` returns the score that a new program must reach at one size; only then is it
        scored on all sizes.

        Raises:
            BudgetExhausted: No evaluation is left.
            Interrupted: The run is being stopped.
        """
        used, allowance = self.used, self.case.allowance
        self.case.check_may_continue(used.evaluations >= allowance.evaluations or used.work >= allowance.work)
        try:
            source = self.experiments.pin_arrays(fit_to_frame(source, self.problem.signature))
        except CandidateError as problem:
            return self.add_candidate(source, self.context.scoring.reject(source, str(problem)), parents, origin, call)
        seen = self.make_view(origin, parents)
        scored = await self.context.in_time(self.context.scoring.score(source, seen, gate))
        if scored.evaluation.was_started and not self._was_evaluated(scored.name):
            cost = Spent(evaluations=1, work=self.context.count_work(scored.evaluation))
            self.case.used += cost
            self._record_spending(cost)
        return self.add_candidate(source, scored, parents, origin, call)

    def _record_spending(self, spent: Spent) -> None:
        self.context.paid[self.number] = self.context.paid.get(self.number, Spent()) + spent

    def make_view(self, origin: str, parents: Sequence[str]) -> Seen:
        """Return the view that the scorer has of this round for one program."""
        what = self._describe_task(origin, parents)
        return Seen(
            self.archive, self.candidates, self._was_evaluated, self.context.check_may_continue, what, self.number
        )

    def _describe_task(self, origin: str, parents: Sequence[str]) -> str:
        if not self.number:
            return origin
        # Other parents are fingerprints of the same round.
        ids = [parent for parent in parents if "." in parent]
        return f"{origin}{f' of {ids[0]}' if ids else ''}, round {self.number}"

    @property
    def probe_count(self) -> int:
        """Number of probes that ran in this round so far, including those before a fork."""
        return self.earlier_probes + count_probes(self.candidates)

    @property
    def experiments(self) -> RoundExperiments:
        """Probes and sweeps of the round, which cost no evaluation."""
        return RoundExperiments(self)

    def reject(self, text: str, why: str, parents: Sequence[str], origin: str, call: int) -> Candidate:
        """Record a reply without a usable program, because it cost tokens and reports count it."""
        # The lines that follow are for the model, which wrote the program.
        rejected = self.context.scoring.reject(text, why.split("\n", 1)[0].removesuffix(NEAREST).rstrip(". "))
        return self.add_candidate(text, rejected, parents, origin, call)

    def add_candidate(
        self,
        source: str,
        scored: ScoredProgram,
        parents: Sequence[str],
        origin: str,
        call: int | None,
    ) -> Candidate:
        """Record a scored program as the next candidate of the round."""
        self.candidates.append(
            Candidate(
                source=source,
                fingerprint=scored.name,
                parents=tuple(parents),
                origin=origin,
                island=self.island,
                call=call,
                evaluation=scored.evaluation,
                branch=self.case.branch,
            )
        )
        self._met.add(scored.name)
        if scored.evaluation.status is Status.SCREENED:
            self._met.add(ended_race_text(scored.name))
        if self.context.journal is not None and origin != PROBE:
            label = f"{self.number}.{self.case.branch}p{len(self.candidates)}"
            self.context.journal.add_program(label, self.number, self.candidates[-1])
        if origin != PROBE:
            self.context.noticed(self.number, self.candidates[-1])
        return self.candidates[-1]


def count_probes(candidates: Sequence[Candidate]) -> int:
    """Count the probes that ran."""
    return sum(candidate.is_probe and candidate.evaluation.was_started for candidate in candidates)
