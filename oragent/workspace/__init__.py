"""Optimisation models in folders that last: what a workspace is, what may be seen of it, how work on it is scored.

Zhou et al. 2026, "OR-Space: A Full-Lifecycle Workspace Benchmark for Industrial Optimization Agents".
"""

from oragent.workspace.program_tables import read_table

__all__ = ["read_table"]
