"""What-if questions with executed answers: reading them, and telling whether an answer is right."""

__all__: list[str] = []
