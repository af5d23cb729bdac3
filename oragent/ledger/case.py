"""A case: one piece of work that asks models, within what it may spend, every reply written before it is read."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from oragent._base.budget import Spent
from oragent._base.errors import BudgetExhausted, OragentError
from oragent.ledger.replies import RecordedReply, Replies
from oragent.llm.context import fit_messages
from oragent.llm.model import Message, Model, Request, Tool

T = TypeVar("T")


class Interrupted(OragentError):
    """The work was stopped before this case was done; it is done again when the work is resumed."""


class CaseContext(Protocol):
    """What all cases share."""

    @property
    def replies(self) -> Replies:
        """Table of the replies."""

    def model(self, role: str) -> Model:
        """Who is asked in a role.

        Raises:
            OragentError: if nobody is.
        """

    def room(self) -> int | None:
        """Tokens that a prompt may have; None: any number."""

    def admit(self) -> None:
        """See that something new may begin.

        Raises:
            Interrupted: if the work is being stopped.
            BudgetExhausted: if its time is used up.
        """


@dataclass
class LedgerCase:
    """One piece of work. In it one thing is done after the other; what is done side by side goes into branches.

    Attributes:
        desk: Desk that it shares with other cases.
        name: Name of the case; of a branch also its path, such as ``0.2/``.
        rng: Generator of the case's, or the branch's, own.
        allowance: Share of the budget that it may use.
        used: Spending so far, against its allowance.
        replies: Replies that it got, in order; those of branches are theirs.
    """

    desk: CaseContext
    name: str
    rng: np.random.Generator
    allowance: Spent
    branch: str = ""
    used: Spent = field(default_factory=Spent)
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
        """Put a prompt to a model; the reply is in the database before anyone reads it.

        Args:
            role: Role in which the model is asked; a role may have a model of its own, and has its own account.
            messages: Conversation to be answered; it is cut to what the model's context holds.
            temperature: Sampling temperature; None: the model's own.
            tools: Tools that the model may call.
            schema: JSON schema of the reply, for servers that can hold a model to one.

        Raises:
            BudgetExhausted: if there is nothing left to pay it with.
            ModelError: if the endpoint cannot be used.
            Interrupted: if the work is being stopped.
        """
        self.admit(self.used.reaches(self.allowance))
        model = self.desk.model(role)
        call, self._calls = self._calls, self._calls + 1
        fitted = tuple(fit_messages(messages, self.desk.room()))
        key = f"{self.name}.{self.branch}{call}"
        request = Request(role, fitted, temperature, tuple(tools), key, schema)
        reply = self.desk.replies.find(request)
        if reply is None:
            reply = RecordedReply.of(request, await model(request))
            self.desk.replies.keep(reply, request.digest)
        self.replies.append(reply)
        self.used += Spent(model_calls=1, tokens=reply.tokens_in + reply.tokens_out, money=reply.money or 0.0)
        return reply

    @property
    def position(self) -> str:
        """Name of the place that the case has come to: of its next call, with the number of its forks."""
        return f"{self.name}.{self.branch}{self._calls}~{self._forks}"

    def admit(self, exhausted: bool) -> None:
        """See that something new may begin; ``exhausted`` says whether the case's share of the budget is used up.

        Raises:
            BudgetExhausted, Interrupted: if it may not.
        """
        self.desk.admit()
        if exhausted:
            raise BudgetExhausted(f"what {self.name} may use of the budget is used up")

    def branches(self, weights: Sequence[int]) -> list["LedgerCase"]:
        """Open branches: each has a generator and calls of its own, and a share of what is left to be used.

        Args:
            weights: Positive number for each branch, in proportion to which they share.
        """
        shares = (self.allowance - self.used).shared(weights)
        opened = [
            replace(
                self,
                rng=rng,
                allowance=share,
                branch=f"{self.branch}{self._forks}.{place}/",
                used=Spent(),
                replies=[],
                _calls=0,
                _forks=0,
            )
            for place, (rng, share) in enumerate(zip(self.rng.spawn(len(shares)), shares, strict=True))
        ]
        self._forks += 1
        return opened


async def side_by_side(works: Sequence[Awaitable[T]]) -> list[T]:
    """Wait for several things that are done at once, to the end of each.

    Returns:
        What each of them returned, in their order.

    Raises:
        OragentError: what the first of them raised that failed, after all have ended; of several kinds, one that ends
            the whole and not only the case.
    """
    ended = await asyncio.gather(*works, return_exceptions=True)
    failed = [end for end in ended if isinstance(end, BaseException)]
    for problem in sorted(failed, key=lambda end: isinstance(end, BudgetExhausted)):
        raise problem
    return [end for end in ended if not isinstance(end, BaseException)]
