"""Case: a piece of work that uses models within its share of the budget, and records every reply."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from oragent._base.budget import Spent
from oragent._base.errors import BudgetExhausted, OragentError
from oragent.ledger.replies import RecordedReply, Replies
from oragent.llm.dialogue import fit_messages
from oragent.llm.model import Message, Model, Request, Tool

T = TypeVar("T")


class Interrupted(OragentError):
    """The work was stopped before this case was finished; it is repeated when the work is resumed."""


class CaseContext(Protocol):
    """Context that all cases of a piece of work share."""

    @property
    def replies(self) -> Replies:
        """Table of the replies."""

    def get_model(self, role: str) -> Model:
        """Return the model of a role.

        Raises:
            OragentError: The role has no model.
        """

    def prompt_token_limit(self) -> int | None:
        """Return the maximum number of tokens of a prompt. None means no limit."""

    def check_may_continue(self) -> None:
        """Check that a new call or evaluation may begin.

        Raises:
            Interrupted: The work is being stopped.
            BudgetExhausted: The time is used up.
        """


@dataclass
class LedgerCase:
    """A piece of work. Its steps run one after the other; concurrent steps need branches."""

    context: CaseContext
    name: str
    rng: np.random.Generator
    # Share of the budget that it may use.
    allowance: Spent
    # Path of the branch, such as ``0.2/``. Empty outside of branches.
    branch: str = ""
    # Budget used so far.
    used: Spent = field(default_factory=Spent)
    # Replies in order, without those of its branches.
    replies: list[RecordedReply] = field(default_factory=list)
    _calls: int = 0
    _forks: int = 0

    async def ask(
        self,
        role: str,
        messages: Sequence[Message],
        temperature: float | None = None,
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> RecordedReply:
        """Send a prompt to a model. The reply is stored before it is returned.

        Raises:
            BudgetExhausted: The budget is used up.
            FullDiskError: The disk has no room for a reply.
            ModelError: The endpoint cannot be used.
            Interrupted: The work is being stopped.
        """
        self.check_may_continue(self.used.reaches_any(self.allowance))
        model = self.context.get_model(role)
        call, self._calls = self._calls, self._calls + 1
        fitted = tuple(fit_messages(messages, self.context.prompt_token_limit()))
        key = f"{self.name}.{self.branch}{call}"
        request = Request(role, fitted, temperature, tuple(tools), key, schema)
        reply = self.context.replies.find_reply(request)
        if reply is None:
            self.context.replies.reserve_room()
            reply = RecordedReply.from_reply(request, await model(request))
            self.context.replies.store_reply(reply, request.digest)
        self.replies.append(reply)
        self.used += reply.cost
        return reply

    @property
    def call_position(self) -> str:
        """Name of the next call, with the number of forks so far."""
        return f"{self.name}.{self.branch}{self._calls}~{self._forks}"

    def check_may_continue(self, exhausted: bool) -> None:
        """Check that a new call or evaluation may begin."""
        self.context.check_may_continue()
        if exhausted:
            raise BudgetExhausted(f"the share of the budget of {self.name} is used up")

    def open_branches(self, weights: Sequence[int]) -> list["LedgerCase"]:
        """Open branches. Each has its own generator and numbering of calls, and a share of the remaining allowance."""
        shares = (self.allowance - self.used).split_by_weights(weights)
        opened = [
            replace(
                self,
                rng=rng,
                allowance=share,
                branch=f"{self.branch}{self._forks}.{number}/",
                used=Spent(),
                replies=[],
                _calls=0,
                _forks=0,
            )
            for number, (rng, share) in enumerate(zip(self.rng.spawn(len(shares)), shares, strict=True))
        ]
        self._forks += 1
        return opened


async def wait_for_all(awaitables: Sequence[Awaitable[T]]) -> list[T]:
    """Wait for the end of several concurrent steps.

    Raises:
        OragentError: The first error, raised after all have ended. Errors other than ``BudgetExhausted`` come first.
    """
    outcomes = await asyncio.gather(*awaitables, return_exceptions=True)
    errors = [end for end in outcomes if isinstance(end, BaseException)]
    for problem in sorted(errors, key=lambda end: isinstance(end, BudgetExhausted)):
        raise problem
    return [end for end in outcomes if not isinstance(end, BaseException)]
