"""Requests of commands, in a module that imports neither solver nor sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeSettings

if TYPE_CHECKING:
    from oragent.sandbox.sandbox import Sandbox

MODEL_ROLES = ("builder", "planner", "reviser", "explainer")  # roles in which models are asked


@dataclass(frozen=True)
class EffortOptions:
    """Options of the command line; None if not given."""

    time: float | None = None  # CPU seconds
    gap: float | None = None  # relative
    memory: int | None = None  # MiB


@dataclass(frozen=True)
class VerbRequest:
    """Request of a verb."""

    folder: Path
    runtime: RuntimeSettings = RuntimeSettings()  # noqa: RUF009  # a frozen value
    model: Model | None = None  # in place of a server's
    sandbox: Sandbox | None = None  # that others share; None for one of its own
    replay: Path | None = None  # workspace whose replies are given again, and nobody is asked
    effort: EffortOptions = EffortOptions()  # a frozen value
