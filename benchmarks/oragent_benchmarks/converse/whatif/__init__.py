"""Sets of what-if questions on models, answered by gold lines, a large or a small language model."""
