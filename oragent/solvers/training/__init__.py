"""Training of the neural solvers' weights: ``oragent train``."""

__all__: list[str] = []
