"""Conversations about any optimisation model: operations, answers with references to results, scenarios, a page."""
