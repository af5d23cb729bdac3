"""The memory pool: what every module has said so far, which every later one reads."""

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

MODEL, PERSON, ORAGENT = "model", "person", "oragent"  # authors


@dataclass(frozen=True)
class PoolEntry:
    """What a module said.

    Attributes:
        module: Its name.
        text: As it came.
        parsed: As data, where it is data; else None.
        time: Seconds since 1970.
        tokens: In and out.
        author: ``model``, ``person`` for a correction, ``oragent`` for what was computed.
    """

    module: str
    text: str
    parsed: Any = None
    time: float = field(default_factory=time.time)
    tokens: int = 0
    author: str = MODEL


class CommentPool:
    """Entries in their order; nothing is ever taken out."""

    def __init__(self, entries: Iterable[PoolEntry] = ()) -> None:
        self._entries = list(entries)

    def add(self, entry: PoolEntry) -> None:
        """Append an entry."""
        self._entries.append(entry)

    @property
    def entries(self) -> tuple[PoolEntry, ...]:
        """All, in order."""
        return tuple(self._entries)

    def last(self, module: str) -> PoolEntry | None:
        """The newest entry of a module."""
        return next((entry for entry in reversed(self._entries) if entry.module == module), None)

    @property
    def shown(self) -> str:
        """The pool in a prompt: it has no times, so that the same words give the same prompt."""
        if not self._entries:
            return "(empty)"
        return "\n\n".join(f"## {entry.module} ({entry.author})\n{entry.text.strip()}" for entry in self._entries)

    def to_lines(self) -> str:
        """The pool as JSON, an entry a line."""
        return "".join(json.dumps(asdict(entry), ensure_ascii=False) + "\n" for entry in self._entries)
