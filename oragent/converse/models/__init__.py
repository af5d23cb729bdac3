"""Conversations about any optimisation model: operations, answers whose figures are references, scenarios, a page."""
