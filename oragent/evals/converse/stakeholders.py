"""Stakeholders of a decision, each with a hidden utility; an evaluation needs them from its problem.

A user's problem takes part in an evaluation through its method ``stakeholders``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from oragent.converse.decision import Judge
from oragent.converse.state import Restriction
from oragent.llm.callable import ScriptedReply
from oragent.llm.model import Request as LlmRequest

# role in which a model that plays a stakeholder is asked
DECIDER = "decider"
# restrictions of one request, in place of earlier ones
Request = tuple[Restriction, ...]


@dataclass(frozen=True)
class Wish:
    """A wish that a decision meets or not.

    Attributes:
        asked: Restriction that a decision respects where it meets the wish.
        weight: Weight in the utility.
    """

    asked: Restriction
    weight: float


@dataclass(frozen=True)
class Profile:
    """Description of a stakeholder in words and figures.

    Attributes:
        traits: Traits by which tables group it, by name.
        facts: Facts in the tiles of its transcripts, by name.
        utility: Utility in full, for who reads a transcript afterwards.
        characters: Character by role, as a language model that plays it is told.
        wishes: Wishes in words, as the same model is told them.
        worth: Markdown table of outcomes and what they are worth, likewise; empty where there is none.
        secrets: Figures that it must never say, between 0 and 1.
    """

    traits: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    utility: str = ""
    characters: Mapping[str, str] = field(default_factory=dict)
    wishes: str = ""
    worth: str = ""
    secrets: tuple[float, ...] = ()


class Stakeholder(Judge, Protocol):
    """Person with a hidden utility, by which they judge decisions."""

    @property
    def wishes(self) -> Sequence[Wish]:
        """All that it wants, the wish of a first request first; of equal weights the first is given up first."""

    @property
    def outcomes(self) -> Sequence[Request]:
        """Requests by falling utility; the last one is always possible."""

    @property
    def best(self) -> tuple[str, ...]:
        """Decisions of greatest utility: the only one, or two of several."""

    @property
    def profile(self) -> Profile:
        """Traits and texts of the stakeholder."""

    def record(self) -> Mapping[str, Any]:
        """Its utility as JSON has it, such as ``Stakeholders.of`` reads."""


@dataclass(frozen=True)
class PersonaTexts:
    """Words of a problem for language models that play its stakeholders; each has a general default.

    Attributes:
        roles: Roles that they play, drawn evenly.
        about: Subject of the decision, in the plural.
        table: Parts of the decision to describe to somebody who knows nothing of it, as a list.
        wishes: Wishes that they may have, as a list.
        examples: Sentences such as they would say, by style.
        script: Script of a stand-in for the models of both sides; None where there is none.
    """

    roles: tuple[str, ...] = ("somebody whom the decision concerns",)
    about: str = "decisions"
    table: str = "what can be chosen, what it is now, and what matters"
    wishes: str = "all that you wish for"
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    script: Callable[[LlmRequest], ScriptedReply] | None = None


class Stakeholders(Protocol):
    """All whom a problem can be evaluated with."""

    @property
    def telling(self) -> PersonaTexts:
        """Words for language models that play them."""

    def generated(self, rng: np.random.Generator, functions: int = 0) -> Sequence[Stakeholder]:
        """One for each decision worth reaching; with ``functions`` so many of random parameters, for contrast."""

    def of(self, record: Mapping[str, Any]) -> tuple[Stakeholder, tuple[str, ...]]:
        """The stakeholder of a record, and one line for each thing that is doubtful about it.

        Raises:
            ConfigError: The record, which is not trusted, is of none.
        """


@runtime_checkable
class Evaluable(Protocol):
    """A problem that an evaluation can be about."""

    def stakeholders(self) -> Stakeholders:
        """Its stakeholders; ``ConfigError`` where it is too large to know what they can have."""


@dataclass(frozen=True)
class Diversity:
    """Diversity of a set of utilities."""

    utilities: int
    unique: int
    optima: int


def measure_diversity(stakeholders: Iterable[Stakeholder]) -> Diversity:
    """Count how many utilities have one maximiser only, and how many decisions those are."""
    optima = [stakeholder.best for stakeholder in stakeholders]
    only = [best[0] for best in optima if len(best) == 1]
    return Diversity(len(optima), len(only), len(set(only)))


@dataclass(frozen=True)
class Published:
    """Figures in print, as texts; all empty where nothing was published.

    Attributes:
        note: Source of the figures, and how far they can be compared.
        utilities: Number of utilities that they are of.
        conversations: Number of conversations of an agent.
        paradigms: Score / success in percent by style, then paradigm.
        agents: The same by style and feedback, then agent.
        turns: Mean number of turns, likewise.
        models: Rows of model, T-P-P, C-N-R, relative gain, difference in success, turns and solver calls of T-P-P.
        ends: Number of ends by the maximum, by itself and at the limit, by agent.
    """

    note: str = ""
    utilities: int = 0
    conversations: int = 0
    paradigms: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    agents: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    turns: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    models: Sequence[tuple[str, ...]] = ()
    ends: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
