"""What all rounds of a run share: problem, settings, store, scorer, models, and the clock that ends them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from oragent._base.budget import Spent
from oragent._base.errors import BudgetExhausted, OragentError
from oragent.evaluation.pool import RunningJob
from oragent.evaluation.problem import Problem
from oragent.ledger import Interrupted, Replies
from oragent.llm.dialogue import prompt_token_limit
from oragent.llm.model import Model
from oragent.search.candidate import Candidate, Committed
from oragent.search.config import Config
from oragent.search.events import EventKind
from oragent.search.journal import Journal
from oragent.search.scoring import Scoring
from oragent.search.store import Store
from oragent.search.wording import ReplyCounts

T = TypeVar("T")


@dataclass
class RunContext:
    """State that all rounds of a run share.

    Attributes:
        problem: Problem that is searched.
        settings: Configuration of the run, with all that depends on the strategy filled in.
        own: Settings of the strategy's own; None where it has none.
        store: Database of the run.
        scoring: Scorer of programs.
        asked: Model that answers prompts; None where the strategy needs none.
        clock: Clock of the run's own time, in seconds.
        cast: Models that are asked in certain roles instead of ``asked``.
        committed: Number of the round in which each program was first committed, by its fingerprint.
        history: Candidates of every committed round, by its number; empty if the strategy does not look back.
        marks: What the replies of every committed round showed, by its number.
        probes: Number of probes that ran, up to every committed round, by its number; the first is 0.
        packages: Packages that programs may import.
        noticed: Callback that is told of each solution as soon as its evaluation ended, with the number of its round.
        stopped: Whether nothing new may begin.
        asking: Model calls under way, the oldest first.
        paid: Spending of each round that is not committed yet, by its number; what is not counted yet is not in it.
        resets: Numbers of the rounds after which islands started anew by the clock.
        hints: Hints of a user, each with the first round that it holds for.
        replace_model: Callback that may put a person in the place of a model.
        emit: Callback that gets the kind of an event, its round and its values.
        cut_short: Number of evaluations and model calls that were ended, as their time was over.
        journal: Findings of rounds under way, for prompts; None where prompts show the state of the round's beginning.
        spent: Spending of the committed rounds.
    """

    problem: Problem
    settings: Config
    own: Any
    store: Store
    scoring: Scoring
    asked: Model | None
    clock: Callable[[], float]
    cast: Mapping[str, Model] = field(default_factory=dict)
    committed: dict[str, int] = field(default_factory=dict)
    history: list[list[Committed]] = field(default_factory=list)
    marks: list[ReplyCounts] = field(default_factory=lambda: [ReplyCounts()])
    probes: list[int] = field(default_factory=lambda: [0])
    packages: tuple[str, ...] = ()
    noticed: Callable[[int, Candidate], None] = lambda number, candidate: None
    stopped: bool = False
    asking: dict[object, RunningJob] = field(default_factory=dict)
    paid: dict[int, Spent] = field(default_factory=dict)
    resets: set[int] = field(default_factory=set)
    cut_short: int = 0
    journal: Journal | None = None
    spent: Spent = field(default_factory=Spent)
    hints: list[tuple[int, str]] = field(default_factory=list)
    replace_model: Callable[[Model], Model] = lambda model: model
    emit: Callable[[EventKind, int, Mapping[str, object]], None] = lambda kind, number, data: None

    def problem_in(self, number: int) -> Problem:
        """Return the problem as prompts of a round describe it: with the hints that a user gave before it began."""
        hints = [text for first, text in self.hints if first <= number]
        if not hints:
            return self.problem
        about = self.problem.about
        told = "\n\n".join((about.description.strip(), *(f"A hint from the user: {text}" for text in hints)))
        return replace(self.problem, about=replace(about, description=told))

    @property
    def replies(self) -> Replies:
        """Table of the replies."""
        return self.store.replies

    def get_model(self, role: str) -> Model:
        """Return the model of a role.

        Raises:
            OragentError: if nobody is.
        """
        model = self.cast.get(role, self.asked)
        if model is None:
            raise OragentError("this strategy asks a model, and none is configured: use --model, or --strategy gp")
        return self.replace_model(model)

    @property
    def spent_now(self) -> Spent:
        """Spending of the committed rounds and of those under way."""
        return self.spent.add_all(list(self.paid.values()))

    def prompt_token_limit(self) -> int | None:
        """Tokens that a prompt may have; None where no model's context length is known."""
        config = self.settings
        return prompt_token_limit([*filter(None, [config.model]), *config.ensemble, *config.models.values()])

    def check_may_continue(self) -> None:
        """See that something new may begin; asked again when a worker is free, as many evaluations may have ended.

        Raises:
            Interrupted: if the run is being stopped.
            BudgetExhausted: if its time is used up.
        """
        if self.stopped:
            raise Interrupted("the run is being stopped")
        limit = self.settings.budget.seconds
        if limit is not None and self.clock() >= limit:
            raise BudgetExhausted(f"the budget of {limit:g} seconds is used up")

    async def in_time(self, work: Awaitable[T]) -> T:
        """Wait for what has begun, and no longer than the run's time and its grace: nothing may hold up its end.

        Raises:
            BudgetExhausted: if they are over before it has ended.
        """
        budget = self.settings.budget
        remaining_s = None if budget.seconds is None else max(0.0, budget.seconds + budget.grace_s - self.clock())
        try:
            async with asyncio.timeout(remaining_s) as deadline:
                return await work
        except TimeoutError:
            if not deadline.expired():
                raise
            self.cut_short += 1
            raise BudgetExhausted(f"the budget of {budget.seconds:g} seconds is used up, and its grace too") from None
