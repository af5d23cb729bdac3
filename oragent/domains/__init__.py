"""Problem domains: instances, reference streams, and objectives that are computed independently of solvers."""

__all__: list[str] = []
