"""The study of OR-Agent (Liu et al. 2026, arXiv:2602.13769) by one command a table or figure.

A layout says problems, contestants and budget; the runs are those of a comparison, which the command goes on with when
it is given again; the table is the study's own, with its figures beside ours.
"""
