"""Genetic programming on syntax trees: what a program's parts stand for, where it can be varied, and the operators."""
