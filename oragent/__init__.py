"""oragent discovers heuristics for operations-research problems."""

__version__ = "0.1.0"
