"""States of instances that are revealed step by step, their progress, and a sample of their decisions."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import SystemRandom
from typing import Any, Protocol

from oragent.harness import wire_format
from oragent._base.errors import CandidateError
from oragent._base.protocol import Status
from oragent.harness.answers import is_same_answer

# Maximum number of calls of one ``reveal`` that the check may repeat.
CALLS_OF_REVEAL = 20


class SampleOfCalls(Protocol):
    """Sample of the calls of an evaluation, for the check that the candidate is a function."""

    def add(self, where: str, request: bytes, agrees: Callable[[Any], bool]) -> None:
        """Offer a call: the instance, the message, and a predicate that compares an answer with the first one."""


class State(Protocol):
    """State of one instance that follows from the items revealed so far. It is in the candidate's process.

    For each item, the methods are called in this order. The harness also runs them in the scorer.
    """

    def arguments(self, item: Any) -> tuple[Any, ...] | dict[str, Any]:
        """Return the arguments of the call that decides about an item."""

    def choose(self, answer: Any) -> Any:
        """Check the answer to that call and return the decision as plain data. A wrong answer raises CandidateError."""

    def apply(self, decision: Any) -> None:
        """Change the state by the decision."""


@dataclass(frozen=True)
class StepProgress:
    """Progress of a ``reveal``: its decisions so far, by instance, and the total number of decisions."""

    made: Sequence[Sequence[Any]]
    planned: int

    @property
    def instances(self) -> int:
        """Number of instances."""
        return len(self.made)

    @property
    def decisions(self) -> int:
        """Number of decisions so far."""
        return sum(map(len, self.made))


def sample_decisions(
    sample: SampleOfCalls,
    where: str,
    make_state: Callable[..., State],
    starts: Sequence[tuple[Any, ...]],
    items: Sequence[Sequence[Any]],
    decisions: Sequence[Sequence[Any]],
) -> None:
    """Offer random calls of a ``reveal`` to the check. Their arguments follow from the decisions before.

    Raises:
        CandidateError: ``rejected`` if the state does not accept a decision, which therefore is not an answer of the
            function.
    """
    steps = [(index, step) for index, own in enumerate(items) for step in range(len(own))]
    drawn = set(SystemRandom().sample(steps, min(CALLS_OF_REVEAL, len(steps))))
    for index in sorted({index for index, _ in drawn}):
        state = make_state(*starts[index])
        for step, (item, decision) in enumerate(zip(items[index], decisions[index], strict=True)):
            try:
                if (index, step) in drawn:
                    sample.add(f"{where}, step {step}", *_make_call(state, item, decision))
                else:
                    state.arguments(item)
                state.apply(decision)
            except Exception:
                message = f"sent a decision that is not the result of any answer ({where}, step {step})"
                raise CandidateError(message, Status.REJECTED) from None


def _make_call(state: State, item: Any, decision: Any) -> tuple[bytes, Callable[[Any], bool]]:
    """Return the message of the call that decides about an item, and a predicate for its answer."""
    arguments = state.arguments(item)
    args, kwargs = ((), arguments) if isinstance(arguments, dict) else (arguments, {})
    request = wire_format.encode({"name": "", "args": args, "kwargs": kwargs})
    return request, partial(_agrees, copy.deepcopy(state), decision)


def _agrees(state: State, decision: Any, answer: Any) -> bool:
    try:
        return is_same_answer(state.choose(answer), decision)
    except CandidateError:
        raise
    except Exception:
        # The untrusted decisions before this one put the state into a condition in which it accepts no answer.
        return False
