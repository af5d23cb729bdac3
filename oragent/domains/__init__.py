"""Problem domains: instances, reference streams, and objectives that do not trust solvers."""

__all__: list[str] = []
