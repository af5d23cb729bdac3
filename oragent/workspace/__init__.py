"""Optimisation models in folders that last: what a workspace is, what may be seen of it, how work on it is scored.

Zhou et al. 2026, "OR-Space: A Full-Lifecycle Workspace Benchmark for Industrial Optimization Agents".
"""

from oragent.workspace.tables import read_row_dicts as read_table

__all__ = ["read_table"]
