"""Benchmarks of agents that build, revise and explain models in workspaces."""
