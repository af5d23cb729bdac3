"""Measurements: benchmark driver, comparisons, studies, and one package per product."""
