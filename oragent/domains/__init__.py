"""Problem domains: instances, reference streams, and objectives that believe no solver."""

__all__: list[str] = []
