"""Interface of a decision problem: options, costs, display and parsing of decisions.

A short text identifies a decision, such as one letter per item: equal texts are the same decision.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Protocol, runtime_checkable

from oragent._base.errors import ConfigError
from oragent._base.text_format import join_some
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Row
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import SolveStatus
from oragent_benchmarks.converse.problems.programs import ProgramForm
from oragent_benchmarks.converse.state import RestrictionState

MAX_QUOTE_LENGTH, MAX_NAMED = 60, 12
# Tolerance below the maximum, for rounding errors in sums of a few products.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Goal:
    """An expression that can be bounded; objectives also have weights.

    Attributes:
        name: Name in tools, such as ``total_weight``.
        word: Word in conversations, such as ``weight``.
        unit: Natural unit, such as ``kg``.
        terms: Coefficients by variable of the model, in units of the model.
        constant: Constant added to the terms, in units of the model.
        scale: Number of natural units per unit of the model, such as 1,000.
        model_unit: Unit of the model, such as ``tonnes``.
    """

    name: str
    word: str
    unit: str
    terms: Mapping[str, float] = field(hash=False)
    constant: float = 0.0
    scale: float = 1.0
    model_unit: str = ""
    sense: Sense = Sense.MINIMIZE
    meaning: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """Names of the parts of a decision.

    Attributes:
        tool: Name of the tool that fixes and forbids options, such as ``fix_day``.
        item: Name of its first argument, such as ``crew``.
        option: Name of its second argument, such as ``day``.
        options: Values of the second argument; empty if any number is allowed.
        decision: Word for a whole decision, such as ``roster``.
        lower_bounds: Whether lower bounds are useful.
        said: Word for an option in conversations, such as ``day of work``; empty means ``option``.
        unsaid: Ending of options that a line omits, such as a unit.
    """

    tool: str
    item: str
    option: str
    options: tuple[str, ...] = ()
    decision: str = "solution"
    lower_bounds: bool = False
    said: str = ""
    unsaid: str = ""

    @property
    def spoken(self) -> str:
        """Word for an option in conversations."""
        return self.said or self.option

    def brief(self, option: str) -> str:
        """Return an option in the short form for a line."""
        return option.removesuffix(self.unsaid)


@dataclass(frozen=True)
class ProposedDecisions:
    """Decisions that a text proposes.

    Attributes:
        decisions: Distinct complete decisions, in the order of the text.
        problems: One line for each proposal that is not a complete decision.
    """

    decisions: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Solved:
    """Result of solving a state.

    Attributes:
        decision: Best decision; empty if the solver found none.
        gap: Relative distance to the proven bound; 0 for an optimal decision.
    """

    status: SolveStatus
    decision: str = ""
    gap: float = 0.0


class DecisionProblem(Protocol):
    """Decision problem of a conversation."""

    @property
    def name(self) -> str:
        """Name of the problem."""

    @property
    def base(self) -> IndexedModel:
        """Model whose rows no request can remove."""

    @property
    def goals(self) -> int:
        """Number of objectives; they are the first entries of ``expressions``."""

    @property
    def expressions(self) -> tuple[Goal, ...]:
        """Expressions that can be bounded; the objectives are first."""

    @property
    def protected(self) -> tuple[str, ...]:
        """Names of constraints of the base model that cannot be removed."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Names of the parts of a decision."""

    @property
    def first(self) -> Solved:
        """Opening decision of a conversation, and its gap to the proven bound."""

    @property
    def default(self) -> str:
        """Opening decision of a conversation."""

    def item(self, text: str) -> str:
        """Return the item that a text names; raise ``ConfigError`` unless it names exactly one."""

    def option(self, item: str, text: str) -> str:
        """Return the option of an item that a text names; raise ``ConfigError`` if it names none."""

    def options(self, item: str) -> tuple[str, ...]:
        """Return all options of an item; empty if they are not listed."""

    def short(self, item: str) -> str:
        """Return a short unique name of an item."""

    def rows(self, item: str, option: str, forbid: bool) -> tuple[Row, ...]:
        """Return the rows that fix or forbid an option of an item."""

    def decision(self, values: Mapping[str, float]) -> str:
        """Return the decision that corresponds to values of the base model's variables."""

    def features(self, decision: str) -> tuple[float, ...]:
        """Return the values of all expressions in natural units, recomputed from the decision."""

    def headline(self, decision: str) -> str:
        """Return a decision as one short word, such as its letters; empty if it has no such form."""

    def render(self, decision: str) -> str:
        """Return a decision as Markdown, with its objectives."""

    def read(self, text: str) -> ProposedDecisions:
        """Read every complete decision in an untrusted text, and the errors of incomplete ones."""

    def chosen(self, decision: str) -> Mapping[str, str]:
        """Return the option of each item."""

    def setting(self) -> str:
        """Describe the problem and its model to an optimisation agent."""

    def known(self) -> str:
        """Describe the problem to a decision agent, without its model."""

    @property
    def program(self) -> ProgramForm:
        """Return the formulation that C-P agents edit."""

    def solve(self, state: RestrictionState) -> Solved:
        """Return the decision of least weighted cost in a state; objectives of weight 0 break ties."""


def format_figure(value: float) -> str:
    """Format a number with separators, such as ``2,453`` or ``19.5``."""
    return f"{round(value, 6) + 0.0:,.12g}"


def goal_named(problem: DecisionProblem, text: str) -> int:
    """Return the position of the expression that a name or word refers to.

    Raises:
        ConfigError: No expression has that name or word.
    """
    wanted_name = text.strip().casefold()
    for position, goal in enumerate(problem.expressions):
        if wanted_name in (goal.name.casefold(), goal.word.casefold()):
            return position
    raise unknown_name_error(text, [goal.word for goal in problem.expressions], "objective")


def unknown_name_error(text: str, names: Sequence[str], what: str) -> ConfigError:
    """Return the error for an unknown name, with the nearest known one; the name is escaped for the terminal."""
    quoted = text if len(text) <= MAX_QUOTE_LENGTH else f"{text[: MAX_QUOTE_LENGTH - 3]}..."
    near = get_close_matches(text[:MAX_QUOTE_LENGTH], names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"expected one of {join_some(names, MAX_NAMED)}"
    return ConfigError(f"{quoted!r} is no {what}; {hint}")


@dataclass(frozen=True)
class Judged:
    """Score of a decision.

    Attributes:
        maximum: Greatest utility of any decision.
        met: Satisfied parts of the preferences, in words.
        missed: Unsatisfied parts, in words, with the values that they require.
    """

    value: float
    maximum: float
    met: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """Utility divided by the maximum; 1 if the maximum is 0."""
        if self.maximum:
            return self.value / self.maximum
        return 1.0

    @property
    def success(self) -> bool:
        """True if the utility reaches the maximum."""
        return self.value >= self.maximum - TOLERANCE


class Judge(Protocol):
    """Scores decisions; the optimisation agent has no access to it."""

    def __call__(self, decision: str, /) -> Judged:
        """Return the score of a decision, recomputed from its text."""


@runtime_checkable
class Extremes(Protocol):
    """A problem that can compute the smallest and the largest value of an expression."""

    def extreme(self, state: RestrictionState, position: int, sense: Sense) -> Solved:
        """Return the smallest or largest value of an expression in a state."""
