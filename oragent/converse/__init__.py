"""Conversations about an optimisation model.

The package can be called: ``oragent.converse(model)`` is ``oragent.converse.api.converse``.
"""

from oragent._base.callable_package import make_callable

__all__: list[str] = []
make_callable(__name__, "api", "converse")
