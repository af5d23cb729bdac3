"""Benchmarks: cells of a plan that are run, resumed, summed up and tested; it knows no system of ours.

A system gives it ``Terms`` (what its parts are called), a ``Plan`` and a ``Runner``. Then ``Manifest.keep`` binds a
folder to the plan, ``execute`` sees to every cell, ``gather`` reads what came of them, ``summarise`` sums it up, and
``tables`` and ``charts`` show it.
"""
