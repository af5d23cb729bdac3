"""Cooperative driving: vehicles change lanes on a short road between two junctions, simulated by SUMO.

Modules: ``network`` (roads), ``rules`` (types of vehicles and simulation rules), ``scenario`` (one task and its
departures), ``simulation`` (interface to SUMO), ``control`` (inputs and actions of a controller), ``trials`` and
``metrics`` (simulation loop and its results), ``protocol`` (the published protocol), ``evaluation`` and ``scoring``
(complete evaluations), and ``pictures``. ``problems/driving/controllers.py`` has controllers for comparison.
"""

__all__: list[str] = []
