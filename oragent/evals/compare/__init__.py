"""Comparisons: strategies on the same problems, seeds and budget; run, resumed, summed up and reported."""
