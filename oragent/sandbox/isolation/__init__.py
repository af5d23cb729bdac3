"""Confinement of evaluations and candidates by the kernel."""

__all__: list[str] = []
