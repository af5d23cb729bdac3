"""Decision problems that people can talk about; nothing outside this folder knows what a school is."""

__all__: list[str] = []
