"""A person as the decision agent."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from oragent.converse.deciders.decider import END_WORD, Said, View

LEAVING = {"quit", "exit", "bye", END_WORD.casefold()}


@dataclass
class Human:
    """Asks a function for each message, such as one that reads a line; it is called in a thread.

    Attributes:
        listen: Function of the view that returns what was said; None to leave.
    """

    listen: Callable[[View], str | None]
    says_farewell: bool = True

    async def say(self, view: View) -> Said | None:
        """What the person says; empty lines are passed over."""
        while True:
            text = await asyncio.to_thread(self.listen, view)
            if text is None or text.strip().casefold() in LEAVING:
                return None
            if text.strip():
                return Said(text.strip())
