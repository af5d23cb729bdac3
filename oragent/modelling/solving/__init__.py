"""Solve models: back ends, linearisation, bounds, and recomputation of every claim."""
