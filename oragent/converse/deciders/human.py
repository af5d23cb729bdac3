"""A person as the decision agent."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from oragent.converse.deciders.decider import END_WORD, DeciderMessage, DecisionView

LEAVING = {"quit", "exit", "bye", END_WORD.casefold()}


@dataclass
class Human:
    """Asks a function for each message, such as one that reads a line; it is called in a thread.

    Attributes:
        listen: Function of the view that returns what was said; None to leave.
    """

    listen: Callable[[DecisionView], str | None]
    says_farewell: bool = True

    async def say(self, view: DecisionView) -> DeciderMessage | None:
        """Return the next message of the person; empty lines are skipped."""
        while True:
            text = await asyncio.to_thread(self.listen, view)
            if text is None or text.strip().casefold() in LEAVING:
                return None
            if text.strip():
                return DeciderMessage(text.strip())
