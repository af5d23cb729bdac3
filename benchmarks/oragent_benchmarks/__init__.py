"""Benchmarks and studies of oragent: ``oragent bench``."""
