"""Duels: decide which of two programs is better, by paired evaluations until the answer is above the noise."""
