"""Optimisation agents: four designs of Drossman et al. 2026 (arXiv:2604.02666) with a model, and one with rules."""

__all__: list[str] = []
