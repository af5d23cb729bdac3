"""What evaluators of attention biases share: one network or another, the same way to score."""

__all__: list[str] = []
