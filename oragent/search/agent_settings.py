"""The settings of the strategy ``or_agent``; the defaults are those of its published study where it names any."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le
from pydantic.dataclasses import dataclass

from oragent.settings import STRICT

__all__ = ["AgentSettings", "Temperatures"]

Temperature = Annotated[float, Ge(0), Le(2)]


@dataclass(frozen=True, config=STRICT)
class Temperatures:
    """How freely the model answers in each role, 0 to 2."""

    lead: Temperature = 1.0
    idea: Temperature = 1.3
    code: Temperature = 1.0
    experiment: Temperature = 1.0
    reflect: Temperature = 1.0


@dataclass(frozen=True, config=STRICT)
class AgentSettings:
    """One research round.

    Attributes:
        initial_ideas: Number of ideas of the first round, which only fills the archive: coded, debugged, not
            experimented on.
        ideas: Whether no more ideas are asked for than the ``budget`` can code, or always as many as these
            ``settings`` say, as in the study.
        parents: Number of programs at the root of a round that does not start from the elitist.
        children: Number of ideas for each leaf that is opened.
        depth: Depth of the tree; the root has depth 0.
        experiments: Most experiments on one solution.
        debugging: Most repairs of a program that fails: each gets its error back.
        tuning_evaluations: Number of evaluations that one tuning of constants takes; 0: constants are not tuned.
        elitist_period: Period, in rounds, at which the root is the elitist alone, as in the first round.
        elitist_enlargement: Factor on the number of ideas at the root of such a round.
        fast_crossover: Whether rounds that do not start from the elitist end at depth 1.
        tree: Rule by which the next leaf is chosen: the best one, or by PUCT, which also visits neglected branches.
        exploration: Weight of what is neglected, for PUCT.
        reflection_calls: How lessons of single experiments are asked for: by calls of their ``own``, or in the ``same``
            reply as the next experiment, as in the study; ``auto``: by calls of their own of a small model alone.
        reflection_period: Number of reports that the long-term memory has not taken in, from which on it is rewritten;
            it is in every round that starts from the elitist.
        memory_words: Length of the long-term memory in words, beyond which it is compressed.
        selection_temperature: Temperature of the draw of parents, in units of the step from the median score to the
            best; the mean over a cycle.
        temperature_cycle: Number of rounds in which the temperature falls from twice its mean to nearly nothing, and
            starts anew.
        temperatures: Sampling temperatures of the model, one for each role.
    """

    initial_ideas: Annotated[int, Ge(1)] = 20
    ideas: Literal["budget", "settings"] = "budget"
    parents: Annotated[int, Ge(1)] = 2
    children: Annotated[int, Ge(1)] = 2
    depth: Annotated[int, Ge(1)] = 3
    experiments: Annotated[int, Ge(0)] = 8
    debugging: Annotated[int, Ge(0)] = 2
    tuning_evaluations: Annotated[int, Ge(0)] = 24
    elitist_period: Annotated[int, Ge(1)] = 11
    elitist_enlargement: Annotated[int, Ge(1)] = 2
    fast_crossover: bool = False
    tree: Literal["best-first", "puct"] = "best-first"
    exploration: Annotated[float, Ge(0)] = 1.0
    reflection_calls: Literal["auto", "own", "same"] = "auto"
    reflection_period: Annotated[int, Ge(1)] = 10
    memory_words: Annotated[int, Ge(20)] = 300
    selection_temperature: Annotated[float, Gt(0)] = 0.5
    temperature_cycle: Annotated[int, Ge(1)] = 10
    temperatures: Temperatures = field(default_factory=Temperatures)
