"""Capture the models that an untrusted program solves: ``program.capture_program``.

``stage`` runs a program in the sandbox with a recorder for each modelling library. ``reading`` turns what the
recorders wrote into indexed models, within bounds.

This file imports nothing: the sandbox imports ``stage`` and must not load the rest.
"""
