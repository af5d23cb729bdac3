"""The process in which an MPS or LP file is parsed: text on stdin, the model as JSON on stdout.

What breaks HiGHS's reader, or keeps it busy for ever, ends here.
"""

import os
import resource
import sys

from oragent._base.errors import MilpError
from oragent.milp.as_json import to_json
from oragent.milp.as_text import from_text

MEMORY = 4 << 30  # bytes
REFUSED = 3  # exit code where the text is no model; any other means that the reader itself broke


def main(form: str, seconds: int) -> int:
    """Parse stdin within so many CPU seconds; a complaint of one line goes to stderr, HiGHS's own words nowhere."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    answer = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        found = to_json(from_text(sys.stdin.buffer.read().decode(), form))
    except UnicodeDecodeError:
        print("not a text in UTF-8", file=sys.stderr)
        return REFUSED
    except MilpError as problem:
        print(problem, file=sys.stderr)
        return REFUSED
    with os.fdopen(answer, "w", encoding="utf-8") as out:
        out.write(found)
    return 0
