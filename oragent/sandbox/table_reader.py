"""Read tables from CSV, Excel, Parquet and SQLite files, with each assumption as a note.

A file is parsed in a confined child process with limits on time and memory. Titles and text around a table, headers of
two lines, decimal commas, currency and percent signs, totals and gaps are handled; every such step is a note. A table
that can be read in two ways is refused.
"""

from pathlib import Path

from oragent._base.errors import TableError
from oragent._base.table_values import CSV_ENDINGS, Table
from oragent.sandbox.reading import read_in_child

# Maximum bytes of a file.
MAX_BYTES = 64 << 20
ENDINGS = (*CSV_ENDINGS, ".xlsx", ".xlsm", ".parquet", ".sqlite", ".sqlite3", ".db")


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
    return _check_answer(read_in_child("oragent._base.table_files:tables_as_json", content, form, TableError))


def _check_answer(answer: bytes) -> tuple[Table, ...]:
    """Return the tables that a reader has printed; a file may have taken over its process."""
    # Imported here because it is slow to import.
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(tuple[Table, ...]).validate_json(answer)
    except ValidationError:
        raise TableError("its reader returned no table: the file is broken") from None
