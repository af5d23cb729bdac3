"""Benchmarks: cells of a plan that are run, resumed, summed up and tested; it knows no system of ours."""
