"""A decision agent with a language model: a person with a hidden utility (section 4 of Drossman et al. 2026)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from oragent.converse.agents.agent import Asker, Event, calls_of
from oragent.converse.deciders.decider import END_WORD, Said, View
from oragent.converse.deciders.leaks import FORBIDDEN, PAPER_FORBIDDEN, Secrets, leaks
from oragent.converse.decision import DecisionProblem, figure
from oragent.converse.judging import Judged, Wishes
from oragent.converse.problems.district import clock
from oragent.converse.prompting import fill, quiet
from oragent.converse.utilities import Direction, classes
from oragent.llm.model import Message, Tool, ToolCall

__all__ = ["ROLES", "Feedback", "Knowing", "Persona", "Role", "Style", "Talking", "Template"]

DECIDER = "decider"  # role in which its model is asked
MOST_ROUNDS = 6  # of checks before a message
SAID = {"optimi[sz]\\w*": "optimization", "utilit\\w*": "utility"}  # patterns as a prompt tells them
FIRST = "Write your first message to the assistant."


class Role(StrEnum):
    """Who the decision agent is."""

    PRINCIPAL = "principal"
    PARENT = "parent"
    ADMINISTRATOR = "administrator"
    COORDINATOR = "coordinator"


class Style(StrEnum):
    """How it speaks."""

    VAGUE = "vague"
    PRECISE = "precise"


class Feedback(StrEnum):
    """What it learns of a schedule."""

    BINARY = "binary"  # whether the maximum is reached
    RICH = "rich"  # value, maximum, what is met, and what would have to change


class Template(StrEnum):
    """What it is told of the conversation, beside what the default template says."""

    AWARE = "aware"  # one answer only will come
    BLANK = "blank"  # the assistant knows nothing of the problem


class Knowing(StrEnum):
    """How it knows its utility."""

    TOOL = "tool"  # as a table, and by a tool
    PROMPT = "prompt"  # as a table
    WORDS = "words"  # in words alone


ROLES = tuple(Role)


@dataclass(frozen=True)
class Persona:
    """A decision agent's character.

    Attributes:
        role: Who it is.
        style: How it speaks.
        feedback: What it learns of a schedule.
        templates: What it is told of the conversation, beside the default.
        knowing: How it knows its utility.
        paper: Whether words are forbidden as published.
    """

    role: Role
    style: Style
    feedback: Feedback
    templates: tuple[Template, ...] = ()
    knowing: Knowing = Knowing.TOOL
    paper: bool = False

    @property
    def forbidden(self) -> tuple[str, ...]:
        """Patterns of words that it must not use."""
        return PAPER_FORBIDDEN if self.paper else FORBIDDEN


@dataclass
class Talking:
    """A decision agent in one conversation.

    Attributes:
        asker: Asker of its language model.
        problem: Problem that is talked about; it is told nothing of its model.
        wishes: Hidden utility.
        persona: Character.
        temperature: Sampling temperature; None: the model's own.
    """

    asker: Asker
    problem: DecisionProblem
    wishes: Wishes
    persona: Persona
    temperature: float | None = None
    says_farewell: bool = True
    messages: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.messages = [Message("system", prompt(self.problem, self.wishes, self.persona)), Message("user", FIRST)]
        self._secrets = Secrets.of(_numbers(self.wishes), self.persona.forbidden)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """``check_utility``, where it may use it."""
        if self.persona.knowing is not Knowing.TOOL:
            return ()
        words = self.problem.vocabulary
        times = {"type": "object", "additionalProperties": {"type": "string", "enum": list(words.options)}}
        schema = {"type": "object", "properties": {"start_times": times}, "required": ["start_times"]}
        return (Tool("check_utility", "What a schedule that you were just shown is worth to you: give the start time "
                     "of every school by its name.", schema),)  # fmt: skip

    async def say(self, view: View) -> Said:
        """Write the next message; one that tells a secret goes back once, then it is counted."""
        if view.turn > 1:
            self.messages.append(Message("user", view.text or "(no answer)"))
        text, events = await self._written(view)
        found, sent_back = leaks(text, self._secrets), 0
        if found:
            sent_back = 1
            told = f"Your message was not sent: it has {', '.join(found[:5])}. Write it again without."
            self.messages.append(Message("user", told))
            text, more = await self._written(view)
            events, found = [*events, *more], leaks(text, self._secrets)
        return Said(text, END_WORD in text, tuple(events), found, sent_back)

    async def _written(self, view: View) -> tuple[str, list[Event]]:
        events: list[Event] = []
        for _ in range(MOST_ROUNDS):
            reply = await self.asker.ask(DECIDER, self.messages, self.temperature, self.tools)
            said = calls_of(reply, self.messages, self.tools)
            self.messages.append(said)
            if not said.tool_calls:
                return said.content, events
            for call in said.tool_calls:
                event = self._checked(call, view.presented)
                events.append(event)
                self.messages.append(Message("tool", event.result, tool_call_id=call.id))
        reply = await self.asker.ask(DECIDER, self.messages, self.temperature)
        self.messages.append(Message("assistant", reply.text))
        return reply.text, events

    def _checked(self, call: ToolCall, presented: Sequence[str]) -> Event:
        """Answer a check; only a schedule that was just presented is judged."""
        arguments = dict(call.arguments)
        if call.problem or call.name != "check_utility":
            wrong = call.problem or f"there is no tool {call.name[:60]!r}; expected check_utility"
            return Event(call.name[:60], arguments, f"error: {wrong}", failed=True)
        read = self.problem.read(json.dumps(_flat(arguments.get("start_times"))))
        if not read.decisions:
            wrong = read.problems[0] if read.problems else "no schedule: give the start time of every school"
            return Event(call.name, arguments, f"error: {wrong}", failed=True)
        if read.decisions[0] not in presented:
            wrong = "this is none of the schedules that you were just shown: check one of those"
            return Event(call.name, arguments, f"error: {wrong}", failed=True)
        return Event(call.name, arguments, _told(self.wishes(read.decisions[0]), self.persona.feedback))


def prompt(problem: DecisionProblem, wishes: Wishes, persona: Persona) -> str:
    """The prompt of a decision agent."""
    school = quiet(wishes.district.schools[wishes.utility.school].name)
    early = wishes.utility.direction is Direction.EARLY
    words = [SAID.get(word, word) for word in persona.forbidden]
    checking = f"\n{fill('checking')}"
    check = {
        Knowing.TOOL: "\n" + fill(f"check_{persona.feedback}", checking=fill("checking")) + "\n",
        Knowing.PROMPT: f"{checking}\n", Knowing.WORDS: f"{checking}\n",
    }[persona.knowing]  # fmt: skip
    secret = "" if persona.knowing is Knowing.WORDS else _table(wishes)
    text = fill(
        "decider", known=problem.known(), character=fill(f"character_{persona.role}", school=school),
        forbidden=", ".join(f'"{word}"' for word in words), style=fill(f"style_{persona.style}"),
        wishes=fill("wishes", school=school, way="early" if early else "late"), utility=secret, check=check,
        ending=fill("ending"),
    )  # fmt: skip
    return "\n\n".join([text, *(fill(one) for one in persona.templates)])


def _table(wishes: Wishes) -> str:
    own, times = wishes.utility, wishes.district.times
    lines = [
        f"| Start of your school | At most {figure(own.load)} students at the busiest time | "
        f"Mean change at most {figure(own.deviation)} minutes | Worth |",
        "|---|---|---|---|",
    ]
    for outcome, _ in classes(own, len(times)):
        met = " | ".join("yes" if one else "no" for one in (outcome.load_met, outcome.deviation_met))
        lines.append(f"| {clock(times[outcome.time])} | {met} | {own.value(outcome, len(times)):.3f} |")
    return fill("utility_table", table="\n".join(lines), maximum=f"{wishes.maximum:.3f}")


def _numbers(wishes: Wishes) -> list[float]:
    times = len(wishes.district.times)
    values = [wishes.utility.value(outcome, times) for outcome, _ in classes(wishes.utility, times)]
    return [*wishes.utility.weights, *values, wishes.maximum]


def _told(found: Judged, feedback: Feedback) -> str:
    reached = "reached" if found.success else "not reached"
    if feedback is Feedback.BINARY:
        return f"the most that can be had is {reached}"
    lines = [f"worth {found.value:.3f} of at most {found.maximum:.3f}: the most that can be had is {reached}"]
    return "\n".join([*lines, *(f"met: {part}" for part in found.met), *(f"missed: {part}" for part in found.missed)])


def _flat(given: Any) -> Any:
    """Start times as an object of names and texts, whether they came so or as a text."""
    if isinstance(given, str):
        return {"text": given[:5000]}
    if isinstance(given, Mapping):
        return {str(name): str(value) for name, value in given.items()}
    return given
