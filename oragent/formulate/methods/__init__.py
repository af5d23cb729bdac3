"""Formulation methods by name. All use the same tools, evaluator and budget.

Methods of the literature, with which the benchmarks compare, are in their distribution.
"""

from collections.abc import Awaitable, Callable, Mapping

from oragent._base.distribution import import_benchmarks
from oragent.formulate.methods.ormind import ormind
from oragent.formulate.methods.two_calls import two_calls
from oragent.formulate.options import check_known
from oragent.formulate.session import FormulationAttempt, FormulationSession
from oragent.formulate.spending import BASELINE_CALLS

__all__ = ["METHODS", "Method", "find_method"]

Method = Callable[[FormulationSession], Awaitable[FormulationAttempt]]

METHODS: Mapping[str, Method] = {"two_calls": two_calls, "ormind": ormind}


def find_method(name: str) -> Method:
    """Return the method of a name.

    Raises:
        ConfigError: There is none, or it is one of the benchmarks and these are not installed.
    """
    check_known(name, [*METHODS, *BASELINE_CALLS], "method")
    if name in METHODS:
        return METHODS[name]
    method: Method = import_benchmarks("formulate.baselines", f"method {name!r}").BASELINES[name]
    return method
