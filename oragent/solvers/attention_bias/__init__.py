"""Shared parts of the evaluators of attention biases: the tasks of the networks, scoring, and serving."""

__all__: list[str] = []
