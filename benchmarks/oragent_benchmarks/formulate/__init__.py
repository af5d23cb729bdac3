"""Benchmarks of methods that turn a problem in words into a model."""
