"""Capture the models that an untrusted program solves: ``program.capture_program``.

``stage`` runs a program in the sandbox with a recorder for each modelling library. ``reading`` turns the files of the
recorders into indexed models, within limits.

This file imports nothing, because the sandbox imports ``stage`` and must not load the rest.
"""
