"""Registry of tools: packages add groups of tools, and the server lists the tools of all groups."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from oragent.api.mcp.workplace import Workplace

# A function with annotated parameters; its first line of documentation describes the tool.
ToolFunction = Callable[..., Awaitable[object]]
# Function that makes the tools of a group for a server.
ToolGroup = Callable[[Workplace], Sequence[ToolFunction]]


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


def describe_tool(document: str, *, reads: bool = False, again: bool = False) -> Callable[[ToolFunction], ToolFunction]:
    """Return a decorator that stores the facts of a tool.

    Args:
        document: Name of the document that it returns.
        reads: Whether it changes nothing.
        again: Whether a second call with the same arguments changes nothing more.
    """

    def decorate(function: ToolFunction) -> ToolFunction:
        _FACTS[function.__qualname__] = (document, reads, reads or again)
        return function

    return decorate


# Document, whether it reads only, and whether it is idempotent, by the full name of a tool's function.
_FACTS: dict[str, tuple[str, bool, bool]] = {}
_GROUPS: dict[str, ToolGroup] = {}


def register_tools(name: str, group: ToolGroup) -> None:
    """Add a group of tools, such as those of a product; a group of the same name is replaced."""
    _GROUPS[name] = group


def list_tools(workplace: Workplace) -> list[ToolEntry]:
    """List the tools of all groups, in the order of registration."""
    functions = [function for group in _GROUPS.values() for function in group(workplace)]
    return [
        ToolEntry(
            function.__name__,
            " ".join((function.__doc__ or "").split()),
            function,
            *_FACTS.get(function.__qualname__, ("", False, False)),
        )
        for function in functions
    ]
