"""Cooperative driving: vehicles that must weave on a short road between two junctions, simulated by SUMO.

What there is: the roads (``plans``), who drives on them (``demand``), kinds of vehicles and how they are
simulated (``rules``), one task (``scenario``), SUMO itself (``network``, ``simulation``, ``hosted``,
``connected``), what a controller sees and may do (``control``, ``driver``), the loop (``drive``), what comes out
(``counting``, ``metrics``, ``trials``), the published protocol (``protocol``), whole evaluations (``courses``,
``evaluation``), what to compare with (``controllers``, ``cooperative``, ``baseline``), and ``pictures``.
"""

__all__: list[str] = []
