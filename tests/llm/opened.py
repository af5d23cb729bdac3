"""Open models from their settings alone, as most tests of models do."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from oragent.llm.factory import Models, open_models
from oragent.llm.model_settings import ModelSettings, RuntimeSettings


def models(
    settings: ModelSettings,
    *,
    roles: Mapping[str, ModelSettings] | None = None,
    ensemble: Sequence[ModelSettings] = (),
    **given: Any,
) -> AbstractAsyncContextManager[Models]:
    """Open a main model, with others beside it."""
    return open_models(RuntimeSettings(settings, dict(roles or {}), tuple(ensemble)), **given)
