"""Process that parses an untrusted model file, which starts once for each file and imports little."""

import os
import sys

from oragent._base.errors import ModellingError
from oragent.modelling.files.flat_json import to_json
from oragent.modelling.files.text_forms import from_text

# Exit code for a text that is not a model. Any other code means that the reader crashed.
REFUSED = 3


def read_stdin(form: str) -> int:
    """Parse stdin. Write a one-line error to stderr, and suppress HiGHS's output."""
    answer = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        answer_text = to_json(from_text(sys.stdin.buffer.read().decode(), form))
    except (UnicodeDecodeError, ModellingError) as problem:
        print("not a text in UTF-8" if isinstance(problem, UnicodeDecodeError) else problem, file=sys.stderr)
        return REFUSED
    with os.fdopen(answer, "w", encoding="utf-8") as out:
        out.write(answer_text)
    return 0
