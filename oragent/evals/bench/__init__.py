"""Benchmarks of any system: the cells of a plan are run, resumed, summarised and tested.

A system provides ``BenchTerms`` (names of its parts), a ``BenchPlan`` and a ``CellRunner``. ``Manifest.write_plan``
binds a folder to the plan, ``execute_plan`` runs every cell, ``gather_results`` reads the results,
``summarise_results`` summarises them, and ``tables`` and ``charts`` show them.
"""
