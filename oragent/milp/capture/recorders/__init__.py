"""Recorders of modelling libraries: each has ``install(module, recorder)``. They run in the sandbox."""
