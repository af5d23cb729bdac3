"""Optimisation agents: four designs of Drossman et al. 2026 (arXiv:2604.02666) that ask models, and one by rules."""

__all__: list[str] = []
