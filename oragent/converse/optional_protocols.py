"""What a decision problem may offer besides: a shorter limit, a frontier, a chart, changes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from oragent.converse.decision import DecisionProblem, Solved
from oragent.converse.remark import AnswerRemark
from oragent.converse.state import RestrictionState
from oragent.milp.changes import ModelChange
from oragent.milp.model import Milp, Sense
from oragent.milp.ranking import RankingQuestion, RankingReading


@dataclass(frozen=True)
class Chart:
    """Bars that show a decision.

    Attributes:
        title: Title above them.
        goal: Name of the expression of which each bar is a part, so that a bound on it can be drawn across.
        bars: Label and height of each, heights in natural units of the expression.
    """

    title: str
    goal: str
    bars: tuple[tuple[str, float], ...]


@runtime_checkable
class Charted(Protocol):
    """A problem whose decisions have a chart."""

    def chart(self, decision: str) -> Chart:
        """The chart of a decision."""


@runtime_checkable
class Editable(Protocol):
    """A problem whose own rows, bounds and coefficients can be changed."""

    @property
    def original(self) -> Milp:
        """The model as it came, without any change."""

    def changed(self, changes: Iterable[ModelChange]) -> DecisionProblem:
        """The problem of the original model with changes."""

    def limits(self, name: str) -> tuple[float, float] | None:
        """Return the model's own limits of an expression, natural units; None if it sets no limit."""

    def search(self, text: str) -> str:
        """Rows and variables by words of their names and meanings."""

    def describe_values(self, decision: str, words: Sequence[str] | None) -> str:
        """Rows and variables that words name with their values in a decision; None: the rows that bind."""


@runtime_checkable
class Ranked(Protocol):
    """A problem whose things can be ranked by cost or size."""

    def list_readings(self, decision: str, ranking: RankingQuestion) -> list[RankingReading]:
        """Figures by which a ranking of things can be made; none where no name says what the things are."""


@dataclass(frozen=True)
class AnswerContext:
    """An answer, and what it can be checked against.

    Attributes:
        text: Text of the answer, which is not trusted.
        presented: Decisions that the answer presents.
        solved: Decisions that a solver returned before the answer.
        earlier: Decisions of earlier answers, the default first.
        calls: Results of the tools that were called for it.
        state: Model in force; None where nobody knows.
    """

    text: str
    presented: Sequence[str] = ()
    solved: Sequence[str] = ()
    earlier: Sequence[str] = ()
    calls: Sequence[str] = ()
    state: RestrictionState | None = None


@runtime_checkable
class AnswerChecker(Protocol):
    """A problem that checks what an answer states against the calls that were made and the model in force."""

    def check_answer(
        self, context: AnswerContext, solve: Callable[[RestrictionState], Solved] | None
    ) -> Sequence[AnswerRemark]:
        """Check every statement that is understood; ``solve`` solves states, None leaves claims unknown."""


@runtime_checkable
class Extremes(Protocol):
    """A problem that knows the least and the most of an expression, whichever of them is better."""

    def extreme(self, state: RestrictionState, position: int, sense: Sense) -> Solved:
        """The least or the most that an expression can be in a state."""


@runtime_checkable
class Explored(Protocol):
    """A problem that knows what one objective can be had for what other one."""

    def frontier(self) -> tuple[tuple[float, float], ...] | None:
        """Values of the first two objectives of which neither can be improved alone; None where they are not known."""


@runtime_checkable
class Hurried(Protocol):
    """A problem that can be solved in less time."""

    def with_time_limit(self, limit_s: float) -> DecisionProblem:
        """The same problem with so many seconds for a solve."""
