"""Evolutionary search: problems are data, and candidates are texts."""
