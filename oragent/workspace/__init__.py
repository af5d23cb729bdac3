"""Workspaces: optimisation models in persistent folders, tools of agents on their files, and checks of their work.

Zhou et al. 2026, "OR-Space: A Full-Lifecycle Workspace Benchmark for Industrial Optimization Agents".
"""

from oragent.workspace.tables import read_row_dicts as read_table

__all__ = ["read_table"]
