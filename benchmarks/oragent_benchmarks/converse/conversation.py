"""Conversation of a decision agent and an optimisation agent, in turns. Code scores every decision shown."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from oragent_benchmarks.converse.decider import (
    END_WORD,
    Agent,
    AgentAnswer,
    AgentEvent,
    DeciderMessage,
    DecisionAgent,
    DecisionView,
)
from oragent_benchmarks.converse.decision import DecisionProblem, Judge, Judged
from oragent_benchmarks.converse.state import RestrictionState

# Default maximum number of messages of the decision agent.
LIMIT = 20
# Smallest gap that is mentioned, in percent.
SHOWN = 1e-3
# Maximum number of characters of a result in a transcript.
MAX_RESULT = 6000
MAX_TEXT = 40_000


class ConversationEnd(StrEnum):
    """Reason why a conversation ended."""

    # The decision agent obtained the greatest utility.
    MAXIMUM = "maximum"
    # The decision agent ended the conversation.
    OWN = "own"
    # The maximum number of messages was reached.
    LIMIT = "limit"
    # There was no message.
    NONE = "none"


class Stopping(StrEnum):
    """Stopping rule, in addition to the message limit and the decision agent's own choice."""

    # Stop at the greatest utility, after a farewell message.
    THRESHOLD = "threshold"
    # No additional rule.
    BEHAVIOURAL = "behavioural"
    # Stop immediately at the greatest utility.
    ORACLE = "oracle"


@dataclass(frozen=True)
class Turn:
    """A message of the decision agent and the answer to it, as plain data.

    Attributes:
        answer: Answer of the optimisation agent; empty after the last message.
        checks: Events of the decision agent before its message.
        solved: Decisions that a solver returned during the turn.
        presented: Full decisions in the answer.
        problems: Errors of other proposals in the answer.
        values: Utility of each decision presented.
        leaks: Secrets that the message reveals.
        sent_back: Earlier versions of the message, rejected because they reveal secrets.
    """

    said: str
    answer: str = ""
    checks: tuple[Mapping[str, Any], ...] = ()
    events: tuple[Mapping[str, Any], ...] = ()
    solved: tuple[str, ...] = ()
    calls: int = 0
    presented: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    state: Mapping[str, Any] | None = None
    leaks: tuple[str, ...] = ()
    sent_back: int = 0


@dataclass(frozen=True)
class ConversationResult:
    """Result of a conversation.

    Attributes:
        best: Best decision that was shown; the default decision if none was shown.
        value: Utility of the best decision; 0 without a judge.
        maximum: Greatest utility of any decision.
    """

    end: ConversationEnd
    turns: tuple[Turn, ...]
    best: str
    shown: bool
    value: float = 0.0
    maximum: float = 0.0

    @property
    def score(self) -> float:
        """Utility divided by the maximum; 1 if the maximum is 0."""
        return Judged(self.value, self.maximum).score

    @property
    def success(self) -> bool:
        """True if the utility reached the maximum."""
        return Judged(self.value, self.maximum).success

    @property
    def calls(self) -> int:
        """Number of solver calls."""
        return sum(turn.calls for turn in self.turns)

    def to_plain(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        return asdict(self) | {"end": str(self.end), "score": self.score, "success": self.success}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "ConversationResult":
        """Read the result from plain data."""
        turns: Iterable[dict[str, Any]] = (
            {name: tuple(value) if isinstance(value, list) else value for name, value in turn.items()}
            for turn in plain["turns"]
        )
        return cls(
            ConversationEnd(plain["end"]),
            tuple(Turn(**turn) for turn in turns),
            plain["best"],
            plain["shown"],
            plain["value"],
            plain["maximum"],
        )


@dataclass
class Conversation:
    """A conversation of two agents about a problem.

    Attributes:
        judge: Judge of decisions; None if decisions are not scored, for example with a human user.
        limit: Maximum number of messages of the decision agent.
        observer: Callback that receives each turn.
    """

    problem: DecisionProblem
    agent: Agent
    decider: DecisionAgent
    judge: Judge | None = None
    limit: int = LIMIT
    stopping: Stopping = Stopping.THRESHOLD
    observer: Callable[[Turn], None] = lambda turn: None
    turns: list[Turn] = field(default_factory=list)

    def run(self) -> ConversationResult:
        """Run the conversation to its end."""
        return asyncio.run(self.hold())

    async def hold(self) -> ConversationResult:
        """Run the conversation as one case of a study, concurrently with others."""
        view, end = DecisionView(1, opening_text(self.problem)), ConversationEnd.LIMIT
        while len(self.turns) < self.limit:
            message = await self.decider.say(view)
            farewell = self._has_reached_maximum and self.stopping is Stopping.THRESHOLD
            if message is None or message.ends or farewell:
                if message is not None:
                    self._add_turn(_make_turn(message, AgentAnswer("")))
                end = ConversationEnd.MAXIMUM if self._has_reached_maximum else ConversationEnd.OWN
                break
            answer = await self.agent.answer(message.text)
            reading = self.problem.read(answer.text)
            presented = tuple(dict.fromkeys((*reading.decisions, *answer.presented)))
            values = tuple(self.judge(decision).value for decision in presented) if self.judge else ()
            self._add_turn(_make_turn(message, answer, presented, reading.problems, values))
            quiet = self.stopping is Stopping.THRESHOLD and not self.decider.says_farewell
            if self._has_reached_maximum and (quiet or self.stopping is Stopping.ORACLE):
                end = ConversationEnd.MAXIMUM
                break
            view = DecisionView(len(self.turns) + 1, answer.text, presented)
        return self._make_result(end)

    @property
    def _has_reached_maximum(self) -> bool:
        return self.judge is not None and any(
            self.judge(decision).success for turn in self.turns for decision in turn.presented
        )

    def _add_turn(self, turn: Turn) -> None:
        self.turns.append(turn)
        self.observer(turn)

    def _make_result(self, end: ConversationEnd) -> ConversationResult:
        shown = [decision for turn in self.turns for decision in turn.presented]
        if end is ConversationEnd.LIMIT and self._has_reached_maximum:
            end = ConversationEnd.MAXIMUM
        if self.judge is None:
            return ConversationResult(end, tuple(self.turns), shown[-1] if shown else self.problem.default, bool(shown))
        judged = {decision: self.judge(decision) for decision in shown or [self.problem.default]}
        best = max(judged, key=lambda decision: judged[decision].value)
        return ConversationResult(end, tuple(self.turns), best, bool(shown), judged[best].value, judged[best].maximum)


def opening_text(problem: DecisionProblem) -> str:
    """Return the opening message: the default decision, and its gap if it is not proven optimal."""
    gap = 100 * problem.first.gap
    gap_note = f"\n\nThis is within {gap:.2g} % of the best possible, as far as that is proven." if gap > SHOWN else ""
    return f"This is the {problem.vocabulary.decision} as it stands:\n\n{problem.render(problem.default)}{gap_note}"


def plain_state(state: RestrictionState | None) -> dict[str, Any] | None:
    """Return a state as plain data, without its history."""
    if state is None:
        return None
    return {
        "weights": list(state.weights),
        "restrictions": [
            asdict(restriction) | {"kind": str(restriction.kind), "name": restriction.name}
            for restriction in state.restrictions
        ],
    }


def _make_turn(
    message: DeciderMessage,
    answer: AgentAnswer,
    presented: tuple[str, ...] = (),
    problems: tuple[str, ...] = (),
    values: tuple[float, ...] = (),
) -> Turn:
    return Turn(
        said=message.text.replace(END_WORD, "").strip()[:MAX_TEXT],
        answer=answer.text[:MAX_TEXT],
        checks=tuple(map(_plain_event, message.events)),
        events=tuple(map(_plain_event, answer.events)),
        solved=answer.solved,
        calls=answer.calls,
        presented=presented,
        problems=problems,
        values=values,
        state=plain_state(answer.state),
        leaks=message.leaks,
        sent_back=message.sent_back,
    )


def _plain_event(event: AgentEvent) -> dict[str, Any]:
    arguments = {key: value[:MAX_RESULT] if isinstance(value, str) else value for key, value in event.arguments.items()}
    return {
        "tool": event.tool,
        "arguments": arguments,
        "result": event.result[:MAX_RESULT],
        "failed": event.failed,
        "note": dict(event.note),
    }
