"""Benchmark of skills: a coding agent works on tasks with and without a skill."""
