"""Cooperative driving: vehicles that must weave on a short road between two junctions, simulated by SUMO.

What there is: the roads (``plans``, ``long_roads``, ``network``), who drives on them (``vehicles``, ``demand``), how
that is run and counted (``rules``, ``counting``), one task (``scenario``), SUMO itself (``installation``,
``simulation``, ``hosted``, ``connected``), what a controller sees and may do (``control``, ``driver``), the loop
(``drive``), what comes out (``outputs``, ``metrics``, ``trials``), the published protocol (``protocol``), whole
evaluations (``courses``, ``evaluation``), what to compare with (``controllers``, ``cooperative``, ``baseline``), and
pictures (``pictures``, ``diagrams``).
"""

__all__: list[str] = []
