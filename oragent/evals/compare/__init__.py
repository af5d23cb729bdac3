"""Comparisons: strategies on the same problems, seeds and budget; run, resumed, summarised and reported."""
