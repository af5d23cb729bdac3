"""Formulation methods by name. All use the same tools, evaluator and budget.

As in the published methods, the answer of a baseline is its last program.
"""

from collections.abc import Awaitable, Callable, Mapping

from oragent.formulate.methods.baselines import (
    coe,
    cot,
    got,
    optimus,
    progressive_hint,
    react,
    reflexion,
    spp,
    standard,
    tot,
)
from oragent.formulate.methods.ormind import ormind
from oragent.formulate.methods.two_calls import two_calls
from oragent.formulate.session import FormulationAttempt, FormulationSession

__all__ = ["METHODS", "Method"]

Method = Callable[[FormulationSession], Awaitable[FormulationAttempt]]

METHODS: Mapping[str, Method] = {
    "two_calls": two_calls,
    "ormind": ormind,
    "standard": standard,
    "cot": cot,
    "progressive_hint": progressive_hint,
    "tot": tot,
    "got": got,
    "react": react,
    "reflexion": reflexion,
    "spp": spp,
    "coe": coe,
    "optimus": optimus,
}
