"""Interactive optimisation: a decision problem explored by conversation, and the scoring of such conversations.

After Drossman, Jacquillat and Martin 2026 (arXiv:2604.02666).
"""

__all__: list[str] = []
