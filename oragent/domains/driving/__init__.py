"""Cooperative driving: vehicles that must weave on a short road between two junctions, simulated by SUMO.

What there is: the road (``network``), who drives on it (``vehicles``, ``demand``), one task (``scenario``), SUMO itself
(``installation``, ``simulation``, ``hosted``, ``connected``), what a controller sees and may do (``control``), the loop
(``drive``), what comes out (``outputs``, ``metrics``), what to compare with (``controllers``, ``baseline``), and
pictures of it (``pictures``).
"""

__all__: list[str] = []
