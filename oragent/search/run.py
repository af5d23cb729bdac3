"""The one object that a strategy is written against."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from oragent.budget import Spent
from oragent.errors import BudgetExhausted, CandidateError, OragentError
from oragent.evaluation import Evaluation, Job, cascade
from oragent.evaluation.pool import Pool
from oragent.evaluation.problem import Problem
from oragent.llm.context import fit_messages, room
from oragent.llm.model import Message, Model, Request
from oragent.programs import syntax
from oragent.protocol import Status
from oragent.sandbox import Limits
from oragent.search.archive import Archive
from oragent.search.folder import RunFolder
from oragent.search.novelty import too_near
from oragent.search.store import Note, Record, RecordedReply, Store, Trial

__all__ = ["Desk", "Interrupted", "Run", "Strategy"]

Strategy = Callable[["Run"], Awaitable[None]]
T = TypeVar("T")


class Interrupted(OragentError):
    """The run was stopped before this round was done; it is done again when the run is resumed."""


@dataclass
class Desk:
    """What all rounds of a run share.

    Attributes:
        folder: the run's folder, with problem and configuration.
        store: its database.
        pool: where evaluations run.
        model: answers prompts; None where the strategy needs none.
        limits: of an evaluation.
        clock: the run's own time, in seconds.
        cast: models that are asked in certain roles instead of ``model``.
        committed: the round in which each program was first committed, by its fingerprint.
        history: the candidates of every committed round, by its number; empty if the strategy does not look back.
        flying: evaluations under way, by the name under which they will be kept: equal programs are scored once.
        stopped: nothing new may begin.
    """

    folder: RunFolder
    store: Store
    pool: Pool
    model: Model | None
    limits: Limits
    clock: Callable[[], float]
    cast: Mapping[str, Model] = field(default_factory=dict)
    committed: dict[str, int] = field(default_factory=dict)
    history: list[list[Record]] = field(default_factory=list)
    flying: dict[str, asyncio.Task[Evaluation]] = field(default_factory=dict)
    stopped: bool = False


@dataclass
class Run:
    """One round's view of a run: it sees what was committed before it began, and pays for what it does.

    In a run object one thing is done after the other; what is to be done side by side goes into branches (``fork``).

    Attributes:
        desk: what it shares with other rounds.
        number: of the round.
        archive: as it was when the round began.
        rng: the round's, or the branch's, own generator.
        allowance: what it may use of the budget.
        horizon: the last round that was committed when it began.
        island: where its candidates belong.
        memory: what the rounds that were committed by then wrote down.
        spent: what those rounds used of the budget.
        branch: path of the branch within the round, such as ``0.2/``; empty for the round itself.
        used: what it has used of its allowance.
        trials: the candidates that it evaluated, in order.
        notes: what it writes down for later rounds and for reports.
    """

    desk: Desk
    number: int
    archive: Archive
    rng: np.random.Generator
    allowance: Spent
    horizon: int
    island: int
    memory: Sequence[Note] = ()
    spent: Spent = field(default_factory=Spent)
    branch: str = ""
    used: Spent = field(default_factory=Spent)
    trials: list[Trial] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    _calls: int = 0
    _forks: int = 0
    _met: set[str] = field(default_factory=set)  # fingerprints of what was evaluated here, or before a fork

    @property
    def problem(self) -> Problem:
        """What is searched."""
        return self.desk.folder.problem

    @property
    def room(self) -> int | None:
        """Tokens that a prompt may have; None where no model's context length is known."""
        config = self.desk.folder.config
        return room([*filter(None, [config.model]), *config.ensemble, *config.models.values()])

    @property
    def history(self) -> list[Record]:
        """The candidates that were committed before the round began, in their order."""
        return [record for candidates in self.desk.history[: self.horizon + 1] for record in candidates]

    def seen(self, source: str) -> bool:
        """Whether an equal program was tried before this round began, or in it."""
        fingerprint = syntax.fingerprint(source, self.problem.about.function)
        return self._knows(fingerprint) or self._knows(cascade.name_screened(fingerprint))

    def _knows(self, fingerprint: str) -> bool:
        return self.desk.committed.get(fingerprint, self.horizon + 1) <= self.horizon or fingerprint in self._met

    def note(self, kind: str, text: str) -> None:
        """Write something down: it is committed with the round, and in the memory of the rounds that begin then."""
        self.notes.append(Note(self.number, kind, text))

    def recall(self, kind: str) -> list[Note]:
        """All notes of a kind that earlier rounds left, in their order."""
        return [note for note in self.memory if note.kind == kind]

    async def fork(self, works: Sequence[Callable[["Run"], Awaitable[T]]], islands: Sequence[int] = ()) -> list[T]:
        """Do several things side by side, each in a branch; their findings are taken in their order, not in time's.

        A branch has a generator of its own, its own numbering of calls, and an even share of what is left to be used;
        what it leaves over comes back. It sees what was tried before the fork, and nothing of its siblings.

        Args:
            works: a coroutine function for each branch.
            islands: where each branch's candidates belong; without them, where this run's do.

        Returns:
            What each of them returned.

        Raises:
            OragentError: what the first of them raised that failed, after all have ended; of several kinds, one that
                ends the run and not only the round.
        """
        branches = [self._branched(place, len(works), rng) for place, rng in enumerate(self.rng.spawn(len(works)))]
        self._forks += 1
        for branch, island in zip(branches, islands, strict=False):
            branch.island = island
        tasks = (work(branch) for work, branch in zip(works, branches, strict=True))
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        for branch in branches:
            self._merge(branch)
        failed = [end for end in ended if isinstance(end, BaseException)]
        for problem in sorted(failed, key=lambda end: isinstance(end, BudgetExhausted)):
            raise problem
        return [end for end in ended if not isinstance(end, BaseException)]

    def _branched(self, place: int, count: int, rng: np.random.Generator) -> "Run":
        return replace(
            self,
            rng=rng,
            allowance=(self.allowance - self.used).part(place, count),
            branch=f"{self.branch}{self._forks}.{place}/",
            used=Spent(),
            trials=[],
            notes=[],
            _calls=0,
            _forks=0,
            _met=set(self._met),
        )

    def _merge(self, branch: "Run") -> None:
        self.trials += branch.trials
        self.notes += branch.notes
        self.used += branch.used
        self._met |= branch._met

    def named_trials(self) -> list[Trial]:
        """The round's candidates with their parents' fingerprints turned into ids, where the round itself has them."""
        ids: dict[str, str] = {}
        named = []
        for position, trial in enumerate(self.trials):
            named.append(replace(trial, parents=tuple(ids.get(parent, parent) for parent in trial.parents)))
            ids[trial.fingerprint] = f"{self.number}.{position}"
        return named

    async def ask(self, role: str, messages: Sequence[Message], temperature: float | None = None) -> RecordedReply:
        """Put a prompt to the model; the reply is in the store before anyone reads it.

        Args:
            role: what the model is asked as; a role may have a model of its own, and has its own account.
            messages: the conversation.
            temperature: None: the model's own.

        Raises:
            BudgetExhausted: if there is nothing left to pay it with.
            ModelError: if the endpoint cannot be used.
            Interrupted: if the run is being stopped.
        """
        self._admit(self.used.reaches(self.allowance))
        model = self.desk.cast.get(role, self.desk.model)
        if model is None:
            raise OragentError("this strategy asks a model, and none is configured: use --model, or --strategy gp")
        call, self._calls = self._calls, self._calls + 1
        fitted = tuple(fit_messages(messages, self.room))
        request = Request(role, fitted, temperature, key=f"{self.number}.{self.branch}{call}")
        reply = self.desk.store.reply(self.number, call, request.digest, self.branch)
        if reply is None:
            answer = await model(request)
            reply = RecordedReply(
                self.number, call, role, request.prompt, answer.text, answer.model, answer.tokens_in, answer.tokens_out,
                answer.money, answer.seconds, answer.retries, self.branch,
            )  # fmt: skip
            self.desk.store.keep_reply(reply, request.digest)
        self.used += Spent(model_calls=1, tokens=reply.tokens_in + reply.tokens_out, money=reply.cost or 0.0)
        return reply

    async def evaluate(self, source: str, parents: Sequence[str], origin: str, call: int | None = None) -> Trial:
        """Score a program, or take the score of an equal one.

        Args:
            source: its text.
            parents: ids of the candidates that it was made from; fingerprints of those of the same round.
            origin: what made it.
            call: the number of the reply that it came from.

        Returns:
            The candidate with how it did; a failure is data.

        Raises:
            BudgetExhausted: if there is no evaluation left to pay it with.
            Interrupted: if the run is being stopped.
        """
        self._admit(self.used.evaluations >= self.allowance.evaluations)
        fingerprint, evaluation = await self._score(source)
        if evaluation.ran and not self._knows(fingerprint):
            self.used += Spent(evaluations=1)
        return self._tried(Trial(source, fingerprint, tuple(parents), origin, self.island, call, evaluation))

    def reject(self, text: str, why: str, parents: Sequence[str], origin: str, call: int) -> Trial:
        """Take down a reply in which there was no usable program: it was paid for, and reports count it."""
        fingerprint, evaluation = self._rejected(text, why)
        return self._tried(Trial(text, fingerprint, tuple(parents), origin, self.island, call, evaluation))

    def _tried(self, trial: Trial) -> Trial:
        self.trials.append(replace(trial, branch=self.branch))
        self._met.add(trial.fingerprint)
        return self.trials[-1]

    def _rejected(self, text: str, why: str) -> tuple[str, Evaluation]:
        fingerprint = hashlib.sha256(text.encode(errors="replace")).hexdigest()
        return fingerprint, self._kept(fingerprint, Evaluation(Status.REJECTED, message=why))

    async def _score(self, source: str) -> tuple[str, Evaluation]:
        try:
            syntax.check(source, self.problem.signature)
        except CandidateError as problem:
            return self._rejected(source, str(problem))
        fingerprint = syntax.fingerprint(source, self.problem.about.function)
        near = None if self._knows(fingerprint) else self._near(source)
        if near:
            why = f"hardly differs from candidate {near}; change something that matters"
            return self._rejected(f"{source}\n{why}", why)  # not by its fingerprint: to another round it may be new
        quantile = self.desk.folder.config.cascade
        if quantile is None or self._knows(fingerprint):
            return fingerprint, await self._evaluated(fingerprint, source)
        return await self._in_stages(fingerprint, source, quantile)

    async def _in_stages(self, fingerprint: str, source: str, quantile: float) -> tuple[str, Evaluation]:
        """Score a program on ``train``, and on ``val`` if it does well there by what this round knows."""
        quick = await self._evaluated(cascade.name_on_train(fingerprint), source, mode="train")
        if quick.status is not Status.OK:
            return fingerprint, self._kept(fingerprint, quick)
        if not cascade.passes(quick, [one.metrics for one in self.archive.elites()], self.archive.direction, quantile):
            name = cascade.name_screened(fingerprint)
            return name, self._kept(name, cascade.screened(quick))
        full = await self._evaluated(fingerprint, source)
        return fingerprint, self._kept(fingerprint, cascade.with_train(full, quick))

    async def _evaluated(self, name: str, source: str, mode: str | None = None) -> Evaluation:
        """Take what is kept under a name, wait for who is at it already, or evaluate."""
        known = self.desk.store.evaluation(name)
        if known is not None:
            return known
        if name not in self.desk.flying:
            self.desk.flying[name] = asyncio.create_task(self._fly(name, source, mode))
        return await asyncio.shield(self.desk.flying[name])

    def _near(self, source: str) -> str | None:
        """The id of an elite, or the fingerprint of a program of this round, from which a program hardly differs."""
        threshold = self.desk.folder.config.strategy.novelty
        if not threshold:
            return None
        known = [(elite.id, elite.source) for elite in self.archive.elites()]
        known += [(trial.fingerprint, trial.source) for trial in self.trials if trial.evaluation.status is Status.OK]
        return too_near(source, known, threshold, self.problem.about.function)

    async def _fly(self, name: str, source: str, mode: str | None) -> Evaluation:
        folder = self.desk.folder
        job = Job(self.problem.evaluator, source, folder.root, self.desk.limits, mode, folder.config.problem_size)
        try:
            return self._kept(name, await self.desk.pool.evaluate(job, self._in_time))
        finally:
            del self.desk.flying[name]

    def _kept(self, fingerprint: str, evaluation: Evaluation) -> Evaluation:
        """Write an evaluation and read it back, so that a resumed run sees the very same."""
        self.desk.store.keep_evaluation(fingerprint, evaluation, self.desk.clock())
        return self.desk.store.evaluation(fingerprint) or evaluation

    def _admit(self, exhausted: bool) -> None:
        self._in_time()
        if exhausted:
            raise BudgetExhausted("what this round may use of the budget is used up")

    def _in_time(self) -> None:
        """Asked again when a worker is free: many evaluations may have ended since this one began to wait."""
        if self.desk.stopped:
            raise Interrupted("the run is being stopped")
        limit = self.desk.folder.config.budget.seconds
        if limit is not None and self.desk.clock() >= limit:
            raise BudgetExhausted(f"the budget of {limit:g} seconds is used up")
