"""A decision problem as data: what can be decided, what it costs, and how a decision is shown and read.

A decision is a short text that identifies it, such as one letter an item: two equal texts are the same decision.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Protocol, runtime_checkable

from oragent._base.errors import ConfigError
from oragent._base.text_format import join_some
from oragent.converse.problems.programs import ProgramForm
from oragent.converse.state import RestrictionState
from oragent.milp.model import Milp, Row, Sense
from oragent.milp.solution import SolveStatus

LONGEST_QUOTE, MOST_NAMED = 60, 12
# Below the maximum, as sums of a few products.
ENOUGH = 1e-9


@dataclass(frozen=True)
class Goal:
    """An expression that can be bounded, and weighed where it is an objective.

    Attributes:
        name: Name by which tools know it, such as ``total_weight``.
        word: Word by which people know it, such as ``weight``.
        unit: Natural unit, such as ``kg``.
        terms: Coefficients by variable of the model, in units of the model.
        constant: Constant added to the terms, in units of the model.
        scale: Natural units in one unit of the model, such as 1,000.
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
    """What the parts of a decision are called.

    Attributes:
        tool: Name of the tool that fixes and forbids, such as ``fix_day``.
        item: Name of its first argument, such as ``crew``.
        option: Name of its second argument, such as ``day``.
        options: Values of the second argument; empty where it is any number.
        decision: Word for a whole decision, such as ``roster``.
        lower_bounds: Whether lower bounds make sense, too.
        said: Word of people for an option, such as ``day of work``; empty: ``option``.
        unsaid: Ending of options that goes without saying in a line, such as a unit.
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
        """Word that people use for an option."""
        return self.said or self.option

    def brief(self, option: str) -> str:
        """An option as a line has it."""
        return option.removesuffix(self.unsaid)


@dataclass(frozen=True)
class ProposedDecisions:
    """What a text proposes.

    Attributes:
        decisions: Different full decisions, in the order of the text.
        problems: Problems, one line for each proposal that is no full decision.
    """

    decisions: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Solved:
    """What solving a state came to.

    Attributes:
        decision: Decision that was found; empty without one.
        gap: Relative distance to what is proven; 0 where the decision is optimal.
    """

    status: SolveStatus
    decision: str = ""
    gap: float = 0.0


class DecisionProblem(Protocol):
    """A problem that people can talk about."""

    @property
    def name(self) -> str:
        """Name of the problem."""

    @property
    def base(self) -> Milp:
        """The model that no request can break."""

    @property
    def goals(self) -> int:
        """Number of objectives: they are the first of ``expressions``."""

    @property
    def expressions(self) -> tuple[Goal, ...]:
        """Expressions that can be bounded; objectives come first."""

    @property
    def protected(self) -> tuple[str, ...]:
        """Names of constraints of the base model that cannot be removed."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Words for its parts."""

    @property
    def first(self) -> Solved:
        """Decision that a conversation opens with, and its gap to the proven bound."""

    @property
    def default(self) -> str:
        """The decision that a conversation opens with."""

    def item(self, text: str) -> str:
        """The one item that a text can mean; ``ConfigError`` where it means none or several."""

    def option(self, item: str, text: str) -> str:
        """The option of an item that a text means; ``ConfigError`` where it means none."""

    def options(self, item: str) -> tuple[str, ...]:
        """All options of an item; empty where it has no list of them."""

    def short(self, item: str) -> str:
        """A short name of an item that only it has."""

    def rows(self, item: str, option: str, forbid: bool) -> tuple[Row, ...]:
        """Rows that give an item an option, or forbid it."""

    def decision(self, values: Mapping[str, float]) -> str:
        """The decision that values of the base model's variables make."""

    def features(self, decision: str) -> tuple[float, ...]:
        """Values of all expressions, natural units, recomputed from the decision alone."""

    def headline(self, decision: str) -> str:
        """A decision in one short word, such as its letters; empty where it has none."""

    def render(self, decision: str) -> str:
        """A decision as Markdown for people, with its objectives."""

    def read(self, text: str) -> ProposedDecisions:
        """Every full decision in a text, and what is wrong with the others; nothing in the text is trusted."""

    def chosen(self, decision: str) -> Mapping[str, str]:
        """The option of each item."""

    def setting(self) -> str:
        """Describe the problem and its model to an optimisation agent."""

    def known(self) -> str:
        """Describe the problem to a decision agent, without its model."""

    @property
    def program(self) -> ProgramForm:
        """The formulation that C-P agents edit."""

    def solve(self, state: RestrictionState) -> Solved:
        """The decision of least weighted cost in a state; objectives of weight 0 decide among equals."""


def format_figure(value: float) -> str:
    """A figure as people write it: ``2,453`` or ``19.5``."""
    return f"{round(value, 6) + 0.0:,.12g}"


def goal_named(problem: DecisionProblem, text: str) -> int:
    """The position of the expression that a name or a word means.

    Raises:
        ConfigError: It means none.
    """
    wanted_name = text.strip().casefold()
    for position, goal in enumerate(problem.expressions):
        if wanted_name in (goal.name.casefold(), goal.word.casefold()):
            return position
    raise unknown_name_error(text, [goal.word for goal in problem.expressions], "objective")


def unknown_name_error(text: str, names: Sequence[str], what: str) -> ConfigError:
    """The error for a name that nobody knows, with the nearest one; nothing of it reaches a terminal raw."""
    if len(text) <= LONGEST_QUOTE:
        quoted = text
    else:
        quoted = f"{text[: LONGEST_QUOTE - 3]}..."
    near = get_close_matches(text[:LONGEST_QUOTE], names, n=1, cutoff=0.5)
    if near:
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"expected one of {join_some(names, MOST_NAMED)}"
    return ConfigError(f"{quoted!r} is no {what}; {hint}")


@dataclass(frozen=True)
class Judged:
    """What a decision is worth.

    Attributes:
        maximum: Greatest utility of any decision.
        met: Parts of the wish that are met, in words.
        missed: Parts that are not, in words, with what they would take.
    """

    value: float
    maximum: float
    met: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """Utility over the maximum; 1 where nothing is worth anything."""
        if self.maximum:
            return self.value / self.maximum
        return 1.0

    @property
    def success(self) -> bool:
        """True if the maximum is reached."""
        return self.value >= self.maximum - ENOUGH


class Judge(Protocol):
    """Judges decisions; the optimisation agent never meets it."""

    def __call__(self, decision: str, /) -> Judged:
        """Judge a decision, recomputed from itself."""


@runtime_checkable
class Extremes(Protocol):
    """A problem that knows the least and the most of an expression, whichever of them is better."""

    def extreme(self, state: RestrictionState, position: int, sense: Sense) -> Solved:
        """The least or the most that an expression can be in a state."""
