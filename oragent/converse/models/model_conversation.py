"""A conversation about a model in a persistent folder; each message is recorded with its results."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from oragent._base import files
from oragent._base.errors import ModelError, OragentError, StoreError
from oragent._base.safe_load import parse_json
from oragent._base.text_format import one_line
from oragent.converse.conversation_request import ConversationRequest
from oragent.converse.models.line_writer import LineWriter
from oragent.converse.models.message_record import MessageRecord
from oragent.converse.models.model_agents import LinesAgent, OperationsAgent, record_message
from oragent.converse.models.workbench import Workbench
from oragent.ledger import LedgerCase, Study
from oragent.ledger.study import finished_results, open_study
from oragent.llm.model import Model
from oragent.modelling.files.model_files import read_indexed
from oragent.modelling.operations.outcomes import SolveLimits

MODEL_FILE = "model.json"
TRANSCRIPT, PENDING = "transcript.md", "pending.txt"
LINES, TOOLS, WRITER = "rules", "T-P-P", "lines"
# Agents for conversations about a model.
MODEL_AGENTS = (LINES, TOOLS, WRITER)
MAX_MESSAGE_CHARACTERS = 20_000
Value = TypeVar("Value")


@dataclass
class ModelConversation:
    """A conversation about a model.

    Attributes:
        absence: Reason why the language model cannot be called; empty if it can.
    """

    folder: Path
    request: ConversationRequest
    records: list[MessageRecord] = field(default_factory=list)
    absence: str = ""
    _study: Study | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        request = self.request
        limits = SolveLimits(
            seconds=request.seconds,
            gap=request.gap,
            solver=request.solver,
            confirm=request.confirm,
            threads=request.threads,
        )
        self.workbench = Workbench(read_indexed(self.folder / MODEL_FILE), limits, self.folder)
        self._lines = LinesAgent(self.workbench, self.folder)
        self._busy = asyncio.Lock()
        self._load()

    @property
    def is_asking(self) -> bool:
        """True if messages are sent to a language model."""
        return self.request.agent != LINES

    @asynccontextmanager
    async def open(self, model: Model | None = None) -> AsyncIterator["ModelConversation"]:
        """Open models and records; the first message solves the model, and an interrupted message is answered.

        Args:
            model: Language model; None for the one of the request.

        Raises:
            ModelError: A new conversation has no language model that can be called.
        """
        async with self._open_study(model) as study:
            self._study = study
            if not self.records:
                await self._add("")
            if (text := self._read_pending()) is not None:
                await self.say(text)
            yield self

    def _read_pending(self) -> str | None:
        """Return the message that was said and not answered, or None."""
        pending = self.folder / PENDING
        if not pending.is_file():
            return None
        number, _, text = pending.read_text(encoding="utf-8", errors="replace").partition("\n")
        if number != str(len(self.records)):
            # It was answered, and the process ended before it removed the file.
            pending.unlink()
            return None
        return text

    @asynccontextmanager
    async def _open_study(self, model: Model | None) -> AsyncIterator[Study]:
        """Open the records; a resumed conversation can do without a language model that is not available."""
        runtime = self.request.runtime
        async with AsyncExitStack() as stack:
            try:
                opened = open_study(self.folder, runtime, model=model, is_asking=self.is_asking)
                study = await stack.enter_async_context(opened)
            except ModelError as problem:
                if not self.records:
                    raise
                self.absence = str(problem)
                study = await stack.enter_async_context(open_study(self.folder, runtime, is_asking=False))
            yield study

    async def say(self, text: str, seen: int | None = None) -> MessageRecord:
        """Answer a message; concurrent callers wait for each other.

        A line that starts with ``/`` is a line of operations even if a language model is used.

        Args:
            text: Message of the user.
            seen: Number of messages that the sender has seen. None accepts the message in any state.

        Raises:
            StoreError: Another message was answered after those that the sender has seen.
        """
        text = text.strip()[:MAX_MESSAGE_CHARACTERS]
        async with self._busy:
            if seen is not None and seen != len(self.records):
                raise StoreError("the conversation went on in another window: look at its new state, then send again")
            if self.absence and not self.is_lines(text):
                note = f"not sent, since the model cannot be asked: {self.absence}"
                return record_message(self.workbench, text, note=note)
            pending = self.folder / PENDING
            files.replace_file(pending, f"{len(self.records)}\n{text}")
            record = await self._add(text)
            pending.unlink(missing_ok=True)
            return record

    async def read(self, reader: Callable[["ModelConversation"], Value]) -> Value:
        """Read from the conversation between two messages."""
        async with self._busy:
            return await asyncio.to_thread(reader, self)

    def is_lines(self, text: str) -> bool:
        """Return True if a message consists of lines of operations."""
        return not self.is_asking or text.startswith("/")

    async def _add(self, text: str) -> MessageRecord:
        assert self._study is not None
        name = f"message.{len(self.records)}"

        async def work(case: LedgerCase) -> object:
            record = await self._answer(text, case)
            return parse_json(record.model_dump_json())

        finished = (await self._study.run_cases([name], work))[0]
        if finished is None:
            raise StoreError(f"the message was not answered: {self._study.stop_reason}")
        record = MessageRecord.model_validate(finished.result)
        self.records.append(record)
        self._write_transcript()
        return record

    async def _answer(self, text: str, case: LedgerCase) -> MessageRecord:
        # A message can fail before it begins to run lines.
        self.workbench.undone = 0
        if not text:
            return await asyncio.to_thread(self._open_with_solve)
        if self.is_lines(text):
            lines = "\n".join(line.strip().removeprefix("/") for line in text.splitlines())
            record = await asyncio.to_thread(self._lines.answer, lines)
            return record.model_copy(update={"said": text})
        try:
            if self.request.agent == WRITER:
                return await LineWriter(self.workbench, case, self.folder).answer(text)
            return await OperationsAgent(self.workbench, case, earlier=self.records).answer(text)
        except OragentError as problem:
            return record_message(self.workbench, text, note=f"not answered: {problem}")

    def _open_with_solve(self) -> MessageRecord:
        """Solve the model; for an infeasible one, also find the conflict and the least repair."""
        results, notes = [], []
        with self.workbench.message():
            for line in ("solve", "conflict", "repair"):
                try:
                    results.append(self.workbench.ask(line))
                except OragentError as problem:
                    notes.append(str(problem))
                if not results or results[0].status != "infeasible":
                    break
        return record_message(self.workbench, "", results=results, note="\n".join(notes))

    def _load(self) -> None:
        finished = finished_results(self.folder)
        try:
            while (name := f"message.{len(self.records)}") in finished:
                record = MessageRecord.model_validate(finished[name])
                self.workbench.resume(record)
                self._lines.pending = record.pending
                self.records.append(record)
        except (ValidationError, OragentError, IndexError) as problem:
            raise StoreError(f"{self.folder}: its records are damaged: {one_line(str(problem), 200)}") from None

    def _write_transcript(self) -> None:
        texts = [f"## {number}\n\n{record.markdown()}\n" for number, record in enumerate(self.records)]
        try:
            files.replace_file(self.folder / TRANSCRIPT, "\n".join(texts))
        except OSError as problem:
            raise StoreError(f"cannot write into {self.folder}: {problem}") from None
