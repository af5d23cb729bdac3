"""Recorders of modelling libraries. Each has ``install(module, recorder)`` and runs in the sandbox."""
