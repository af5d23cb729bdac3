"""Child process that reads an untrusted file; it starts once for each file and imports little."""

import os
import sys
from importlib import import_module

from oragent._base.errors import OragentError

# Exit code for a file that the reader refuses. Any other code means that the reader crashed.
REFUSED = 3


def print_reading(reader: str, form: str) -> int:
    """Print what a function returns for the content of stdin, or one line on stderr if it refuses the content.

    Args:
        reader: Module and name of a function of the content and its form, such as ``package.module:function``.
        form: Form of the content.

    Returns:
        The exit code.
    """
    answer = os.dup(1)
    # Libraries print on stdout, too.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    module, _, function = reader.partition(":")
    try:
        text = getattr(import_module(module), function)(sys.stdin.buffer.read(), form)
    except (OragentError, UnicodeDecodeError) as problem:
        print("not a text in UTF-8" if isinstance(problem, UnicodeDecodeError) else problem, file=sys.stderr)
        return REFUSED
    # Halves of characters, which a PDF may name, are no text.
    with os.fdopen(answer, "w", encoding="utf-8", errors="replace") as out:
        out.write(text)
    return 0
