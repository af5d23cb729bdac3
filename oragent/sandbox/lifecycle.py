"""Stages of a command."""

import time
from dataclasses import dataclass, field
from enum import StrEnum


class Stage(StrEnum):
    """Where a command is in its life."""

    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"


class EndReason(StrEnum):
    """Why it ended."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    DEADLINE = "deadline"
    MEMORY = "memory"
    LOST = "lost"


# A command whose server died under it is queued again.
NEXT = {Stage.QUEUED: {Stage.RUNNING}, Stage.RUNNING: {Stage.ENDED, Stage.QUEUED}, Stage.ENDED: set[Stage]()}


@dataclass
class CommandLife:
    """One command's stages, with the time at which each was entered.

    Attributes:
        stage: Present stage.
        entered: Monotonic seconds at which each stage was last entered; for the queue, first.
        lost: How often its server died under it.
    """

    stage: Stage = Stage.QUEUED
    entered: dict[Stage, float] = field(default_factory=lambda: {Stage.QUEUED: time.monotonic()})
    lost: int = 0

    def enter(self, stage: Stage) -> None:
        """Go on to a stage.

        Raises:
            ValueError: if it does not follow the present one.
        """
        if stage not in NEXT[self.stage]:
            raise ValueError(f"a command that is {self.stage} cannot become {stage}")
        self.stage = stage
        if stage is Stage.QUEUED:
            self.lost += 1  # and goes on waiting since it was first put there
        else:
            self.entered[stage] = time.monotonic()

    @property
    def queued_s(self) -> float:
        """Seconds that it waited for a free worker, lost attempts included."""
        return self.entered[Stage.RUNNING] - self.entered[Stage.QUEUED]
