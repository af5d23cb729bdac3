"""Tools of the server: functions with their descriptions."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

# A function with annotated parameters; its first line of documentation describes the tool.
ToolFunction = Callable[..., Awaitable[object]]


@dataclass(frozen=True)
class ToolEntry:
    """A tool of a server."""

    name: str
    # Description for the model, one or two sentences.
    description: str
    function: ToolFunction
    # Name of the document that it returns, in ``document_table``; empty if answers have no fixed fields.
    document: str = ""
    # True if it changes nothing.
    is_read_only: bool = False
    # True if a second call with the same arguments changes nothing more.
    is_idempotent: bool = False


def describe_tool(document: str, *, reads: bool = False, again: bool = False) -> Callable[[ToolFunction], ToolEntry]:
    """Return a decorator that makes a tool of a function.

    Args:
        document: Name of the document that it returns.
        reads: Whether it changes nothing.
        again: Whether a second call with the same arguments changes nothing more.
    """

    def decorate(function: ToolFunction) -> ToolEntry:
        description = " ".join((function.__doc__ or "").split())
        return ToolEntry(function.__name__, description, function, document, reads, reads or again)

    return decorate
