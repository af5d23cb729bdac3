"""Strategies: each is one round of search, a coroutine that reads like its paper."""

from oragent.search.run import Strategy
from oragent.search.strategies import eoh, funsearch, gp, mcts_ahd, or_agent, random_search, reevo

__all__ = ["REMEMBERING", "STRATEGIES"]

STRATEGIES: dict[str, Strategy] = {
    "eoh": eoh.round,
    "funsearch": funsearch.round,
    "gp": gp.round,
    "mcts_ahd": mcts_ahd.round,
    "or_agent": or_agent.round,
    "random": random_search.round,
    "reevo": reevo.round,
}
# Those that look back on every candidate; for the others the archive is enough, and memory does not grow.
REMEMBERING = frozenset({"eoh", "funsearch", "mcts_ahd", "reevo"})
