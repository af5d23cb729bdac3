"""Reading of untrusted files in a confined child process with limits on time and memory."""

import subprocess

from oragent._base.errors import OragentError
from oragent._base.file_reading import REFUSED
from oragent._base.text_format import escape_text
from oragent.sandbox.children import ChildLimits, run_python

# CPU seconds of a child, plus one for each MiB.
CPU_S = 10
# Bytes of private memory of a child.
MEMORY = 4 << 30
# Maximum number of characters of a refusal.
MAX_REFUSAL = 500
# The child ends at once: threads of libraries, such as those of pyarrow, crash some processes in which Python ends.
CHILD = "import os, sys; from oragent._base.file_reading import print_reading; os._exit(print_reading(*sys.argv[1:]))"


def read_in_child(
    reader: str, content: bytes, form: str, error: type[OragentError], *, cpu_s: int = CPU_S, memory: int = MEMORY
) -> bytes:
    """Return the text that a function makes of the content of an untrusted file, in UTF-8.

    Args:
        reader: Module and name of the function, as in `print_reading`.
        content: Content of the file.
        form: Form of the content, such as ``.csv``.
        error: Class of the error for a file that cannot be read.
        cpu_s: CPU seconds, to which one is added for each MiB.
        memory: Bytes of private memory.
    """
    seconds = cpu_s + (len(content) >> 20)
    limits = ChildLimits(wall_s=10 * seconds, cpu_s=seconds, memory=memory)
    try:
        ended = run_python(CHILD, [reader, form], limits, content)
    except subprocess.TimeoutExpired:
        raise error("not read in time: the file is broken, or the machine is busy") from None
    if ended.returncode == REFUSED:
        raise error(escape_text(ended.stderr.decode(errors="replace").strip())[:MAX_REFUSAL])
    if ended.returncode:
        raise error(
            f"cannot be read within {seconds} CPU seconds and {memory >> 30} GiB (exit code {ended.returncode}): "
            "the file is broken or too large"
        )
    return ended.stdout
