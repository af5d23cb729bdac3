"""A program taken out of a reply, as text: it is compiled where it runs, and nowhere else."""

import re

from oragent._base.errors import ReplyError
from oragent.programs.blocks import drop_thoughts, fenced_blocks

IMPORT = re.compile(r"^(?:import|from)\s", re.MULTILINE)
MOST_CHARACTERS = 200_000


def program_in(text: str, function: str) -> str:
    """The program of a reply.

    Args:
        text: Of the reply: fenced or not, with or without words around it.
        function: What the program must define.

    Returns:
        The last block that defines the function, with the imports of other blocks where it has none.

    Raises:
        ReplyError: There is none; the text can be sent back.
    """
    head = re.compile(rf"^(?:async\s+)?def\s+{re.escape(function)}\s*\(", re.MULTILINE)
    reply = drop_thoughts(text.replace("\r\n", "\n"))
    if not reply.strip():
        raise ReplyError(f"the reply is empty; answer with one Python block that defines {function}(...)")
    if len(reply) > MOST_CHARACTERS:
        raise ReplyError(f"the reply has {len(reply):,} characters; answer with a program of at most a few pages")
    blocks, outside = fenced_blocks(reply)
    found = [block.text for block in blocks if head.search(block.text)]
    if found:
        others = [block.text for block in blocks if IMPORT.search(block.text) and block.text != found[-1]]
        return _finished(found[-1] if IMPORT.search(found[-1]) else "\n\n".join([*others, found[-1]]))
    if (start := head.search(outside)) is not None:
        begin = IMPORT.search(outside)
        return _finished(outside[min(start.start(), begin.start() if begin else start.start()) :])
    raise ReplyError(f"the reply defines no function {function!r}; answer with one Python block that does")


def _finished(source: str) -> str:
    return source.strip("\n").rstrip() + "\n"
