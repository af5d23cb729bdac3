"""Fails when it is loaded."""
# expect: error

raise ValueError("not today")
