"""Independent samples: a model is told the problem and writes a program, over and over; the best one counts.

The baseline of "best of N" that every search with a model must beat (Zhang et al. 2024, "Understanding the importance
of evolutionary search in automated heuristic design with large language models", arXiv:2407.10873). No sample sees an
earlier program, not even the seed. One difference remains: a reply without a usable program is sent back once, as all
strategies do.
"""

from oragent.search.config import Blocks
from oragent.search.round_context import RoundContext
from oragent.search.strategies.operators import apply_operator
from oragent.search.strategy import Strategy


async def play_round(run: RoundContext) -> None:
    """Draw one sample."""
    await apply_operator(run, "i1", [])


STRATEGY = Strategy(name="random", round=play_round, blocks=Blocks.NONE, tuning=0.0)
