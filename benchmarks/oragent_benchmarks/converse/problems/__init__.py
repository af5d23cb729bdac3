"""Decision problems for conversations; only this package contains the details of problems such as schools."""

__all__: list[str] = []
