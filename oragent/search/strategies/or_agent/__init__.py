"""OR-Agent: research rounds that grow a tree of ideas, experiment on each, and learn at three time scales.

Liu et al. 2026, "OR-Agent: Bridging Evolutionary Search and Structured Research for Automated Algorithm Discovery"
(arXiv:2602.13769). Five roles, each a function with its own prompts in ``search/prompts`` and, if so configured, its
own model and temperature: *lead* (``round``, ``reflection.rewrite``), *idea* (``ideas``), *code* (``coding``),
*experiment* (``experiments``), *reflect* (``reflection``).

Its settings are those of the study in ``configs/or_agent_paper.yaml``; ``docs/strategies.md`` lists every mechanism
with its source. Where we differ by any settings: a cell of the archive holds one program, so that of equally good ones
the shorter is the one that is drawn; scores are normalised so that better ones are preferred in both directions; each
experiment starts from the best solution seen, so that the return to it at the end needs no step of its own; a reply
that cannot be used ends an idea and no run; and equal programs are scored once.
"""

from oragent.search.config import Blocks
from oragent.search.strategies.or_agent.round import play_round
from oragent.search.strategies.or_agent.settings import AgentSettings
from oragent.search.strategy import Strategy

__all__ = ["STRATEGY", "play_round"]

# Its rounds do several things at once themselves, and each starts from all that was found before.
STRATEGY = Strategy(
    name="or_agent",
    round=play_round,
    islands=4,
    window=1,
    blocks=Blocks.SOME,
    features=True,
    standing=True,
    history=True,
    live=True,
    settings=AgentSettings,
    has_section=True,
)
