"""State that all rounds of a run share: problem, settings, store, scorer, models, their wording, and the clock."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from oragent._base.budget import Spent
from oragent._base.errors import BudgetExhausted, OragentError
from oragent._base.prompt_templates import PromptFolder
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.capabilities import read_work
from oragent.evaluation.pool import RunningJob
from oragent.evaluation.problem import Problem
from oragent.ledger import Interrupted, Replies
from oragent.llm.dialogue import prompt_token_limit
from oragent.llm.model import Model
from oragent.llm.model_settings import ModelSettings
from oragent.search.candidate import Candidate, Committed
from oragent.search.config import Config
from oragent.search.events import EventKind
from oragent.search.journal import Journal
from oragent.search.scoring import Scoring
from oragent.search.store import Store

SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)
# Maximum size of a small model, in billions of parameters, as read from its name.
SMALL_B = 9.0
# Number of programs after which the replies of a model determine its style.
MIN_STYLE_PROGRAMS = 6
# Minimum shares of usable and of scored programs of a model that its name makes small, before it counts as strong.
USABLE, SCORED = 0.85, 0.6
# Minimum shares of these of another model, before it counts as small. Single edits that do not match are no sign of it.
MIN_USABLE, MIN_SCORED = 0.6, 0.4


# Templates of the prompts of searches.
PROMPTS = PromptFolder("oragent.search")
T = TypeVar("T")


@dataclass(frozen=True)
class ReplyCounts:
    """Counts over the replies of some rounds."""

    # Number of requested programs.
    programs: int = 0
    # Number of usable programs in first replies.
    usable: int = 0
    # Number of programs that were scored or timed out. A timeout does not indicate a weak model.
    scored: int = 0

    def __add__(self, counts: "ReplyCounts") -> "ReplyCounts":
        return ReplyCounts(self.programs + counts.programs, self.usable + counts.usable, self.scored + counts.scored)


def count_replies(candidates: Sequence[Candidate]) -> ReplyCounts:
    """Count how many programs of a round were written, usable and scored."""
    written = [candidate for candidate in candidates if candidate.call is not None]
    firsts = [candidate for candidate in written if candidate.origin != "repair"]
    usable = [candidate for candidate in firsts if candidate.evaluation.status is not Status.REJECTED]
    ran = [record for record in written if record.score is not None or record.evaluation.status is Status.TIMEOUT]
    return ReplyCounts(len(written), len(usable), len(ran))


def choose_style(model: ModelSettings | None, shown: ReplyCounts) -> str:
    """Return the style of a model's prompts, ``small`` or ``strong``, from settings, replies so far or model size."""
    if model is not None and model.style != "auto":
        return model.style
    size = SIZE.search(model.name) if model else None
    is_small = size is not None and float(size[1]) <= SMALL_B
    if shown.programs >= MIN_STYLE_PROGRAMS:
        usable, scored = (USABLE, SCORED) if is_small else (MIN_USABLE, MIN_SCORED)
        is_small = shown.usable < usable * shown.programs or shown.scored < scored * shown.programs
    return "small" if is_small else "strong"


@dataclass
class RunContext:
    """State that all rounds of a run share."""

    # Problem of the run.
    problem: Problem
    # Configuration of the run, with the defaults of the strategy filled in.
    settings: Config
    # Settings of the strategy, or None.
    own: Any
    # Database of the run.
    store: Store
    # Scorer of programs.
    scoring: Scoring
    # Model that answers prompts; None if the strategy needs none.
    asked: Model | None
    # Clock of the run's own time, in seconds.
    clock: Callable[[], float]
    # Models of single roles that replace ``asked``.
    cast: Mapping[str, Model] = field(default_factory=dict)
    # First round of each program, by fingerprint.
    committed: dict[str, int] = field(default_factory=dict)
    # Candidates by round. Empty if the strategy does not read them.
    history: list[list[Committed]] = field(default_factory=list)
    # Counts of replies by round.
    marks: list[ReplyCounts] = field(default_factory=lambda: [ReplyCounts()])
    # Cumulative number of probes by round; the first entry is 0.
    probes: list[int] = field(default_factory=lambda: [0])
    # Packages that programs may import.
    packages: tuple[str, ...] = ()
    # Function that is called with each solution as soon as it is scored.
    noticed: Callable[[int, Candidate], None] = lambda number, candidate: None
    # True if no new work may begin.
    stopped: bool = False
    # Running model calls, oldest first.
    asking: dict[object, RunningJob] = field(default_factory=dict)
    # Running sweeps with their progress, oldest first.
    sweeping: dict[object, RunningJob] = field(default_factory=dict)
    # Spending so far of uncommitted rounds.
    paid: dict[int, Spent] = field(default_factory=dict)
    # Numbers of the rounds after which islands were reset by time.
    resets: set[int] = field(default_factory=set)
    # Number of evaluations and model calls that were ended at the time limit of the run.
    cut_short: int = 0
    # Journal; None if prompts show the state at the beginning of the round.
    journal: Journal | None = None
    # Budget used by the committed rounds.
    spent: Spent = field(default_factory=Spent)
    # Units of work of the seed heuristic; 0 if its evaluator reports none.
    seed_work: float = 0.0
    # CPU seconds per second of the clock in the evaluation of the seed, at most 1; less on a busy machine.
    core_share: float = 1.0
    # Hints of the user, each with its first round.
    hints: list[tuple[int, str]] = field(default_factory=list)
    # Function that may replace a model by answers of the user.
    replace_model: Callable[[Model], Model] = lambda model: model
    # Function that is called with the kind, round and values of each event.
    emit: Callable[[EventKind, int, Mapping[str, object]], None] = lambda kind, number, data: None

    @cached_property
    def own_templates(self) -> Mapping[str, str]:
        """Templates of prompts from the folder of the user, by name."""
        return PROMPTS.read_own(Path(self.settings.prompts)) if self.settings.prompts else {}

    def problem_in(self, number: int) -> Problem:
        """Return the problem for the prompts of a round, with the hints that a user gave before the round began."""
        hints = [text for first, text in self.hints if first <= number]
        if not hints:
            return self.problem
        about = self.problem.about
        description = "\n\n".join((about.description.strip(), *(f"A hint from the user: {text}" for text in hints)))
        return replace(self.problem, about=replace(about, description=description))

    @property
    def replies(self) -> Replies:
        """Table of the replies."""
        return self.store.replies

    def get_model(self, role: str) -> Model:
        """Return the model of a role."""
        model = self.cast.get(role, self.asked)
        if model is None:
            raise OragentError("this strategy needs a model: name one with --model, or use --strategy gp")
        return self.replace_model(model)

    @property
    def spent_now(self) -> Spent:
        """Budget used by committed and running rounds."""
        return self.spent.add_all(list(self.paid.values()))

    def count_work(self, evaluation: Evaluation) -> float:
        """Return the units of work of a candidate's evaluation; those of the seed for a program without a report."""
        units = read_work(evaluation.metrics)
        return self.seed_work if units is None else units

    def prompt_token_limit(self) -> int | None:
        """Maximum number of tokens of a prompt; None if no model's context length is known."""
        config = self.settings
        return prompt_token_limit([*filter(None, [config.model]), *config.ensemble, *config.models.values()])

    def check_may_continue(self) -> None:
        """Raise an error if no new work may begin. It is called again when a worker is free.

        Raises Interrupted if the run is being stopped, BudgetExhausted if its time is used up.
        """
        if self.stopped:
            raise Interrupted("the run is being stopped")
        limit = self.settings.budget.seconds
        if limit is not None and self.clock() >= limit:
            raise BudgetExhausted(f"the budget of {limit:g} seconds is used up")

    async def in_time(self, work: Awaitable[T]) -> T:
        """Wait for running work until the time limit of the run and its grace period are over, so that the run can end.

        Raises:
            BudgetExhausted: The time is over before the work is finished.
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
            raise BudgetExhausted(
                f"the budget of {budget.seconds:g} seconds is used up, including its grace period"
            ) from None
