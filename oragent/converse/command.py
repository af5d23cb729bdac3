"""Commands of ``oragent converse``: start, continue, show, and write the report."""

from dataclasses import replace
from pathlib import Path

from rich.console import Console

from oragent._base.publishing import publish_result
from oragent._base.terminal import print_line
from oragent._base.text_format import escape_text
from oragent.converse.conversation_request import ConversationRequest, read_request
from oragent.converse.models.model_conversation import ModelConversation
from oragent.converse.models.model_files import begin_conversation
from oragent.converse.models.page import write_model_page
from oragent.converse.models.terminal import hold_conversation, show_record
from oragent.llm.keys import expect_trusted, model_demands, remember_demands
from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeWords

# Roles of language models.
MODEL_ROLES = ("agent",)


def converse(outputs: Path, request: ConversationRequest, console: Console, model: Model | None = None) -> int:
    """Begin a conversation and hold it.

    Raises:
        OragentError: The problem or the agent is unknown, or its model cannot be asked.
    """
    return go_on(begin_conversation(outputs, request), console, model)


def trusted_session(folder: Path, runtime: RuntimeWords, trust: bool = False) -> ModelConversation:
    """Open the conversation of a folder with settings of the command line.

    Raises:
        UntrustedError: The folder names an address, a command or a key that its user did not.
    """
    request = read_request(folder)
    settings = runtime.read_runtime(MODEL_ROLES, request.runtime)
    demands = list(model_demands(settings.every_model))
    if not trust:
        expect_trusted(folder, demands, runtime.overrides)
    remember_demands(demands)
    return ModelConversation(folder, replace(request, runtime=settings))


def go_on(session: ModelConversation | Path, console: Console, model: Model | None = None) -> int:
    """Continue the conversation of a folder."""
    if isinstance(session, Path):
        session = ModelConversation(session, read_request(session))
    code = hold_conversation(session, console, model)
    report = write_model_page(session)
    publish_result({"folder": session.folder, "report": report, "messages": session.records})
    print_line(console, f"report: {report}")
    return code


def show(folder: Path, console: Console) -> int:
    """Print a conversation from its records, without changing its folder."""
    conversation = ModelConversation(folder, read_request(folder))
    publish_result({"folder": folder, "messages": conversation.records})
    print_line(console, f"conversation: {folder}")
    for record in conversation.records:
        if record.said:
            print_line(console, f"> {escape_text(record.said)}", "dim")
        show_record(record, console)
    print_line(console, f"go on with: oragent converse {folder}")
    return 0


def page(folder: Path) -> Path:
    """Write the report of a conversation again, without changing its records."""
    return write_model_page(ModelConversation(folder, read_request(folder)))
