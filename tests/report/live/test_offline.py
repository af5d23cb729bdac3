"""The page as a file: its data inside, readable without JavaScript, and nothing of a program is markup."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oragent._base.errors import StoreError
from oragent.cli.app import app
from oragent.report.live.offline import MAX_DETAILS, write_offline
from oragent.report.run import load_run
from tests.report.runs import SEED, Made, data_of, describe, searched, without_scripts, write

HOSTILE = "# </script><script>alert(1)</script><!-- \x1b[31m \u202e"


@pytest.mark.slow
def test_the_file_holds_the_run_and_the_way_to_its_best(tmp_path: Path) -> None:
    describe(tmp_path)
    write(tmp_path, searched(300))
    data = data_of(write_offline(tmp_path, tmp_path / "page.html").read_text(encoding="utf-8"))
    run = load_run(tmp_path)
    assert len(data["candidates"]["round"]) == 300
    assert {record.id for record in run.descent} <= set(data["details"])
    assert data["details"][run.best.id]["source"] == run.best.source
    assert len(data["details"]) <= MAX_DETAILS


def test_a_hostile_program_stays_text_and_is_readable_without_scripts(tmp_path: Path) -> None:
    describe(tmp_path)
    write(tmp_path, [[Made(SEED, 7.0, (0, 0), (), "seed")], [Made(f"{HOSTILE}\n{SEED}", 6.0)]], end=HOSTILE)
    page = write_offline(tmp_path, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    visible = without_scripts(page)
    assert "best: 6.0" in visible
    assert "&lt;/script&gt;" in visible
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert page.count(f'<script nonce="{nonce}"') == page.count("</script>")
    assert "default-src 'none'" in policy


def test_what_is_no_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        write_offline(tmp_path, tmp_path / "page.html")


def test_the_command_line_writes_the_file(tmp_path: Path) -> None:
    describe(tmp_path / "run")
    write(tmp_path / "run", searched(8))
    ended = CliRunner().invoke(app, ["watch", str(tmp_path / "run"), "--out", str(tmp_path / "page.html")])
    assert ended.exit_code == 0, ended.output
    assert (tmp_path / "page.html").is_file()
