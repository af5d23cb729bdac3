"""The methods by name: the one that we follow, and its rivals, each on the same tools, evaluator and budget."""

from collections.abc import Awaitable, Callable, Mapping

from oragent.formulate.attempts import Attempt
from oragent.formulate.methods.standard import standard
from oragent.formulate.session import Session
from oragent.formulate.workflow import ormind

__all__ = ["METHODS", "Method"]

Method = Callable[[Session], Awaitable[Attempt]]

METHODS: Mapping[str, Method] = {
    "ormind": ormind,
    "standard": standard,
}
