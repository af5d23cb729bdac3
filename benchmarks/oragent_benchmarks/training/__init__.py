"""Training of the neural solvers' weights: ``oragent bench train``."""

__all__: list[str] = []
