"""Genetic programming on syntax trees: analysis of expressions, places for variation, and operators."""
