"""Cooperative driving: vehicles that must weave on a short road between two junctions, simulated by SUMO.

What there is: the roads (``network``), kinds of vehicles and how they are simulated (``rules``), one task and who
drives in it (``scenario``), SUMO itself (``simulation``), what a controller sees and may do (``control``), the loop and
what comes out (``trials``, ``metrics``), the published protocol (``protocol``), whole evaluations (``evaluation``,
``scoring``), what to compare with (``controllers``), and ``pictures``.
"""

__all__: list[str] = []
