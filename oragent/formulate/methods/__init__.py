"""The methods by name: the one that we follow, and its rivals, each on the same tools, evaluator and budget.

The answer of a rival is its last program, as in its source; the best program is kept by ``ormind`` alone.
"""

from collections.abc import Awaitable, Callable, Mapping

from oragent.formulate.methods.ormind import ormind
from oragent.formulate.methods.rivals import (
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
from oragent.formulate.session import FormulationAttempt, FormulationSession

__all__ = ["METHODS", "Method"]

Method = Callable[[FormulationSession], Awaitable[FormulationAttempt]]

METHODS: Mapping[str, Method] = {
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
