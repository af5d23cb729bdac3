"""Figures for papers: every kind in every format, the same for the same run, and one line where there is nothing."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oragent._base.errors import ConfigError, StoreError
from oragent.cli.app import app
from oragent_benchmarks.search.paper_figures import FORMATS, KINDS, write_figure
from tests.report.runs import describe, searched, write

HEADS = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    describe(tmp_path / "run")
    write(tmp_path / "run", searched(30))
    with closing(sqlite3.connect(tmp_path / "run/run.db")) as database, database:
        rows = database.execute("SELECT fingerprint, score FROM evaluations WHERE score IS NOT NULL").fetchall()
        for name, score in rows:
            metrics = json.dumps({"by_instance": {"50": [score + at / 100 for at in range(9)]}})
            database.execute("UPDATE evaluations SET metrics = ? WHERE fingerprint = ?", (metrics, name))
    database.close()
    return tmp_path / "run"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", FORMATS)
def test_every_kind_is_drawn_in_every_format(run: Path, kind: str, suffix: str) -> None:
    path = write_figure(run, kind, suffix)
    assert path == run / "figures" / f"{kind}.{suffix}"
    assert path.read_bytes().startswith(HEADS[suffix])


def test_without_results_by_instance_pairs_are_one_line(tmp_path: Path) -> None:
    describe(tmp_path)
    write(tmp_path, searched(5))
    with pytest.raises(StoreError, match="by_instance"):
        write_figure(tmp_path, "paired")


@pytest.mark.parametrize(("kind", "suffix"), [("pie", "pdf"), ("lineage", "gif")])
def test_unknown_kinds_and_formats_are_one_line(run: Path, kind: str, suffix: str) -> None:
    with pytest.raises(ConfigError):
        write_figure(run, kind, suffix)


def test_the_command_line_draws_a_figure(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "a.svg"
    ended = CliRunner().invoke(
        app, ["bench", "figure", str(run), "--kind", "lineage", "--format", "svg", "--out", str(out)]
    )
    assert ended.exit_code == 0, ended.output
    assert out.is_file()
