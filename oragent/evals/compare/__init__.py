"""Comparisons of strategies on the same problems, seeds and budget."""
