"""Algorithms: arrays in, arrays out, blind to the problem folder that calls them."""

__all__: list[str] = []
