"""Run an untrusted command with limits and report how it ended; ``sandbox.Sandbox`` is the entry point.

This file imports nothing: candidate processes import ``sandbox.isolation`` and must not load the rest.
"""
