"""Requests of commands, in a module that imports neither solver nor sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oragent.llm.model import Model
from oragent.llm.runtime_settings import RuntimeSettings

if TYPE_CHECKING:
    from oragent.sandbox.sandbox import Sandbox

MODEL_ROLES = ("builder", "planner", "reviser", "explainer")  # roles in which models are asked


@dataclass(frozen=True)
class EffortOptions:
    """Options of the command line; None if not given.

    Attributes:
        time: CPU seconds.
        gap: Relative gap.
        memory: MiB.
    """

    time: float | None = None
    gap: float | None = None
    memory: int | None = None


@dataclass(frozen=True)
class VerbRequest:
    """Request of a verb.

    Attributes:
        folder: Folder of the workspace.
        runtime: Settings of the models that are asked, and the budget.
        model: Model in place of a server's.
        sandbox: Border that others share; None for one of its own.
        replay: Workspace whose replies are given again, and nobody is asked; None for none.
        effort: Time, gap and memory of programs, as the command line says.
    """

    folder: Path
    runtime: RuntimeSettings = RuntimeSettings()  # noqa: RUF009  # a frozen value
    model: Model | None = None
    sandbox: Sandbox | None = None
    replay: Path | None = None
    effort: EffortOptions = EffortOptions()  # a frozen value
