"""Strategies: each is one round of search, a coroutine that reads like its paper."""

from oragent.search.run import Strategy
from oragent.search.strategies import funsearch, gp

__all__ = ["STRATEGIES"]

STRATEGIES: dict[str, Strategy] = {"funsearch": funsearch.round, "gp": gp.round}
