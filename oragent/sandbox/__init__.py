"""Run an untrusted command with limits and report how it ended; ``border.Sandbox`` is the entry point.

This face imports nothing: a guest imports ``sandbox.isolation`` and must not carry the rest.
"""
