"""Read tables from CSV, Excel, Parquet and SQLite files, with each assumption as a note.

A file is parsed in a confined child process with limits on time and memory. Titles and text around a table, headers of
two lines, decimal commas, currency and percent signs, totals and gaps are handled; every such step is a note. A table
that can be read in two ways is refused.
"""

import json
import subprocess
from pathlib import Path

from oragent._base.errors import TableError
from oragent._base.table_values import CSV_ENDINGS, REFUSED, Table
from oragent._base.text_format import escape_text
from oragent.sandbox.children import ChildLimits, run_python

# Maximum bytes of a file.
MAX_BYTES = 64 << 20
ENDINGS = (*CSV_ENDINGS, ".xlsx", ".xlsm", ".parquet", ".sqlite", ".sqlite3", ".db")
# CPU seconds of the child, plus one for each MiB.
CPU_S = 10
# Bytes of private memory of the child.
MEMORY = 4 << 30
CHILD = "import sys; from oragent._base.table_files import read_stdin; sys.exit(read_stdin(sys.argv[1]))"


def read_tables(path: Path) -> tuple[Table, ...]:
    """Read the tables of a file.

    Raises:
        TableError: The file is missing, too large, in no known format, or can be read in two ways.
    """
    form = path.suffix.lower()
    if form not in ENDINGS:
        raise TableError(f"expected a table that ends in {', '.join(ENDINGS)}")
    try:
        if path.exists() and not path.is_file():
            raise TableError("not a regular file; expected a table")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise TableError(f"{problem.strerror or problem}; expected a table") from None
    if len(content) > MAX_BYTES:
        raise TableError(f"more than {MAX_BYTES >> 20} MiB: leave out rows or columns")
    return _parse_in_child(content, form)


def _parse_in_child(content: bytes, form: str) -> tuple[Table, ...]:
    seconds = CPU_S + (len(content) >> 20)
    limits = ChildLimits(wall_s=10 * seconds, cpu_s=seconds, memory=MEMORY)
    try:
        completed = run_python(CHILD, [form], limits, content)
    except subprocess.TimeoutExpired:
        raise TableError("not read in time: the file is broken, or the machine is busy") from None
    if completed.returncode == REFUSED:
        raise TableError(escape_text(completed.stderr.decode(errors="replace").strip())[:500])
    if completed.returncode:
        raise TableError(f"cannot be read within {seconds} CPU seconds and {MEMORY >> 30} GiB: save a smaller table")
    plain = json.loads(completed.stdout)
    return tuple(
        Table(
            table["name"],
            tuple(table["header"]),
            tuple(map(tuple, table["rows"])),
            tuple(table["notes"]),
            tuple(table["key"]),
        )
        for table in plain
    )
