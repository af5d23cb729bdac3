"""Run an untrusted command with limits and report how it ended; ``runner.Sandbox`` is the entry point.

This file imports nothing: a guest imports ``sandbox.isolation`` and must not load the rest.
"""
