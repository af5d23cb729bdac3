"""Interactive optimisation: a decision problem explored by conversation, and the scoring of such conversations.

After Drossman, Jacquillat and Martin 2026 (arXiv:2604.02666). The package can be called: ``oragent.converse(model)`` is
``oragent.converse.api.converse``.
"""

from oragent._base.callable_package import make_callable

__all__: list[str] = []
make_callable(__name__, "api", "converse")
