"""Agents for a model: one for lines of operations, and one with a language model that calls operations as tools."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from oragent._base.errors import ModellingError, OragentError
from oragent._base.text_format import one_line
from oragent.converse.models.message_record import MessageRecord
from oragent.converse.models.model_prompt import describe_family, model_prompt
from oragent.converse.models.result_text import headline
from oragent.converse.models.scenario_table import scenario_rows, table_cells, write_scenarios
from oragent.converse.models.workbench import Workbench
from oragent.llm.dialogue import Asker, ToolRounds, work_with_tools
from oragent.llm.model import Message, Tool, ToolCall
from oragent.modelling.operations.registry import CHANGES, QUERIES, STATES
from oragent.modelling.operations.requests import WhatIfRequest
from oragent.modelling.operations.results import AnyResult
from oragent.modelling.operations.slices import LabelError, fold
from oragent.modelling.operations.state import lines_of
from oragent.modelling.operations.syntax import is_comment, parse_line, split_tokens
from oragent.modelling.references.answer_text import find_problems, make_answer
from oragent.modelling.references.brief_results import brief_result
from oragent.modelling.references.reference_text import quote

ROLE = "agent"
# Limits per message: replies with calls, lines, lines in one tool call.
MAX_ROUNDS, MAX_LINES = 12, 60
# Number of remaining lines from which the limit is announced.
MAX_ANNOUNCED_LINES = 15
# Maximum numbers of earlier messages in a prompt, and of results of each.
MAX_EARLIER, MAX_EARLIER_RESULTS = 20, 30
# Maximum number of characters of the results of one call.
CALL_ROOM = 12_000
CLOSING = "The limit of calls for this message is reached: answer now, with the results that you have."
# Commands of a conversation that are not operations.
COMMANDS = {
    "help": "help [OPERATION]: list the lines, or say what one does",
    "scenarios": "scenarios: the named scenarios side by side",
    "export": "export FILE.csv|.xlsx|.html: write the scenarios into the folder of the conversation",
}
LINES = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_LINES}
ASK = Tool(
    "ask",
    "Run lines of operations in order; returns the result of each line with its id, or why it was refused.",
    {"type": "object", "properties": {"lines": LINES}, "required": ["lines"], "additionalProperties": False},
)
DESCRIBE = Tool(
    "describe",
    "Describe a family of data, variables or rows by its name, or find names and labels that have a text in them.",
    {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    },
)


def help_text(topic: str = "") -> str:
    """Return help on all lines, or on those that contain a word."""
    entries = (*QUERIES.values(), *CHANGES.values(), *STATES.values())
    lines = [f"{entry.syntax}: {entry.summary}" for entry in entries] + list(COMMANDS.values())
    chosen = [line for line in lines if topic.casefold() in line.casefold()]
    if not chosen:
        raise ModellingError(f"help has nothing on {one_line(topic, 40)!r}: 'help' lists all lines")
    return "\n".join(chosen)


@dataclass
class LinesAgent:
    """Runs lines of operations without a language model.

    Attributes:
        folder: Folder for exported files.
        pending: Line that needs a label, and its ambiguous or unknown name.
    """

    workbench: Workbench
    folder: Path
    pending: tuple[str, str] | None = None

    def answer(self, message: str) -> MessageRecord:
        """Run the lines of a message; if one is refused, none of them takes effect."""
        results: list[AnyResult] = []
        notes: list[str] = []
        lines = [line.strip() for line in self._completed(message).splitlines() if not is_comment(line)]
        self.pending = None
        line = ""
        try:
            with self.workbench.message():
                if len(lines) > MAX_LINES:
                    raise ModellingError(f"{len(lines)} lines in one message: expected at most {MAX_LINES}")
                for line in _join_changes(lines):
                    self._run_line(line, results, notes)
        except OragentError as problem:
            if isinstance(problem, LabelError):
                self.pending = (line, problem.label)
            remark = "; the lines before it changed nothing" if len(lines) > 1 else ""
            return record_message(self.workbench, message, note=f"{problem}{remark}", refused=1, pending=self.pending)
        return record_message(self.workbench, message, results=results, note="\n".join(notes))

    def _run_line(self, line: str, results: list[AnyResult], notes: list[str]) -> None:
        word, _, rest = line.partition(" ")
        if word.casefold() == "help":
            notes.append(help_text(rest.strip()))
        elif line.casefold() == "scenarios":
            notes.append(markdown_table(table_cells(scenario_rows(self.workbench))))
        elif word.casefold() == "export" and rest.strip():
            notes.append(f"written: {write_scenarios(self.workbench, rest.strip(), self.folder)}")
        else:
            is_change = _is_change(line)
            results.append(self.workbench.ask(f"whatif {line}" if is_change else line))
            if is_change:
                self.workbench.keep_trial()

    def _completed(self, message: str) -> str:
        """Return the message, or the pending line with the label from the message."""
        if self.pending is None or "\n" in message.strip():
            return message
        line, name = self.pending
        label = message.strip().strip('"')
        try:
            parse_line(message)
        except ModellingError:
            tokens = split_tokens(line)
            for token, following in pairwise(tokens):
                if fold(token.text) == fold(name):
                    return f"{line[: token.start]}{quote(label)} {line[following.start :]}"
        return message


def _is_change(line: str) -> bool:
    """Return True for one or several changes, separated by ``;``."""
    try:
        return isinstance(parse_line(f"whatif {line}"), WhatIfRequest)
    except ModellingError:
        return False


def _join_changes(lines: Sequence[str]) -> list[str]:
    """Join consecutive changes into one line, so that their effect is shown together."""
    joined: list[str] = []
    was_change = False
    for line in lines:
        is_change = _is_change(line)
        if is_change and was_change:
            joined[-1] += f"; {line}"
        else:
            joined.append(line)
        was_change = is_change
    return joined


def markdown_table(cells: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, with its header first."""
    lines = [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in cells]
    return "\n".join([lines[0], f"|{'---|' * len(cells[0])}", *lines[1:]])


def record_message(workbench: Workbench, message: str, **fields: Any) -> MessageRecord:
    """Build the record of a message, with the state after it."""
    trial, lines = workbench.session.study.trial, workbench.state.lines
    scenarios = {name: tuple(lines_of_changes) for name, lines_of_changes in workbench.session.scenario_lines().items()}
    return MessageRecord(
        said=message,
        changes=lines,
        scenarios=scenarios,
        trial=None if trial is None else lines_of(trial),
        undone=workbench.undone,
        **fields,
    )


@dataclass
class OperationTools:
    """Tools of the language model for one message; the model is informed of limits before they apply."""

    workbench: Workbench
    results: list[AnyResult] = field(default_factory=list)
    # Number of lines that were run, including refused ones.
    used: int = 0
    refused: int = 0

    def __call__(self, call: ToolCall) -> str:
        """Run a tool call; return a one-line error for a wrong call."""
        if call.problem:
            return f"error: {call.problem}; call {call.name or ASK.name} again with a JSON object"
        if call.name == DESCRIBE.name:
            return self._describe(call.arguments.get("name"))
        if call.name != ASK.name:
            return f"error: no tool {one_line(call.name, 40)!r}: expected {ASK.name} or {DESCRIBE.name}"
        lines = call.arguments.get("lines", call.arguments.get("line"))
        if isinstance(lines, str):
            lines = lines.splitlines()
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            return 'error: expected {"lines": ["...", "..."]}'
        texts, length = [], 0
        for line in lines:
            if is_comment(line):
                continue
            texts.append(self._run(line, max(300, CALL_ROOM - length)))
            length += len(texts[-1])
        remaining = MAX_LINES - self.used
        if 0 < remaining <= MAX_ANNOUNCED_LINES:
            texts.append(f"({remaining} lines are left for this message)")
        return "\n".join(texts) or "error: no line to run"

    def _describe(self, name: object) -> str:
        if not isinstance(name, str):
            return 'error: expected {"name": "..."}'
        return describe_family(self.workbench.model, name)

    def _run(self, line: str, room: int) -> str:
        if self.used >= MAX_LINES:
            return f"not run, the limit of {MAX_LINES} lines for one message is reached: {one_line(line, 80)}"
        self.used += 1
        try:
            result = self.workbench.ask(line)
        except OragentError as problem:
            self.refused += 1
            return f"error: {one_line(line, 120)}: {problem}"
        self.results.append(result)
        return brief_result(result, min(2500, room))


@dataclass
class OperationsAgent:
    """T-P-P on a model: a language model calls operations as tools and refers to results in its answers."""

    workbench: Workbench
    asker: Asker
    temperature: float | None = None
    # Earlier messages that a prompt repeats.
    earlier: list[MessageRecord] = field(default_factory=list)

    def messages(self, message: str) -> list[Message]:
        """Return the prompt of a message: model, earlier messages with their operations, and the message."""
        prompt = model_prompt(self.workbench.session.study.base, MAX_ROUNDS, MAX_LINES)
        opened = [result for record in self.earlier[:1] for result in record.results]
        opening = [f"{result.id}: {result.line}: {headline(result)}" for result in opened]
        messages = [Message("system", "\n\n".join([prompt, "# Known at the opening", *opening]))]
        for record in self.earlier[1:][-MAX_EARLIER:]:
            results = [f"{result.id}: {result.line}: {headline(result)}" for result in record.results]
            earlier = "\n".join(results[:MAX_EARLIER_RESULTS])
            messages.append(Message("user", record.said))
            messages.append(Message("assistant", f"{record.raw or record.note}\n\n(asked: {earlier or 'nothing'})"))
        lines = self.workbench.state.lines
        in_force = f"\n\n(changes in force: {'; '.join(lines)})" if lines else ""
        return [*messages, Message("user", f"{message}{in_force}")]

    async def answer(self, message: str) -> MessageRecord:
        """Answer a message; invalid references are returned once to the model, then marked."""
        tools = OperationTools(self.workbench)
        messages = self.messages(message)

        async def ask(sent: Sequence[Message], offered: Sequence[Tool]) -> Any:
            return await self.asker.ask(ROLE, sent, self.temperature, offered)

        limits = ToolRounds(MAX_ROUNDS, closing=CLOSING)
        with self.workbench.message():
            text = await work_with_tools(ask, messages, (ASK, DESCRIBE), tools, limits)
            results, model = self.workbench.results, self.workbench.model
            if problems := find_problems(text, results, model):
                complaint = "\n".join(["These references cannot be filled; write the answer again:", *problems[:10]])
                messages.append(Message("user", complaint))
                text = await work_with_tools(ask, messages, (ASK, DESCRIBE), tools, limits)
        spoken = [record.said for record in self.earlier] + [message]
        before = next((record.results for record in reversed(self.earlier) if record.results), ())
        recent = {result.id for result in tools.results or before}
        parts = make_answer(text, self.workbench.results, self.workbench.model, spoken, recent)
        return record_message(
            self.workbench, message, parts=parts, raw=text, results=tools.results, refused=tools.refused
        )
