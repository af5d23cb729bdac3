"""Requests of commands, in a module that imports neither solver nor sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeSettings
from oragent.workspace.settings import NO_OPTIONS, EffortOptions

if TYPE_CHECKING:
    from oragent.sandbox.sandbox import Sandbox

# roles in which models are asked
MODEL_ROLES = ("builder", "planner", "reviser", "explainer")


@dataclass(frozen=True)
class VerbRequest:
    """Request of a verb."""

    folder: Path
    runtime: RuntimeSettings = RuntimeSettings()  # noqa: RUF009  # a frozen value
    # in place of a server's
    model: Model | None = None
    # that others share; None for one of its own
    sandbox: Sandbox | None = None
    # workspace whose replies are given again, and nobody is asked
    replay: Path | None = None
    # a frozen value
    effort: EffortOptions = NO_OPTIONS
