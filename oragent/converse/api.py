"""Conversations from Python: ``oragent.converse("model.lp")``."""

import asyncio
import tempfile
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, TypeVar

from oragent.converse.command import MODEL_ROLES, trusted_session
from oragent.converse.conversation_request import FILE, SOLVE_S, ConversationRequest, read_request, with_problem
from oragent.converse.models.message_record import MessageRecord
from oragent.converse.models.model_conversation import LINES, TOOLS, ModelConversation
from oragent.converse.models.model_files import begin_conversation
from oragent.converse.models.page import write_model_page
from oragent.llm.callable import Function, wrap_function
from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeWords, build_runtime, check_roles
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.files.model_files import write

T = TypeVar("T")


class Dialogue:
    """A conversation about a model in a folder, for one thread; ``with`` closes it.

    Attributes:
        folder: Folder of the conversation, which ``oragent converse`` continues.
    """

    def __init__(self, conversation: ModelConversation, model: Model | None = None) -> None:
        self.folder = conversation.folder
        self._conversation = conversation
        self._stack = AsyncExitStack()
        self._loop = asyncio.new_event_loop()
        # A separate thread makes this work in a notebook, which already runs an event loop.
        self._thread = Thread(target=self._loop.run_forever, name="oragent-converse", daemon=True)
        self._thread.start()
        try:
            self._wait(self._stack.enter_async_context(self._conversation.open(model)))
        except BaseException:
            self._stop_thread()
            raise

    @property
    def records(self) -> tuple[MessageRecord, ...]:
        """All messages with their results; the first is the solve of the model."""
        return tuple(self._conversation.records)

    def say(self, text: str) -> MessageRecord:
        """Send a message: lines of operations, or words if the conversation has a language model.

        Args:
            text: Such as ``whatif demand[*] *= 1.1``; with a language model such lines begin with ``/``.

        Returns:
            The recorded message: ``results`` are typed, and ``text`` is the answer of the language model or the reason
            why a line was refused.
        """
        return self._wait(self._conversation.say(text))

    def report(self) -> Path:
        """Write the page of the conversation and return its path."""
        return write_model_page(self._conversation)

    def close(self) -> None:
        """End the conversation; all messages are stored already."""
        if self._thread.is_alive():
            self._wait(self._stack.aclose())
            self._stop_thread()

    def __enter__(self) -> "Dialogue":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _stop_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def converse(
    model: str | Path | IndexedModel,
    language_model: str | Function = "",
    *,
    agent: str | None = None,
    seconds: float = SOLVE_S,
    gap: float = 0.0,
    outputs: str | Path = "outputs/converse",
    settings: Mapping[str, Any] | None = None,
    trust: bool = False,
) -> Dialogue:
    """Begin a conversation about an optimisation model, or continue one.

    Args:
        model: File of a model (``.json``, ``.lp``, ``.mps``), folder of a formulation, name of a problem, an
            ``oragent.modelling.IndexedModel``, or the folder of a conversation to continue.
        language_model: Name of a model at ``OPENAI_BASE_URL``, or a function of messages. Empty: messages are lines of
            operations.
        agent: ``rules`` (lines only), ``T-P-P`` or ``lines``; None: ``T-P-P`` with a language model, else ``rules``.
        seconds: Limit of each solve.
        gap: Relative gap at which a solve may stop.
        outputs: Parent of the new folder ``NAME/TIME``.
        settings: ``model``, ``models``, ``ensemble`` and ``budget`` as in a file of settings.
        trust: Accept addresses, commands and keys that the folder of a conversation names and you did not name.

    Returns:
        The conversation; the model is solved already.

    Raises:
        OragentError: There is no model, or the language model cannot be asked.
    """
    if callable(language_model):
        instance, name = wrap_function(language_model), "function"
    else:
        instance, name = None, language_model
    words = RuntimeWords(shortcuts={"model.name": name or None})
    if not isinstance(model, IndexedModel) and (Path(model) / FILE).is_file():
        return Dialogue(trusted_session(Path(model), words, trust or instance is not None), instance)
    runtime = build_runtime(settings or {}, words.overrides)
    chosen = agent or (LINES if runtime.model is None else TOOLS)
    request = ConversationRequest("", chosen, check_roles(runtime, MODEL_ROLES), seconds, gap)
    folder = _begin(model, Path(outputs), request)
    return Dialogue(ModelConversation(folder, read_request(folder)), instance)


def _begin(model: str | Path | IndexedModel, outputs: Path, request: ConversationRequest) -> Path:
    if not isinstance(model, IndexedModel):
        return begin_conversation(outputs, with_problem(request, str(model)))
    with tempfile.TemporaryDirectory(prefix="oragent-converse-") as passing:
        path = Path(passing) / "given.json"
        write(model, path)
        return begin_conversation(outputs, with_problem(request, str(path)))
