"""Benchmarks of agents that explore decision problems by conversation, with simulated stakeholders."""
