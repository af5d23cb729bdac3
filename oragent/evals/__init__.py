"""Measurements: the benchmark driver, comparisons, studies, and one package for each product."""
