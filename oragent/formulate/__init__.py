"""Turn a problem in words into a solved, checked and explained model.

The package can be called: ``oragent.formulate(text, data, model)`` is ``oragent.formulate.api.formulate``.
"""

from oragent._base.callable_package import make_callable

__all__: list[str] = []
make_callable(__name__, "api", "formulate")
