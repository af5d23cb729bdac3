"""The table of candidates as a Parquet file."""

import io
from importlib import import_module
from typing import Any

from oragent._base.distribution import package_install_command
from oragent._base.errors import ConfigError
from oragent.report.live.snapshot import CandidateColumns, RunReader

MAX_ROWS = 1_000_000


def write_parquet(reader: RunReader) -> bytes:
    """Write all candidates of a run.

    Raises:
        ConfigError: if pyarrow is not installed.
        StoreError: if the run cannot be read.
    """
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        line = f"Parquet needs pyarrow, which is not installed: {package_install_command('pyarrow')}; CSV needs nothing"
        raise ConfigError(line) from None
    out = io.BytesIO()
    parquet.write_table(arrow.table(make_table(reader.read_candidates(0, MAX_ROWS))), out)
    return out.getvalue()


def make_table(columns: CandidateColumns) -> dict[str, list[Any]]:
    """Return the columns of the file by name, with texts in place of their indices."""
    archive = {"N": "new cell", "I": "improved", "-": "not kept"}
    return {
        "candidate": [f"{first}.{second}" for first, second in zip(columns.round, columns.number, strict=True)],
        "round": columns.round,
        "score": columns.score,
        "status": [columns.statuses[at] for at in columns.status],
        "origin": [columns.origins[at] for at in columns.origin],
        "archive": [archive.get(placed, "") for placed in columns.placed],
        "island": columns.island,
        "parents": columns.parents,
        "features": [None if row is None else [float(value) for value in row] for row in columns.features],
        "characters": columns.size,
        "at_s": columns.at,
        "wall_s": columns.wall,
        "cpu_s": columns.cpu,
        "message": [columns.messages[at] for at in columns.message],
    }
