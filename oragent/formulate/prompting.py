"""Prompts and replies: the pool of outputs, prompt templates, the program in a reply."""

import json
import re
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from oragent._base.errors import ReplyError
from oragent._base.prompt_templates import PromptFolder
from oragent.programs.blocks import drop_thoughts, fenced_blocks

# Authors of pool entries.
MODEL, PERSON, ORAGENT = "model", "person", "oragent"


# Modules of modelling libraries other than PuLP, and their names in prompts.
LIBRARIES = {
    "ortools.sat": "OR-Tools' CP-SAT",
    "ortools": "OR-Tools",
    "gurobipy": "gurobipy",
    "highspy": "highspy",
    "pyomo": "Pyomo",
}
IMPORTED = re.compile(r"^\s*(?:from|import)\s+(ortools\.sat|\w+)", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}\s", re.MULTILINE)
FENCE = re.compile(r"`{3,}")
IMPORT = re.compile(r"^(?:import|from)\s", re.MULTILINE)
MAX_CHARACTERS = 200_000
PROMPTS = PromptFolder("oragent.formulate")


@dataclass(frozen=True)
class PoolEntry:
    """Output of a module."""

    module: str
    text: str
    parsed: Any = None
    # Seconds since 1970.
    time: float = field(default_factory=time.time)
    # Input and output tokens.
    tokens: int = 0
    # ``model``, ``person`` for a correction, ``oragent`` for computed text.
    author: str = MODEL


class CommentPool(list[PoolEntry]):
    """Entries in order. None is removed, and prompts show the current entry of each module."""

    def newest_of(self, module: str) -> PoolEntry | None:
        """Return the current entry of a module: the newest with data, else the newest."""
        entries = [entry for entry in reversed(self) if entry.module == module]
        return next((entry for entry in entries if entry.parsed is not None), entries[0] if entries else None)

    def parsed_of(self, module: str) -> dict[str, Any]:
        """Return the data of a module's current entry; empty if the data are not an object."""
        entry = self.newest_of(module)
        if entry is not None and isinstance(entry.parsed, dict):
            return entry.parsed
        return {}

    @property
    def prompt_text(self) -> str:
        """Return the pool as text for a prompt: the current entry of each module.

        The text contains no times, so that equal content gives an equal prompt.
        """
        in_force = {entry.module: self.newest_of(entry.module) for entry in self}
        entries = [entry for entry in self if entry is in_force[entry.module]]
        texts = [f"## {entry.module} ({entry.author})\n{entry.text.strip()}" for entry in entries]
        return "\n\n".join(texts) or "(empty)"

    def to_lines(self) -> str:
        """Return the pool as JSON, one entry per line."""
        return "".join(json.dumps(asdict(entry), ensure_ascii=False) + "\n" for entry in self)


def describe_library(source: str) -> dict[str, str]:
    """Return the placeholders of prompts about the modelling library of a program."""
    imported = {match[1] for match in IMPORTED.finditer(source)}
    library = next((name for module, name in LIBRARIES.items() if module in imported), "")
    if library:
        rule = f"- {library} builds and solves the model, as in the program; keep this library. Name every constraint."
        return {"library": library, "library_rule": rule, "library_rules": rule}
    rule = "- PuLP alone builds and solves the model; call `problem.solve()` without arguments. Name every constraint."
    names = "- Every name of PuLP is imported, or has `pulp.` before it."
    return {"library": "PuLP", "library_rule": rule, "library_rules": f"{rule}\n{names}"}


def fence_headings(text: str) -> str:
    """Return a text in a fenced block if it has headings, which would look like those of a prompt."""
    if not HEADING.search(text):
        return text
    longest = max((len(match[0]) for match in FENCE.finditer(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def extract_program(text: str, function: str) -> str:
    """Return the program of a reply.

    Returns:
        The program is the last block that defines the function. If it has no imports, those of other blocks are added.

    Raises:
        ReplyError: The reply has no program; the message can be sent back to the model.
    """
    head = re.compile(rf"^(?:async\s+)?def\s+{re.escape(function)}\s*\(", re.MULTILINE)
    reply = drop_thoughts(text.replace("\r\n", "\n"))
    if not reply.strip():
        raise ReplyError(f"the reply is empty; answer with one Python block that defines {function}(...)")
    if len(reply) > MAX_CHARACTERS:
        raise ReplyError(f"the reply has {len(reply):,} characters; answer with a program of at most a few pages")
    blocks, outside = fenced_blocks(reply)
    defining = [block.text for block in blocks if head.search(block.text)]
    if defining:
        others = [block.text for block in blocks if IMPORT.search(block.text) and block.text != defining[-1]]
        return _trim_source(defining[-1] if IMPORT.search(defining[-1]) else "\n\n".join([*others, defining[-1]]))
    if (start := head.search(outside)) is not None:
        begin = IMPORT.search(outside)
        return _trim_source(outside[min(start.start(), begin.start() if begin else start.start()) :])
    raise ReplyError(f"the reply defines no function {function!r}; answer with one Python block that does")


def _trim_source(source: str) -> str:
    return source.strip("\n").rstrip() + "\n"
