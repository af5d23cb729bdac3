"""Measure whether a coding agent solves more tasks with a skill than without it."""
