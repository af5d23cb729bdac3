"""Sets of what-if questions on models as folders, run by gold lines, by a large or by a small language model."""
