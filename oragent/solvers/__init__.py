"""Algorithms on arrays, independent of the problem folders that call them."""

__all__: list[str] = []
