"""The one object that a strategy is written against."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from oragent.errors import BudgetExhausted, CandidateError, OragentError
from oragent.llm.model import Message, Model
from oragent.protocol import Status
from oragent.sandbox import Evaluation, Job, Limits, Pool
from oragent.search import syntax
from oragent.search.archive import Archive
from oragent.search.budget import Spent
from oragent.search.folder import RunFolder
from oragent.search.problem import Problem
from oragent.search.store import RecordedReply, Store, Trial

__all__ = ["Desk", "Interrupted", "Run", "Strategy"]

Strategy = Callable[["Run"], Awaitable[None]]


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
        committed: the round in which each program was first committed, by its fingerprint.
        flying: evaluations under way, by fingerprint, so that equal programs are scored once.
        stopped: nothing new may begin.
    """

    folder: RunFolder
    store: Store
    pool: Pool
    model: Model | None
    limits: Limits
    clock: Callable[[], float]
    committed: dict[str, int] = field(default_factory=dict)
    flying: dict[str, asyncio.Task[Evaluation]] = field(default_factory=dict)
    stopped: bool = False


@dataclass
class Run:
    """One round's view of a run: it sees what was committed before it began, and pays for what it does.

    Attributes:
        desk: what it shares with other rounds.
        number: of the round.
        archive: as it was when the round began.
        rng: the round's own generator.
        spent: of the budget, when the round began.
        horizon: the last round that was committed then.
        used: what the round itself has spent.
        trials: the candidates that it evaluated, in order.
    """

    desk: Desk
    number: int
    archive: Archive
    rng: np.random.Generator
    spent: Spent
    horizon: int
    used: Spent = field(default_factory=Spent)
    trials: list[Trial] = field(default_factory=list)

    @property
    def problem(self) -> Problem:
        """What is searched."""
        return self.desk.folder.problem

    @property
    def island(self) -> int:
        """The round's island: they take turns."""
        return self.number % self.archive.islands

    def seen(self, source: str) -> bool:
        """Whether an equal program was tried before this round began, or in it."""
        fingerprint = syntax.fingerprint(source, self.problem.about.function)
        known = self.desk.committed.get(fingerprint, self.horizon + 1) <= self.horizon
        return known or any(trial.fingerprint == fingerprint for trial in self.trials)

    async def ask(self, role: str, messages: Sequence[Message], temperature: float | None = None) -> RecordedReply:
        """Put a prompt to the model; the reply is in the store before anyone reads it.

        Raises:
            BudgetExhausted: if there is nothing left to pay it with.
            ModelError: if the endpoint cannot be used.
            Interrupted: if the run is being stopped.
        """
        self._admit()
        if self.desk.model is None:
            raise OragentError("this strategy asks a model, and none is configured: use --model, or --strategy gp")
        prompt = json.dumps([vars(message) for message in messages])
        key = hashlib.sha256(f"{role}\n{temperature}\n{prompt}".encode()).hexdigest()
        call = self.used.model_calls
        reply = self.desk.store.reply(self.number, call, key)
        if reply is None:
            answer = await self.desk.model(messages, temperature=temperature)
            reply = RecordedReply(
                self.number, call, role, prompt, answer.text, answer.model, answer.tokens_in, answer.tokens_out,
                answer.cost, answer.seconds, answer.retries,
            )  # fmt: skip
            self.desk.store.keep_reply(reply, key)
        self.used += Spent(model_calls=1, tokens=reply.tokens_in + reply.tokens_out, money=reply.cost or 0.0)
        return reply

    async def evaluate(self, source: str, parents: Sequence[str], origin: str, call: int | None = None) -> Trial:
        """Score a program, or take the score of an equal one.

        Args:
            source: its text.
            parents: ids of the candidates that it was made from.
            origin: what made it.
            call: the number of the reply that it came from.

        Returns:
            The candidate with how it did; a failure is data.

        Raises:
            BudgetExhausted: if there is nothing left to pay it with.
            Interrupted: if the run is being stopped.
        """
        self._admit()
        fingerprint, evaluation = await self._score(source)
        trial = Trial(source, fingerprint, tuple(parents), origin, self.island, call, evaluation)
        if evaluation.ran and not self.seen(source):
            self.used += Spent(evaluations=1)
        self.trials.append(trial)
        return trial

    def reject(self, text: str, why: str, parents: Sequence[str], origin: str, call: int) -> Trial:
        """Take down a reply in which there was no usable program: it was paid for, and reports count it."""
        fingerprint, evaluation = self._rejected(text, why)
        trial = Trial(text, fingerprint, tuple(parents), origin, self.island, call, evaluation)
        self.trials.append(trial)
        return trial

    def _rejected(self, text: str, why: str) -> tuple[str, Evaluation]:
        fingerprint = hashlib.sha256(text.encode(errors="replace")).hexdigest()
        return fingerprint, self._kept(fingerprint, Evaluation(Status.REJECTED, message=why))

    async def _score(self, source: str) -> tuple[str, Evaluation]:
        try:
            syntax.check(source, self.problem.signature)
        except CandidateError as problem:
            return self._rejected(source, str(problem))
        fingerprint = syntax.fingerprint(source, self.problem.about.function)
        known = self.desk.store.evaluation(fingerprint)
        if known is not None:
            return fingerprint, known
        if fingerprint not in self.desk.flying:
            self.desk.flying[fingerprint] = asyncio.create_task(self._fly(fingerprint, source))
        return fingerprint, await asyncio.shield(self.desk.flying[fingerprint])

    async def _fly(self, fingerprint: str, source: str) -> Evaluation:
        job = Job(self.problem.evaluator, source, self.desk.folder.root, self.desk.limits)
        try:
            return self._kept(fingerprint, await self.desk.pool.evaluate(job))
        finally:
            del self.desk.flying[fingerprint]

    def _kept(self, fingerprint: str, evaluation: Evaluation) -> Evaluation:
        """Write an evaluation and read it back, so that a resumed run sees the very same."""
        self.desk.store.keep_evaluation(fingerprint, evaluation, self.desk.clock())
        return self.desk.store.evaluation(fingerprint) or evaluation

    def _admit(self) -> None:
        if self.desk.stopped:
            raise Interrupted("the run is being stopped")
        total = self.spent + self.used
        exceeded = self.desk.folder.config.budget.exceeded(replace(total, seconds=self.desk.clock()))
        if exceeded:
            raise BudgetExhausted(exceeded)
