"""What was published of a problem: figures that stand beside those that are measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


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
