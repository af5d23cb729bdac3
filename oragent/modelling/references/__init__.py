"""Figures in answers as references to results."""
