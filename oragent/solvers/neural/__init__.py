"""Neural solvers in PyTorch: POMO and LEHD, for the travelling salesman problem and for capacitated routing."""

__all__: list[str] = []
