"""Decision agents without a model: each is the list of requests that it makes, in order, until one can be met."""

__all__: list[str] = []
