"""Cooperative driving: vehicles that must weave on a short road between two junctions, simulated by SUMO.

What there is: the roads (``plans``), kinds of vehicles and how they are simulated (``rules``), one task and who
drives in it (``scenario``), SUMO itself (``network``, ``simulation``), what a controller sees and may do (``control``),
the loop (``drive``), what comes out (``metrics``, ``trials``), the published protocol (``protocol``), whole evaluations
(``courses``, ``evaluation``, ``scoring``), what to compare with (``controllers``, ``cooperative``), and ``pictures``.
"""

__all__: list[str] = []
