"""Requests of commands. This module imports neither solver nor sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeSettings
from oragent.workspace.settings import NO_OPTIONS, EffortOptions

if TYPE_CHECKING:
    from oragent.sandbox.sandbox import Sandbox

# Roles in which models are called.
MODEL_ROLES = ("builder", "planner", "reviser", "explainer")


@dataclass(frozen=True)
class VerbRequest:
    """Request for a verb."""

    folder: Path
    runtime: RuntimeSettings = RuntimeSettings()  # noqa: RUF009  # a frozen value
    # Model to use instead of a server's.
    model: Model | None = None
    # Sandbox shared with others. None means a new one.
    sandbox: Sandbox | None = None
    # Workspace whose recorded replies are used instead of a model.
    replay: Path | None = None
    # Options of the command line; frozen, so that they can be a default.
    effort: EffortOptions = NO_OPTIONS
