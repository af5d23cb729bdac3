"""Decision agents with a language model, and the secrets that they must not reveal."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from oragent.converse.prompting import quote_line
from oragent.llm.dialogue import Asker, ToolRounds, work_with_tools
from oragent.llm.model import Message, Tool, ToolCall
from oragent_benchmarks.converse.decider import END_WORD, AgentEvent, DeciderMessage, DecisionView
from oragent_benchmarks.converse.decision import DecisionProblem, Judged
from oragent_benchmarks.converse.evaluable_problems import stakeholders_of
from oragent_benchmarks.converse.prompting import fill_template
from oragent_benchmarks.converse.stakeholders import DECIDER, PersonaTexts, Stakeholder

NUMBER = re.compile(r"(?<![\w.,:])(\d{0,4}[.,]\d{1,6}|\d{1,4})(?![\d:])(\s*%)?")
# Numbers that occur in every utility, so that they reveal nothing.
TRIVIAL = (0.0, 0.5, 1.0)
FORBIDDEN = ("model", "objective", "optimi[sz]\\w*", "preference", "utilit\\w*")
# The published list of forbidden words. The authors' own prompt contains "solution".
PAPER_FORBIDDEN = (*FORBIDDEN, "solution")


# Maximum number of checks before a message.
LIMITS = ToolRounds(6, closing="")
# Readable forms of patterns, for the prompt.
SAID = {"optimi[sz]\\w*": "optimization", "utilit\\w*": "utility"}
FIRST = "Write your first message to the assistant."


@dataclass(frozen=True)
class Secrets:
    """Secret numbers, such as weights and values between 0 and 1, and forbidden words."""

    numbers: tuple[float, ...]
    words: tuple[str, ...] = FORBIDDEN

    @classmethod
    def of(cls, numbers: Iterable[float], words: tuple[str, ...] = FORBIDDEN) -> "Secrets":
        """Create secrets from all relevant numbers, without those that occur in every utility."""
        rounded = {round(number, 6) for number in numbers}
        return cls(tuple(sorted(n for n in rounded if all(abs(n - trivial) > 1e-6 for trivial in TRIVIAL))), words)


def find_leaks(text: str, secrets: Secrets) -> tuple[str, ...]:
    """List the secrets in a message: numbers, plain or in percent, rounded to two digits or more, and words."""
    leaked = [f"the number {match[0].strip()}" for match in NUMBER.finditer(text) if _is_secret(match, secrets.numbers)]
    for word in secrets.words:
        leaked += [f"the word {hit[0]!r}" for hit in re.finditer(rf"\b{word}s?\b", text, re.IGNORECASE)]
    return tuple(dict.fromkeys(leaked))


def _is_secret(match: re.Match[str], numbers: Iterable[float]) -> bool:
    whole, _, digits = match[1].replace(",", ".").partition(".")
    decimals = len(digits)
    value = float(f"{whole or 0}.{digits or 0}")
    if match[2]:
        value, decimals = value / 100, decimals + 2
    if decimals < 2:
        return False
    slack = 0.5 * 10.0**-decimals + 1e-9
    return any(abs(value - number) <= slack for number in numbers)


class Style(StrEnum):
    """Style of its messages."""

    VAGUE = "vague"
    PRECISE = "precise"


class Feedback(StrEnum):
    """Feedback on a decision."""

    # Only a statement whether the maximum is reached.
    BINARY = "binary"
    # Value, maximum, fulfilled wishes, and required changes.
    RICH = "rich"


class Template(StrEnum):
    """Additional text about the conversation."""

    # The agent will get only one answer.
    AWARE = "aware"
    # The assistant does not know the problem.
    BLANK = "blank"


class Knowing(StrEnum):
    """Form in which the agent learns its utility."""

    # As a table, and by a tool.
    TOOL = "tool"
    # As a table.
    PROMPT = "prompt"
    # Only in words.
    WORDS = "words"


@dataclass(frozen=True)
class Persona:
    """Character of a decision agent."""

    # One of the roles of the problem.
    role: str
    style: Style
    feedback: Feedback
    # Additional texts about the conversation.
    templates: tuple[Template, ...] = ()
    knowing: Knowing = Knowing.TOOL
    # Whether the published list of forbidden words is used.
    paper: bool = False

    @property
    def forbidden(self) -> tuple[str, ...]:
        """Patterns of words that the agent must not use."""
        if self.paper:
            return PAPER_FORBIDDEN
        return FORBIDDEN


@dataclass
class Talking:
    """A decision agent in one conversation."""

    asker: Asker
    # Problem of the conversation; its model is not disclosed to the agent.
    problem: DecisionProblem
    stakeholder: Stakeholder
    persona: Persona
    # Sampling temperature. None means the model's default.
    temperature: float | None = None
    says_farewell: bool = True
    messages: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        system_prompt = decider_prompt(self.problem, self.stakeholder, self.persona)
        self.messages = [Message("system", system_prompt), Message("user", FIRST)]
        self._secrets = Secrets.of(self.stakeholder.profile.secrets, self.persona.forbidden)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """``check_utility``, if the agent may use it."""
        if self.persona.knowing is not Knowing.TOOL:
            return ()
        words = self.problem.vocabulary
        option = {"type": "string", "enum": list(words.options)} if words.options else {"type": "number"}
        options = {"type": "object", "additionalProperties": option}
        schema = {"type": "object", "properties": {self._argument_schema: options}, "required": [self._argument_schema]}
        description = f"What a {words.decision} that you were just shown is worth to you: {self._feedback_words}."
        return (Tool("check_utility", description, schema),)

    @property
    def _argument_schema(self) -> str:
        return f"{self.problem.vocabulary.spoken.replace(' ', '_')}s"

    @property
    def _feedback_words(self) -> str:
        words = self.problem.vocabulary
        return f"give the {words.spoken} of every {words.item} by its name"

    async def say(self, view: DecisionView) -> DeciderMessage:
        """Write the next message. A message with a secret is returned to the model once, then it is counted."""
        if view.turn > 1:
            self.messages.append(Message("user", view.text or "(no answer)"))
        text, events = await self._write_message(view)
        leaked, sent_back = find_leaks(text, self._secrets), 0
        if leaked:
            sent_back = 1
            objection = f"Your message was not sent: it has {', '.join(leaked[:5])}. Write it again without."
            self.messages.append(Message("user", objection))
            text, more = await self._write_message(view)
            events, leaked = [*events, *more], find_leaks(text, self._secrets)
        return DeciderMessage(text, END_WORD in text, tuple(events), leaked, sent_back)

    async def _write_message(self, view: DecisionView) -> tuple[str, list[AgentEvent]]:
        events: list[AgentEvent] = []

        def answer_check(call: ToolCall) -> str:
            events.append(self._answer_check(call, view.presented))
            return events[-1].result

        text = await work_with_tools(
            lambda sent, tools: self.asker.ask(DECIDER, sent, self.temperature, tools),
            self.messages,
            self.tools,
            answer_check,
            LIMITS,
        )
        return text, events

    def _answer_check(self, call: ToolCall, presented: Sequence[str]) -> AgentEvent:
        """Answer a check. Only decisions that were just presented are judged."""
        arguments, words = dict(call.arguments), self.problem.vocabulary
        if call.problem or call.name != "check_utility":
            wrong = call.problem or f"there is no tool {call.name[:60]!r}; expected check_utility"
            return AgentEvent(call.name[:60], arguments, f"error: {wrong}", failed=True)
        options = _flatten_options(arguments.get(self._argument_schema), texts=bool(words.options))
        read, wrong = self.problem.read(json.dumps(options)), ""
        if not read.decisions:
            wrong = read.problems[0] if read.problems else f"no {words.decision}: {self._feedback_words}"
        elif read.decisions[0] not in presented:
            wrong = f"this is none of the {words.decision}s that you were just shown: check one of those"
        if wrong or not read.decisions:
            return AgentEvent(call.name, arguments, f"error: {wrong}", failed=True)
        judged = _describe_judged(self.stakeholder(read.decisions[0]), self.persona.feedback)
        return AgentEvent(call.name, arguments, judged)


def decider_prompt(problem: DecisionProblem, stakeholder: Stakeholder, persona: Persona) -> str:
    """Return the prompt of a decision agent."""
    profile, telling, names = stakeholder.profile, stakeholders_of(problem).telling, problem.vocabulary
    words = [SAID.get(word, word) for word in persona.forbidden]
    parts = {"decision": names.decision, "item": names.item, "option": names.spoken}
    checking = fill_template("checking", **parts)
    check = f"\n{checking}\n"
    if persona.knowing is Knowing.TOOL:
        check = "\n" + fill_template(f"check_{persona.feedback}", checking=checking, **parts) + "\n"
    text = fill_template(
        "decider",
        known=problem.known(),
        character=profile.characters.get(persona.role, f"You are {persona.role}."),
        forbidden=", ".join(f'"{word}"' for word in words),
        style=_style_text(problem, telling, persona.style),
        wishes=profile.wishes,
        utility="" if persona.knowing is Knowing.WORDS else _worth_table(problem, stakeholder),
        check=check,
        ending=fill_template("ending"),
        decision=names.decision,
    )
    values = {"about": telling.about, "table": telling.table, "wishes": telling.wishes}
    return "\n\n".join([text, *(fill_template(template, **values) for template in persona.templates)])


def _style_text(problem: DecisionProblem, telling: PersonaTexts, style: Style) -> str:
    units = [quote_line(goal.unit) for goal in problem.expressions[: problem.goals] if goal.unit]
    examples = "".join(f'\n- "{sentence}"' for sentence in telling.examples.get(style, ()))
    return fill_template(
        f"style_{style}",
        units=f" of {' and '.join(units)}" if units else "",
        examples=f" Such as:{examples}" if examples else "",
    )


def _worth_table(problem: DecisionProblem, stakeholder: Stakeholder) -> str:
    """Return the table of the values of outcomes; empty if the prompt has none."""
    table, greatest = stakeholder.profile.worth, stakeholder(problem.default).maximum
    if table:
        return fill_template("utility_table", table=table, maximum=f"{greatest:.3f}")
    return ""


def _describe_judged(judged: Judged, feedback: Feedback) -> str:
    reached = "reached" if judged.success else "not reached"
    if feedback is Feedback.BINARY:
        return f"the most that can be had is {reached}"
    lines = [f"worth {judged.value:.3f} of at most {judged.maximum:.3f}: the most that can be had is {reached}"]
    return "\n".join([*lines, *(f"met: {part}" for part in judged.met), *(f"missed: {part}" for part in judged.missed)])


def _flatten_options(options: Any, texts: bool) -> Any:
    """Return options as an object of names and texts or numbers. The input may be a JSON text."""
    if isinstance(options, str):
        return {"text": options[:5000]}
    if isinstance(options, Mapping):
        flat = {str(name): value for name, value in options.items() if not texts and isinstance(value, int | float)}
        return {str(name): str(value) for name, value in options.items()} | flat
    return options
