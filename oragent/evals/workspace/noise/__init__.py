"""Noise as real folders have it, planted with a record by which it is undone: the truth stays in the folder."""
