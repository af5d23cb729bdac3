"""The methods by name: the one that we follow, and its rivals, each on the same tools, evaluator and budget.

The answer of a rival is its last program, as in its source; the best program is kept by ``ormind`` alone.
"""

from collections.abc import Awaitable, Callable, Mapping

from oragent.formulate.attempts import FormulationAttempt
from oragent.formulate.methods.coe import coe
from oragent.formulate.methods.cot import cot
from oragent.formulate.methods.optimus import optimus
from oragent.formulate.methods.progressive_hint import progressive_hint
from oragent.formulate.methods.react import react
from oragent.formulate.methods.reflexion import reflexion
from oragent.formulate.methods.spp import spp
from oragent.formulate.methods.standard import standard
from oragent.formulate.methods.tot import got, tot
from oragent.formulate.session import FormulationSession
from oragent.formulate.workflow import ormind

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
