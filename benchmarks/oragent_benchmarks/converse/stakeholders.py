"""Stakeholders of a decision, each with a hidden utility. Evaluations need them.

The problem of a user supports evaluation if it has a method ``stakeholders``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from oragent.llm.callable import ScriptedReply
from oragent.llm.model import Request as LlmRequest
from oragent_benchmarks.converse.decision import Judge
from oragent_benchmarks.converse.state import Restriction

# Role of a model that plays a stakeholder.
DECIDER = "decider"
# Restrictions of one request, which replace earlier ones.
Request = tuple[Restriction, ...]


@dataclass(frozen=True)
class Wish:
    """A wish that a decision meets or does not meet.

    Attributes:
        asked: Restriction that a decision must respect to fulfil the wish.
        weight: Weight in the utility.
    """

    asked: Restriction
    weight: float


@dataclass(frozen=True)
class Profile:
    """Description of a stakeholder in words and figures.

    Attributes:
        traits: Traits that group it in tables, by name.
        facts: Facts shown at the top of its transcripts, by name.
        utility: Complete utility, for readers of a transcript.
        characters: Description of the character by role, for the prompt of a language model that plays it.
        wishes: Wishes in words, for the same prompt.
        worth: Markdown table of outcomes and their values, for the same prompt. Empty without a table.
        secrets: Figures between 0 and 1 that it must never reveal.
    """

    traits: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    utility: str = ""
    characters: Mapping[str, str] = field(default_factory=dict)
    wishes: str = ""
    worth: str = ""
    secrets: tuple[float, ...] = ()


class Stakeholder(Judge, Protocol):
    """Person with a hidden utility, who judges decisions."""

    @property
    def wishes(self) -> Sequence[Wish]:
        """All wishes. The wish of a first request comes first; of equal weights, the first is dropped first."""

    @property
    def outcomes(self) -> Sequence[Request]:
        """Requests by decreasing utility. The last one is always feasible."""

    @property
    def best(self) -> tuple[str, ...]:
        """Decisions of greatest utility: the only one, or two of them."""

    @property
    def profile(self) -> Profile:
        """Traits and texts of the stakeholder."""

    def record(self) -> Mapping[str, Any]:
        """Return its utility as a JSON record that ``Stakeholders.of`` reads."""


@dataclass(frozen=True)
class PersonaTexts:
    """Texts of a problem for language models that play its stakeholders. Each has a general default.

    Attributes:
        roles: Roles that they play, drawn uniformly.
        about: Subject of the decision, in the plural.
        table: Parts of the decision that are described to a person without any knowledge of it.
        wishes: List of possible wishes.
        examples: Example sentences, by style.
        script: Script of a scripted model for both sides. None without a script.
    """

    roles: tuple[str, ...] = ("somebody whom the decision concerns",)
    about: str = "decisions"
    table: str = "what can be chosen, what it is now, and what matters"
    wishes: str = "all that you wish for"
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    script: Callable[[LlmRequest], ScriptedReply] | None = None


class Stakeholders(Protocol):
    """All stakeholders of a problem."""

    @property
    def telling(self) -> PersonaTexts:
        """Texts for language models that play them."""

    def generated(self, rng: np.random.Generator, functions: int = 0) -> Sequence[Stakeholder]:
        """Generate one for each target decision, or ``functions`` stakeholders with random parameters."""

    def of(self, record: Mapping[str, Any]) -> tuple[Stakeholder, tuple[str, ...]]:
        """Return the stakeholder of a record, and one line for each doubtful property.

        Raises:
            ConfigError: The untrusted record does not describe a stakeholder.
        """


@runtime_checkable
class Evaluable(Protocol):
    """A problem that supports evaluation."""

    def stakeholders(self) -> Stakeholders:
        """Return its stakeholders. Raise ``ConfigError`` if its possible outcomes are too many to compute."""


@dataclass(frozen=True)
class Diversity:
    """Diversity of a set of utilities."""

    utilities: int
    unique: int
    optima: int


def measure_diversity(stakeholders: Iterable[Stakeholder]) -> Diversity:
    """Count the utilities with exactly one maximiser, and the different decisions among these maximisers."""
    optima = [stakeholder.best for stakeholder in stakeholders]
    only = [best[0] for best in optima if len(best) == 1]
    return Diversity(len(optima), len(only), len(set(only)))


@dataclass(frozen=True)
class Published:
    """Published figures as texts. All are empty if no figure was published.

    Attributes:
        note: Source of the figures, and limits of the comparison.
        utilities: Number of utilities behind the figures.
        conversations: Number of conversations of an agent.
        paradigms: Score / success in percent by style, then paradigm.
        agents: Score / success in percent by style and feedback, then agent.
        turns: Mean number of turns by style and feedback, then agent.
        models: Rows of model, T-P-P, C-N-R, relative gain, difference in success, turns and solver calls of T-P-P.
        ends: Number of ends by the maximum, by the agent itself and by the limit, by agent.
    """

    note: str = ""
    utilities: int = 0
    conversations: int = 0
    paradigms: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    agents: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    turns: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    models: Sequence[tuple[str, ...]] = ()
    ends: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
