"""OR-Agent: research rounds that grow a tree of ideas, run experiments on each, and learn at three time scales.

Liu et al. 2026, "OR-Agent: Bridging Evolutionary Search and Structured Research for Automated Algorithm Discovery"
(arXiv:2602.13769). There are five roles. Each has its own prompts in ``search/prompts`` and, if configured, its own
model and temperature: *lead* (``round``, ``reflection.rewrite``), *idea* (``ideas``), *code* (``coding``),
*experiment* (``experiments``), *reflect* (``reflection``).

``configs/or_agent_paper.yaml`` has the settings of the study; ``docs/strategies.md`` lists every mechanism with its
source. Differences that no setting removes: a cell of the archive holds one program, the shorter of equally good ones.
Scores are normalised so that better ones are preferred in both directions. Each experiment starts from the best
solution so far, so no final step returns to it. An unusable reply ends an idea, not the run. Equal programs are scored
once.
"""

from oragent.search.config import Blocks
from oragent.search.strategies.or_agent.round import play_round
from oragent.search.strategies.or_agent.settings import AgentSettings
from oragent.search.strategy import Strategy

__all__ = ["STRATEGY", "play_round"]

# A round runs several branches at once, and starts from all earlier results.
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
